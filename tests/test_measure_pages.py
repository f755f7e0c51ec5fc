"""The page of measures is made from them; a new one appears there, in `measures` and in `score`."""

from importlib import util
from pathlib import Path
from types import ModuleType

import pytest
from command import run

from fire_toolkit.arrays import Floats, share
from fire_toolkit.measures import Definition, JudgedRanking, list_measures
from fire_toolkit.measures.registry import MEASURES

DOCS = Path(__file__).resolve().parent.parent / "docs"


def fullness(ranking: JudgedRanking, *, k: int) -> Floats:
    return share(ranking.n_retrieved.clip(max=k), k)


NEW_MEASURE = Definition("Full", "Share of k retrieved.", "A test.", "None.", fullness, cutoff="required")


def builder() -> ModuleType:
    spec = util.spec_from_file_location("build_measures", DOCS / "build_measures.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_measures_say() -> None:
    page = (DOCS / "measures.md").read_text(encoding="utf-8")
    assert builder().page() == page, "run: python docs/build_measures.py"


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
    assert "### `Full@k`\n\nShare of k retrieved. None." in builder().page()
