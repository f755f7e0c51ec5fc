"""How soon a gallery opens, searches and goes on in a real browser: `python benchmarks/gallery.py WORKSPACE`.

WORKSPACE: a judged workspace, such as the one that `python benchmarks/commands.py --folder WORKSPACE` leaves:
27,763 captions, 670 videos, three models, some 784,000 labels. Needs chromium and chromedriver. The gallery
is written to a folder of its own; beside the command stands the writing of the same bytes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "live")]

from live_browser import Browser, open_browser  # noqa: E402

from fire_toolkit.workspace.manifests import write_folder  # noqa: E402

# Notes when the first caption with its lists is drawn; runs before the page's own scripts.
WATCH = """new MutationObserver((_, observer) => {
    if (document.querySelector('.pair')) { window.seen = performance.now(); observer.disconnect(); }
}).observe(document, {childList: true, subtree: true});"""
SEARCH = """let began = performance.now(), box = document.querySelector('#search');
box.value = arguments[0]; box.dispatchEvent(new Event('input')); return performance.now() - began"""
GO_ON = """let began = performance.now(), id = arguments[0];
window.went = null;
location.hash = '#' + encodeURIComponent(id);
let wait = () => document.querySelector('.about .id')?.textContent === id
    ? (window.went = performance.now() - began) : setTimeout(wait, 1);
wait()"""


def main() -> None:
    """Write the gallery, open it five times, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("workspace", type=Path)
    workspace = parser.parse_args().workspace.resolve()
    lines = (workspace / "collection/queries.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ids = [line.split("\t")[0] for line in lines]
    with tempfile.TemporaryDirectory(prefix="fire-gallery-") as name:
        folder = Path(name)
        seconds = written(workspace, folder / "gallery")
        files = {p.relative_to(folder / "gallery").as_posix(): p.read_bytes()
                 for p in sorted((folder / "gallery").rglob("*")) if p.is_file()}  # fmt: skip
        began = time.process_time()
        write_folder(folder / "again", files)
        plain = time.process_time() - began
        size = sum(map(len, files.values())) / 1e6
        print(f"written in {seconds:.1f} s of CPU; the same {size:.1f} MB alone in {plain:.2f} s")
        with open_browser(folder) as browser:
            look(browser, (folder / "gallery/index.html").as_uri(), ids)


def written(workspace: Path, out: Path) -> float:
    """Return the CPU seconds of the command in a process of its own."""
    command = [sys.executable, "-m", "fire_toolkit", "gallery", "--out", str(out)]
    process = subprocess.Popen(command, cwd=workspace, env={**os.environ, "PYTHONPATH": str(ROOT)})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("gallery failed")
    return used.ru_utime + used.ru_stime


def look(browser: Browser, url: str, ids: list[str]) -> None:
    """Open the page, search, and go to captions of other shards; print the milliseconds."""
    browser.before_each_page(WATCH)
    opened = []
    for _ in range(5):
        browser.open("about:blank")
        browser.open(url)
        opened.append(browser.wait_for("the first caption", lambda: browser.run("return window.seen")))
    print(f"opened in {median(opened):.0f} ms ({min(opened):.0f} to {max(opened):.0f})")
    words = [browser.run(SEARCH, text) for text in ("a", "guitar red", "")]
    print(f"searched in {', '.join(f'{ms:.0f}' for ms in words)} ms")
    steps = []
    for share in (0.3, 0.6, 0.9):
        browser.run(GO_ON, ids[int(share * len(ids))])
        steps.append(browser.wait_for("another caption", lambda: browser.run("return window.went")))
    print(f"went to captions of other shards in {', '.join(f'{ms:.0f}' for ms in steps)} ms")


if __name__ == "__main__":
    main()
