"""`augment`: what it says of positives and grades that labels take away."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Fire = Callable[..., Result]

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
def test_queries_that_lose_their_only_positive_are_named(
    fire: Fire, labelled: Path, policy: str, lost: list[str]
) -> None:
    told = fire(*WORDS, "--policy", policy)
    counts = json.loads(fire(*WORDS, "--policy", policy, "--format", "json").stdout)
    assert counts["queries_without_positive"] == lost
    assert ("warning: 1 query lost the only positive" in told.stderr) == bool(lost)
    manifest = json.loads((labelled / "out.txt.manifest.json").read_text())
    assert manifest["counts"]["queries_without_positive"] == lost
    assert (counts["confirmed"], counts["rejected"], counts["irrelevant"]) == (1, 2, 1)


def test_a_new_positive_takes_the_place_of_a_lost_one(fire: Fire, labelled: Path) -> None:
    (labelled / "labels.csv").write_text(LABELS.replace("1,z,no,0", "1,z,yes,1"))
    told = fire(*WORDS, "--policy", "override").stderr
    assert "warning" not in told


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


def test_pairs_judged_once_take_a_label_and_every_number_says_so(folder: Path, fire: Fire) -> None:
    (folder / "clip.run").write_text("1 Q0 b 1 9 clip\n2 Q0 b 1 9 clip\n2 Q0 a 2 8 clip\n")
    (folder / "alike.csv").write_text("query_id,other_id\n1,2\n")
    pooled = fire("pool", "clip.run", "--qrels", "qrels.txt", "--judge-once", "alike.csv", "--out", "pool")
    assert "1 group of captions that are alike, the largest of 2" in pooled.stderr
    assert "2 pairs of 2 queries" in pooled.stderr
    assert "1 more take the label of a pair that is alike" in pooled.stderr
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\n1,b,relevant,1\n")
    files = ("--qrels", "qrels.txt", "--labels", "labels.csv")
    made = fire("augment", *files, "--pool", "pool", "--out", "out.txt")
    said = "1 label shared by pairs that are alike, 1 of them positive: nobody judged these pairs"
    assert said in made.stderr
    assert "2 0 b 1" in (folder / "out.txt").read_text().splitlines()
    assert "2,b,,1,1,shared" in (folder / "changes.csv").read_text().splitlines()
    counts = json.loads((folder / "out.txt.manifest.json").read_text())["counts"]
    assert (counts["new"], counts["shared"], counts["shared_positive"]) == (1, 1, 1)
    scored = fire("score", "clip.run", "--qrels", "qrels.txt", "--augmented", "out.txt", "-m", "C@1")
    assert said in scored.stderr
    assert "100.0 (0.0 + 100.0)" in scored.stdout
    words = ("clip.run", *files, "--pool-sources", "pool", "-m", "C@1", "--resamples", "10")
    honest = fire("score", "--honest", *words)
    assert "100.0 (0.0 + 100.0)" in honest.stdout
    assert said in honest.stderr
    assert "C@1: not corrected for errors of votes: 1 label of another pair (pool" in honest.stderr
    (folder / "validity.csv").write_text("query_id,label,is_usable,n_votes,n_agree\n2,unusable,False,2,2\n")
    dropped = (*files, "--pool", "pool", "--validity", "validity.csv", "--unusable", "drop")
    assert "shared" not in fire("augment", *dropped, "--out", "usable.txt").stderr
    assert {line.split()[0] for line in (folder / "usable.txt").read_text().splitlines()} == {"1"}


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        ("query_id,text\n1,a\n", (), "expected query_id or doc_id, and same_as or other_id"),
        ("query_id,other_id\n1,9\n", (), "9 is not among the queries"),
        ("query_id,other_id\n1,2\n", ("--strategy", "move-to-front"), "does not go with strategy"),
        ("query_id,other_id\n1,2\n", ("--deep-queries", "1"), "each pair of a sample stands for itself"),
    ],
)
def test_what_cannot_be_judged_once_is_refused(
    folder: Path, fire: Fire, table: str, more: tuple[str, ...], words: str
) -> None:
    (folder / "alike.csv").write_text(table)
    known = ("--qrels", "qrels.txt", "--queries", "queries.tsv", "--judge-once", "alike.csv")
    result = fire("pool", "clip.run", *known, *more, "--out", "pool", code=1)
    assert words in result.stderr
    assert not (folder / "pool").exists()
