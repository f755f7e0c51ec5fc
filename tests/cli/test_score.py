"""`score` and its options: tie rules, groups, breakdowns."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Fire = Callable[..., Result]
SCORE = ("score", "ssb.run", "--qrels", "qrels.txt")


# Query 1 finds nothing; in query 2 the run ties a, the positive, and b: 2 docs, so that its rank is 1 or 2.
@pytest.mark.parametrize(
    ("rule", "expected"),
    [("doc-desc", 0.25), ("index", 0.5), ("average", 1 / 3), ("optimistic", 0.5), ("pessimistic", 0.25)],
)
def test_each_rule_places_the_tied_positive(fire: Fire, folder: Path, rule: str, expected: float) -> None:
    (folder / "docs.txt").write_text("a\nb\nc\n007\n")
    result = fire(*SCORE, "-m", "RR", "--ties", rule, "--doc-ids", "docs.txt", "--format", "json")
    assert [row["value"] for row in json.loads(result.stdout)] == pytest.approx([expected])


def test_a_tie_that_matters_is_said_unasked(fire: Fire) -> None:
    assert (
        "note: ssb: docs of equal score could change 1 of 2 queries by the original qrels; "
        "pessimistic to optimistic: RR 25.0 to 50.0" in fire(*SCORE, "-m", "RR", "-m", "C@2").stderr
    )


def test_the_rule_stands_in_the_manifest(fire: Fire, folder: Path) -> None:
    fire(*SCORE, "-m", "RR", "--ties", "average", "--out", "scores.csv")
    manifest = json.loads((folder / "scores.csv.manifest.json").read_text())
    assert manifest["parameters"] == {"measures": ["RR"], "ties": "average"}


def test_what_a_rule_cannot_know_is_refused(fire: Fire, folder: Path) -> None:
    assert "--ties index needs the collection's docs in their order" in (
        fire(*SCORE, "-m", "RR", "--ties", "index", code=2).stderr
    )
    (folder / "docs.txt").write_text("a\nb\n")
    refused = fire(*SCORE, "-m", "RR", "--ties", "index", "--doc-ids", "docs.txt", code=1).stderr
    assert "run ssb: 2 docs are not in the order of the docs (007)" in refused
    assert "--ties does not go with --honest" in fire(*SCORE, "--honest", "--ties", "average", code=2).stderr
