"""Original positives beside numeric grades count at the highest, and every output says which that is."""

import json
from math import log2
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from command import Fire, rows

from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.tables import check_labels, check_qrels

BOTH = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")
SECOND, THIRD = 1 / log2(3), 1 / 2


@pytest.fixture
def folder(here: Path) -> Path:
    """One original positive `a`; judgments by grades of no guideline, b 0 and c 3; a run in this order."""
    Path("qrels.txt").write_text("q1 0 a 1\n")
    Path("judgments.csv").write_text("annotator_id,query_id,doc_id,label\nA,q1,b,0\nA,q1,c,3\n")
    Path("m.run").write_text("q1 Q0 a 1 3 m\nq1 Q0 b 2 2 m\nq1 Q0 c 3 1 m\n")
    return here


def augmented(fire: Fire) -> str:
    """Resolve the judgments and augment the qrels; return what was said."""
    fire("resolve", "judgments.csv", "--out", "labels")
    return fire("augment", *BOTH[:2], "--labels", "labels", "--out", "augmented.txt").stderr


@pytest.fixture
def workspace(fire: Fire, folder: Path) -> Path:
    """A workspace of the run and the original positive."""
    fire("init", ".")
    Path("collection/qrels.txt").write_text("q1 0 a 1\n")
    Path("collection/queries.tsv").write_text("query_id\ttext\nq1\ta dog\n")
    Path("m.run").rename("runs/m.run")
    Path("judgments").mkdir(exist_ok=True)
    return folder


def judge(fire: Fire, *answers: str) -> None:
    """Resolve answers by the graded guideline, in the workspace."""
    lines = [f"A,q1,{answer},graded-relevance-v1\n" for answer in answers]
    header = "annotator_id,query_id,doc_id,label,guideline\n"
    Path("judgments/judgments.csv").write_text(header + "".join(lines))
    fire("resolve")


def scores(result: Result) -> dict[tuple[str, str], float]:
    return {(row["measure"], row["qrels"]): float(row["value"]) for row in rows(result)}


def test_they_take_the_highest_grade_of_the_labels_in_every_command(fire: Fire, folder: Path) -> None:
    """The run with the original first had nDCG@10 79.7 with it at grade 1, as the poorest of all matches."""
    said = augmented(fire)
    assert "original positives count at grade 3, the highest in the labels (--original-grade sets it)" in said
    assert Path("augmented.txt").read_text() == "q1 0 a 3\nq1 0 b 0\nq1 0 c 3\n"
    manifest = json.loads(Path("augmented.txt.manifest.json").read_text())["parameters"]
    assert (manifest["original_grade"], manifest["original_grade_from"]) == (3, "the highest in the labels")
    result = fire("score", "m.run", *BOTH, "-m", "nDCG@10", "-m", "DCG@10", "--format", "csv")
    found = scores(result)
    assert found["nDCG@10", "original"] == 1.0
    assert found["nDCG@10", "augmented"] == pytest.approx((1 + THIRD) / (1 + SECOND))
    assert (found["DCG@10", "original"], found["DCG@10", "augmented"]) == pytest.approx((3, 3 + 3 * THIRD))
    assert "original positives count at grade 3 (as in the augmented qrels)" in result.stderr

    # A run without the new positive gains nothing in DCG: its one positive weighs the same on both sides.
    Path("n.run").write_text("q1 Q0 b 1 2 n\nq1 Q0 a 2 1 n\n")
    files = ("m.run", "n.run", *BOTH, "-m", "DCG@10", "--format", "csv")
    scored = [row for row in rows(fire("score", *files)) if row["qrels"] == "delta"]
    assert {row["run_id"]: float(row["value"]) for row in scored} == pytest.approx({"m": 3 * THIRD, "n": 0})
    (row,) = (row for row in rows(fire("difference", *files)) if row["qrels"] == "delta")
    assert (float(row["value_a"]), float(row["value_b"])) == pytest.approx((3 * THIRD, 0))
    result = fire("score", "--honest", "m.run", *BOTH, "-m", "nDCG@10", "-m", "DCG@10", "--format", "json")
    ndcg, dcg = json.loads(result.stdout)
    assert (ndcg["original"], ndcg["augmented"]) == pytest.approx((1, (1 + THIRD) / (1 + SECOND)))
    assert (dcg["original"], dcg["augmented"]) == pytest.approx((3, 3 + 3 * THIRD))
    assert "original positives count at grade 3 (as in the augmented qrels)" in result.stderr
    assert "bounds are for unjudged docs up to grade 3, the highest seen" in result.stderr


@pytest.mark.usefixtures("workspace")
def test_another_grade_is_taken_by_every_command(fire: Fire) -> None:
    judge(fire, "b,mismatch", "c,exact")
    for grade in (1, 2):
        said = fire("augment", "--original-grade", grade).stderr
        assert f"count at grade {grade}, as --original-grade says" in said
        lines = Path("augmented/qrels.txt").read_text().splitlines()
        assert lines == [f"q1 0 a {grade}", "q1 0 b 0", "q1 0 c 3"]
        found = scores(fire("score", "-m", "DCG@10", "--format", "csv"))
        assert found["DCG@10", "original"] == grade
        (row,) = json.loads(fire("score", "--honest", "-m", "DCG@10", "--format", "json").stdout)
        assert (row["original"], row["augmented"]) == pytest.approx((grade, grade + 3 * THIRD))
        (row,) = rows(fire("influence", "-m", "DCG@10", "--format", "csv"))
        assert abs(float(row["change"])) == pytest.approx(3 * THIRD)  # without A the originals are left


def test_binary_labels_leave_them_at_one(fire: Fire, folder: Path) -> None:
    Path("judgments.csv").write_text("annotator_id,query_id,doc_id,label\nA,q1,b,0\nA,q1,c,1\n")
    said = augmented(fire)
    assert "count at grade" not in said
    assert Path("augmented.txt").read_text() == "q1 0 a 1\nq1 0 b 0\nq1 0 c 1\n"


@pytest.mark.usefixtures("workspace")
def test_the_guideline_decides_where_its_highest_grade_was_never_given(fire: Fire) -> None:
    judge(fire, "c,loose")
    assert "count at grade 3, the highest of the guideline" in fire("augment").stderr
    result = fire("score", "--honest", "-m", "DCG@10", "--format", "json")
    (found,) = json.loads(result.stdout)
    assert (found["lower"], found["upper"]) == pytest.approx((3 + THIRD, 3 + 3 * SECOND + THIRD))  # b is open
    assert "bounds are for unjudged docs up to grade 3, the highest of the guideline" in result.stderr


def test_originals_with_grades_of_their_own_keep_them() -> None:
    labels = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "label": "x", "relevance": [2, 3]})
    graded = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a"], "relevance": [2]}))
    found = augment_qrels(graded, check_labels(labels))
    assert (found.qrels["relevance"].tolist(), found.notes) == ([2, 3], ())
    with pytest.raises(UsageError, match="the original qrels have grades of their own, up to 2"):
        augment_qrels(graded, check_labels(labels), original_grade=3)
