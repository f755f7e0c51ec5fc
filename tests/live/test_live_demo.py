"""`demo --live` as a newcomer meets it: it comes up, its clips play, answers become tables, it goes away."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from child import ready
from live_browser import SPACE, open_browser
from test_live_browser import SUBMIT, VIDEO, is_disabled, log_in, plays

from fire_toolkit.cli.labelstudio import LOCK
from fire_toolkit.labelstudio.secrets import SERVER_FOLDER
from fire_toolkit.media.server import content_type
from fire_toolkit.workspace.locks import is_locked

ESCAPE = "\ue00c"
PERSON = re.compile(r"(A0\d): (\S+)\n\s+log in as (\S+), password (\S+)")


@contextmanager
def demo(folder: Path, program: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run the demo in `folder`, and yield it when all is there, with the file of what it says."""
    words = folder / "words.txt"
    options = ("demo", "--live", "--label-studio", "--out", "demo")
    up = "Ctrl-C here"
    with ready(
        *options, cwd=folder, is_ready=lambda: up in words.read_text(), path=str(program.parent)
    ) as process:
        yield process, words


def test_a_newcomer_judges_in_the_browser_and_sees_the_tables(
    chromium: None, live_program: Path, artefacts: Path, tmp_path: Path
) -> None:
    with demo(tmp_path, live_program) as (process, words):
        _, url, email, password = PERSON.findall(words.read_text())[0]
        with open_browser(tmp_path) as browser:
            log_in(browser, url.split("/projects/")[0], email, password)
            browser.open(url)
            browser.wait_for("the video's data", lambda: (browser.run(VIDEO, "readyState") or 0) >= 3)
            browser.press(ESCAPE)  # the instructions
            plays(browser)
            served = browser.run("return document.querySelector('video').currentSrc")
            browser.press("1")
            browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
            browser.screenshot(artefacts / "demo-live.png")
            browser.press(SPACE)
            browser.wait_for("the next task", lambda: is_disabled(browser, SUBMIT))
        part = httpx.get(served, headers={"Range": "bytes=0-9"}, trust_env=False)
        assert (part.status_code, part.headers["Content-Type"]) == (206, content_type("a.webm"))
    assert process.returncode == 0
    text = words.read_text()
    assert "1 new, 0 edited, 0 deleted, 0 restored; 1 judgments" in text
    assert "$ fire-toolkit score" in text
    assert re.search(r"^C@1 ", (tmp_path / "printed.txt").read_text(), re.M)
    assert not is_locked(tmp_path / "demo" / SERVER_FOLDER / LOCK)
    with pytest.raises(httpx.ConnectError):
        httpx.get(served, trust_env=False)

    with demo(tmp_path, live_program) as (process, words):
        again = words.read_text()
        assert re.search(r"^0 tasks added, 1\d\d there before, in 2 projects", again, re.M)
        assert PERSON.findall(again)[0][3] == password
        assert httpx.get(served, trust_env=False).status_code == 200
    assert "0 new, 0 edited" in words.read_text()
