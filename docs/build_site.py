"""Build the documentation as a site of plain files: `make site`, or python docs/build_site.py [--out site].

Sphinx reads README and docs/ as they are. The demo is made for it; its report and its gallery lie in the
site. A warning of Sphinx, a link that leads nowhere, or a page that would load anything from another host
ends the build.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
from build_commands import context_of

from fire_toolkit.cli import main as commands

ROOT = Path(__file__).resolve().parent.parent
UNSEARCHED = ("decisions", "commands")  # folders whose pages the search finds by their titles alone
COPIED = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs", "examples")
PARTS = {
    "Start": ["tutorial", "glossary"],
    "Your own files": ["formats", "collections", "data-model"],
    "Ask people": ["campaign", "guidelines", "media", "deploy/README"],
    "Few judgments": ["plan", "pools", "machines"],
    "Agreement and errors": ["agreement", "noise"],
    "Scores and differences": ["comparison", "measures", "benchmarks"],
    "Show and publish": ["report", "release"],
    "Python and plug-ins": ["python", "plugins"],
    "Look up": ["scale", "reading"],
}
CONF = """
project = "fire-toolkit"
html_title = "fire-toolkit {version}"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["examples/*/README.md"]
myst_heading_anchors = 4
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {{"light_css_variables": {{"code-font-size": "73%"}}}}
html_extra_path = ["extra"]
"""
DEMO = """# The demo's results

`fire-toolkit demo` makes a small benchmark with known truth, pools five models, has four annotators judge,
and scores again. What it wrote:

- <a href="demo/report.html">The report</a>, one file with every plot and table.
- <a href="demo/gallery/index.html">The gallery</a>, to look through captions, clips, labels and votes.
"""
SAID = ("canonical", "prev", "next", "index", "search")  # relations of <link> that load nothing
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src",
          "audio": "src", "embed": "src", "object": "data", "use": "href"}  # fmt: skip
# What keyboards and screen readers need, and the theme leaves out: a level, a name, a place for the focus.
MENDED = {
    'role="heading"': 'role="heading" aria-level="2"',
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="Pages"',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" role="group" aria-label="Table" class="table-wrapper',
}
IN_STYLE = re.compile(r"(?:@import\s+|url\()\s*['\"]?(?:https?:)?//", re.I)


def main() -> None:
    """Build the site and say where it lies."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as place:
        source, built = Path(place) / "source", Path(place) / "site"
        gather(source)
        make_demo(Path(place) / "demo", source / "extra/demo")
        write_pages(source)
        run("sphinx", "-q", "-W", "--keep-going", "-b", "html", str(source), str(built))
        mend(built)
        faults = [*broken_links(built), *requests_of(built)]
        if faults:
            sys.exit("\n".join(faults))
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(built, out)
    n_pages = len(list(out.rglob("*.html")))
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {n_pages} pages, {size / 1e6:.1f} MB")


def gather(source: Path) -> None:
    """Copy what the pages are made of and what they link to."""
    source.mkdir()
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)


def make_demo(demo: Path, to: Path) -> None:
    """Run the demo, and take its report and its gallery with its clips into the site."""
    to.mkdir(parents=True)
    run("fire_toolkit", "demo", "--out", str(demo))
    shutil.copy(demo / "report.html", to)
    run("fire_toolkit", "gallery", "--copy-media", "--out", str(to / "gallery"), where=demo)


def write_pages(source: Path) -> None:
    """Write the first page (README with the contents), the page on the demo, and Sphinx's settings."""
    known = [name for names in PARTS.values() for name in names]
    others = sorted(path.stem for path in (source / "docs").glob("*.md") if path.stem not in known)
    parts = {name: [f"docs/{page}" for page in pages] for name, pages in PARTS.items()}
    parts["Start"].insert(0, "demo")
    parts["Look up"].insert(0, "docs/commands/README")
    parts["Look up"] += [
        *(f"docs/{name}" for name in others),
        "CONTRIBUTING",
        "docs/decisions/README",
        "CHANGELOG",
    ]
    trees = "".join(contents(name, pages) for name, pages in parts.items())
    (source / "index.md").write_text(
        (ROOT / "README.md").read_text(encoding="utf-8") + trees, encoding="utf-8"
    )
    write_helps(source / "docs/commands")
    for folder in UNSEARCHED:
        add_contents(source / "docs" / folder)
    (source / "demo.md").write_text(DEMO, encoding="utf-8")
    version = re.search(r'(?m)^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (source / "conf.py").write_text(CONF.format(version=version[1] if version else ""), encoding="utf-8")


def write_helps(folder: Path) -> None:
    """Write a page for each command: what it and the commands below it say with `--help`."""
    for name, command in commands.commands.items():
        below = [(name, each) for each in command.commands] if isinstance(command, click.Group) else []
        helps = (context_of(words).get_help() for words in [(name,), *below])
        text = "\n\n".join(f"```text\n{each}\n```" for each in helps)
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")


def add_contents(folder: Path) -> None:
    """List the pages of a folder in its README, and leave their text out of the search."""
    pages = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    for page in pages:
        page.write_text("---\nnosearch: true\n---\n" + page.read_text(encoding="utf-8"), encoding="utf-8")
    with (folder / "README.md").open("a", encoding="utf-8") as stream:
        stream.write(contents(folder.name.capitalize(), [path.stem for path in pages]))


def mend(built: Path) -> None:
    """Make what scrolls reachable by the keyboard, and name what a screen reader announces."""
    for page in built.rglob("*.html"):
        if "demo" not in page.relative_to(built).parts:
            text = page.read_text(encoding="utf-8")
            for old, new in MENDED.items():
                text = text.replace(old, new)
            page.write_text(text, encoding="utf-8")


def contents(caption: str, pages: list[str]) -> str:
    """Return a table of contents that the page does not show."""
    return "\n\n```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(pages) + "\n```\n"


def run(module: str, *arguments: str, where: Path = ROOT) -> None:
    """Run a module, and show what it says where it fails."""
    command = [sys.executable, "-m", module, *arguments]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, cwd=where, env=env, check=False)
    if done.returncode:
        sys.exit(f"{module} failed:\n{done.stdout}{done.stderr}")


class Tags(HTMLParser):
    """The places that a page links to, the files that it loads, the ids that it has, and its styles."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down one tag."""
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        target = found.get(LOADED.get(tag, ""), "")
        if target and not (tag == "link" and found.get("rel") in SAID):
            self.loads.append(target)


def broken_links(site: Path) -> Iterator[str]:
    """Yield each link of a page to a file or a heading of the site that is not there."""
    pages = {page: Tags(page) for page in sorted(site.rglob("*.html"))}
    for page, tags in pages.items():
        for target in dict.fromkeys([*tags.links, *tags.loads]):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            is_lost = anchor and path in pages and anchor not in pages[path].ids
            if not path.exists() or is_lost:
                yield f"{page.relative_to(site)}: links to {target}, which is not there"


def requests_of(site: Path) -> Iterator[str]:
    """Yield each file of another host that a page or a style sheet of the site would load."""
    for page in sorted(site.rglob("*.html")):
        for target in Tags(page).loads:
            if urlsplit(target).netloc:
                yield f"{page.relative_to(site)}: loads {target}"
    for style in sorted(site.rglob("*.css")):
        for found in IN_STYLE.findall(style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)}: loads {found}"


if __name__ == "__main__":
    main()
