"""The page of measures is made from them; what ends the build of the site (`make live` opens it)."""

from pathlib import Path

import build_measures
import build_site
import pytest
from command import run

from fire_toolkit.arrays import Floats, share
from fire_toolkit.measures import Definition, JudgedRanking, list_measures
from fire_toolkit.measures.registry import MEASURES


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


DOCS = Path(__file__).resolve().parent.parent / "docs"


def fullness(ranking: JudgedRanking, *, k: int) -> Floats:
    return share(ranking.n_retrieved.clip(max=k), k)


NEW_MEASURE = Definition("Full", "Share of k retrieved.", "A test.", "None.", fullness, cutoff="required")


def test_the_page_is_what_the_measures_say() -> None:
    page = (DOCS / "measures.md").read_text(encoding="utf-8")
    assert build_measures.page() == page, "run: python docs/build_measures.py"


def test_every_measure_has_one_section() -> None:
    page = (DOCS / "measures.md").read_text(encoding="utf-8")
    for definition in list_measures():
        assert page.count(f"### `{definition.pattern}`\n") == 1


def test_a_new_measure_is_seen_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES.built_in, "Full", NEW_MEASURE)
    (tmp_path / "a.run").write_text("q Q0 d 1 9 a\nq Q0 e 2 8 a\n")
    (tmp_path / "qrels.txt").write_text("q 0 z 1\nq 0 d 0\n")
    monkeypatch.chdir(tmp_path)
    scored = run("score", "a.run", "--qrels", "qrels.txt", "-m", "Full@4")
    assert scored.stdout.splitlines()[-1].split() == ["Full@4", "50.0"]
    assert "Share of k retrieved." in run("measures").stdout
    assert "Full@k (such as Full@10)" in run("measures", "Full@4").stdout
    assert "### `Full@k`\n\nShare of k retrieved. None." in build_measures.page()
