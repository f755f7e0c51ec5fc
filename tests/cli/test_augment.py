"""`augment`: what it says of positives and grades that labels take away."""

import json
from pathlib import Path

import pytest
from command import Fire

# query 1 loses its only positive, query 2 one of two, query 3 keeps its own with a lower grade
QRELS = "1 0 a 1\n2 0 a 1\n2 0 b 1\n3 0 a 2\n"
LABELS = """query_id,doc_id,label,relevance
1,a,no,0
1,z,no,0
2,a,no,0
3,a,partly,1
"""


@pytest.fixture
def labelled(folder: Path) -> Path:
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "labels.csv").write_text(LABELS)
    return folder


WORDS = ("augment", "--qrels", "qrels.txt", "--labels", "labels.csv", "--out", "out.txt")


@pytest.mark.parametrize(("policy", "lost"), [("union", []), ("override", ["1"]), ("drop", ["1"])])
def test_queries_without_positive_are_named(fire: Fire, labelled: Path, policy: str, lost: list[str]) -> None:
    told = fire(*WORDS, "--policy", policy)
    counts = json.loads(fire(*WORDS, "--policy", policy, "--format", "json").stdout)
    assert counts["queries_without_positive"] == lost
    assert ("warning: 1 query lost the only positive" in told.stderr) == bool(lost)
    manifest = json.loads((labelled / "out.txt.manifest.json").read_text())
    assert manifest["counts"]["queries_without_positive"] == lost
    assert (counts["confirmed"], counts["rejected"], counts["irrelevant"]) == (1, 2, 1)
    (labelled / "labels.csv").write_text(
        LABELS.replace("1,z,no,0", "1,z,yes,1")
    )  # in the place of the lost one
    assert "warning" not in fire(*WORDS, "--policy", policy).stderr


def test_only_some_of_many_lost_queries_are_named(fire: Fire, folder: Path) -> None:
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 a 1\n" for n in range(9)))
    header = "query_id,doc_id,label,relevance\n"
    (folder / "labels.csv").write_text(header + "".join(f"q{n},a,no,0\n" for n in range(8)))
    told = fire(*WORDS, "--policy", "override").stderr
    assert "warning: 8 queries lost the only positive" in told
    assert "q0, q1, q2, q3, q4, …" in told


@pytest.mark.parametrize(
    ("policy", "words"), [("union", "which does not count under this policy"), ("override", "which stands")]
)
def test_a_lowered_grade_is_counted_apart(fire: Fire, labelled: Path, policy: str, words: str) -> None:
    told = fire(*WORDS, "--policy", policy).stderr
    assert f"1 of the confirmed have a lower grade than in the original qrels, {words}" in told
    assert "3 0 a " + ("1" if policy == "override" else "2") in (labelled / "out.txt").read_text()


def test_ids_that_begin_with_a_hash_are_kept_in_sorted_qrels(fire: Fire, folder: Path) -> None:
    """They sort before all others, so that their line once came to be read as a comment: C@1 was .5."""
    (folder / "qrels.txt").write_text("b 0 d 1\n#a 0 d 1\n")
    (folder / "m.run").write_text("#a Q0 d 1 2 m\n#a Q0 e 2 1 m\nb Q0 d 1 2 m\n")
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\n#a,e,no,0\nb,e,yes,1\n")
    fire(*WORDS)
    assert (folder / "out.txt").read_text().splitlines() == ["#a 0 d 1", "#a 0 e 0", "b 0 d 1", "b 0 e 1"]
    told = fire("score", "m.run", "--qrels", "out.txt", "-m", "C@1", "--per-query", "--format", "csv")
    assert [line.split(",")[2:] for line in told.stdout.splitlines()[1:]] == [
        *(["all", "C@1", "1.0"], ["#a", "C@1", "1.0"], ["b", "C@1", "1.0"])
    ]
