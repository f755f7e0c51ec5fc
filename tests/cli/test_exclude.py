"""Annotators who are left out, with the reason beside the labels and the agreement."""

import json
from pathlib import Path

import pytest
from command import Fire

from fire_toolkit.formats.tables.delimited import read_delimited


@pytest.fixture
def root(fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten pairs that ann and bob judge alike, and cy against them on the first two."""
    monkeypatch.chdir(tmp_path)
    fire("init", ".")
    rows = [
        f"q{n},d,{name},{'irrelevant' if (n % 2) ^ (name == 'cy' and n < 2) else 'relevant'}\n"
        for n in range(10)
        for name in ("ann", "bob", "cy")
        if name != "bob" or n >= 2
    ]
    (tmp_path / "judgments").mkdir()
    text = "query_id,doc_id,annotator_id,label\n" + "".join(rows)
    (tmp_path / "judgments/judgments.csv").write_text(text)
    controls = "query_id,doc_id,annotator_id,label,created_at,reason,detail\nc,d,ann,relevant,,control,\n"
    (tmp_path / "judgments/dropped.csv").write_text(controls + "c,d,cy,irrelevant,,control,\n")
    (tmp_path / "controls.txt").write_text("c 0 d 1\n")
    return tmp_path


def manifest(path: Path) -> dict[str, object]:
    return dict(json.loads(path.read_text())["parameters"])


def test_labels_are_those_without_the_annotator_and_the_reason_is_kept(fire: Fire, root: Path) -> None:
    fire("resolve")
    assert len(read_delimited(root / "labels/disputes.csv")) == 2
    told = fire("resolve", "--exclude", "cy", "--reason", "failed the controls")
    assert "note: 10 judgments of cy left out: failed the controls" in told.stderr
    assert len(read_delimited(root / "labels/disputes.csv")) == 0
    assert manifest(root / "labels/manifest.json")["excluded"] == {"cy": "failed the controls"}
    fire("resolve")
    assert "excluded" not in manifest(root / "labels/manifest.json")


def test_agreement_is_that_of_the_others(fire: Fire, root: Path) -> None:
    rows = json.loads(fire("agree", "--exclude", "cy", "--reason", "failed", "--format", "json").stdout)
    alpha = next(row for row in rows if row["statistic"] == "alpha")
    assert (float(alpha["value"]), int(alpha["n_pairable"]), int(alpha["n_annotators"])) == (1.0, 8, 2)
    kept = (
        json.loads((root / "agreement/agreement.manifest.json").read_text())
        if (root / "agreement/agreement.manifest.json").is_file()
        else json.loads(next((root / "agreement").glob("*manifest*.json")).read_text())
    )
    assert kept["parameters"]["excluded"] == {"cy": "failed"}
    made = {name: kept["parameters"].get(name) for name in ("intervals", "cluster", "all_rounds")}
    assert made == {"intervals": True, "cluster": None, "all_rounds": False}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--exclude", "cy"), "--exclude needs a --reason"),
        (("--exclude", "cy", "--reason", " "), "--exclude needs a --reason"),
        (("--reason", "why"), "--exclude needs a --reason"),
        (
            ("--exclude", "a", "--exclude", "b", "--exclude", "c", "--reason", "x", "--reason", "y"),
            "one for each",
        ),
        (("--exclude", "di", "--reason", "x"), "no judgment is by di; annotators: ann, bob, cy"),
    ],
)
def test_what_cannot_be_excluded_is_refused(
    fire: Fire, root: Path, words: tuple[str, ...], message: str
) -> None:
    for command in ("agree", "resolve"):
        assert message in fire(command, *words, code=1).stderr
    assert not (root / "labels").exists() or not list((root / "labels").iterdir())
