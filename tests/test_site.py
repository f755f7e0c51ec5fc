"""The checks that end the build of the site; `make site` builds it, `make live` opens it."""

from pathlib import Path

import build_site
import pytest


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (
            '<a href="other.html#here">x</a> <a href="#own">x</a> <p id="own"> <a href="https://x.org">x</a>',
            "",
        ),
        ('<a href="other.html#gone">x</a>', "page.html: links to other.html#gone, which is not there"),
        ('<a href="gone.html">x</a>', "page.html: links to gone.html, which is not there"),
        ('<img src="gone.png">', "page.html: links to gone.png, which is not there"),
        ('<img src="//x.org/a.png">', "page.html: loads //x.org/a.png"),
        ('<link rel="stylesheet" href="https://x.org/a.css">', "page.html: loads https://x.org/a.css"),
        ('<link rel="canonical" href="https://x.org/a.html">', ""),
        ('<script>const a = "<img src=https://x.org/a.png>";</script>', ""),
    ],
)
def test_what_leads_nowhere_or_elsewhere_is_a_fault(tmp_path: Path, body: str, fault: str) -> None:
    (tmp_path / "page.html").write_text(body)
    (tmp_path / "other.html").write_text('<h2 id="here">x</h2>')
    assert [*build_site.broken_links(tmp_path), *build_site.requests_of(tmp_path)] == (
        [fault] if fault else []
    )


def test_a_style_sheet_that_loads_a_font_from_elsewhere_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "own.css").write_text("@font-face { src: url(font.woff2) } p { background: url(data:,) }")
    assert not list(build_site.requests_of(tmp_path))
    (tmp_path / "own.css").write_text('@import "https://fonts.example/css";')
    assert len(list(build_site.requests_of(tmp_path))) == 1


def test_every_page_of_the_contents_is_there() -> None:
    docs = Path(build_site.__file__).parent
    named = [name for names in build_site.PARTS.values() for name in names]
    assert [name for name in named if not (docs / f"{name}.md").is_file()] == []
