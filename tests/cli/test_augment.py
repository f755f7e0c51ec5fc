"""`augment`, and grades: what labels take away, and at which grade original positives count and say so.

The graded guideline is held from tasks to scores against a few lines of numpy and the package krippendorff.
"""

import json
import random
from collections import defaultdict
from math import log2
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from command import Fire, rows
from fake_api import FakeServer

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.tables import check_labels, check_qrels

# query 1 loses its only positive, query 2 one of two, 3 keeps its own with a lower grade, 4 as it is
LABELS = """query_id,doc_id,label,relevance
1,a,no,0
1,z,no,0
2,a,no,0
3,a,partly,1
4,a,yes,1
"""


@pytest.fixture
def labelled(folder: Path) -> Path:
    (folder / "qrels.txt").write_text("1 0 a 1\n2 0 a 1\n2 0 b 1\n3 0 a 2\n4 0 a 1\n")
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
    assert (counts["confirmed"], counts["rejected"], counts["irrelevant"]) == (2, 2, 1)
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


Qrels = dict[tuple[str, str], int]
GRADES = {"mismatch": 0, "loose": 1, "close": 2, "exact": 3}
RUNS = {name: {q: random.Random(f"{name}{q}").sample(range(9), 6) for q in range(30)} for name in "ab"}
MEASURES = ("nDCG@3", "C@2", "C@2:rel=3")


@pytest.fixture
def graded(fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of 30 queries whose pairs were judged by grades, half of them twice."""
    root = tmp_path / "graded"
    fire("init", root)
    monkeypatch.chdir(root)
    texts = "".join(f"q{q}\ta dog\n" for q in RUNS["a"])
    (root / "collection/queries.tsv").write_text("query_id\ttext\n" + texts)
    (root / "collection/qrels.txt").write_text("".join(f"q{q} 0 d0 1\n" for q in RUNS["a"]))
    for name, ranked in RUNS.items():
        placed = [(q, d, rank) for q, docs in ranked.items() for rank, d in enumerate(docs, start=1)]
        text = "".join(f"q{q} Q0 d{d} {rank} {9 - rank} {name}\n" for q, d, rank in placed)
        (root / f"runs/{name}.run").write_text(text)
    fire("pool")
    fire("tasks", "--guideline", "graded-relevance-v1", "--annotator", "A,B", "--overlap", 0.5)
    for person in "AB":
        lines = ["pair_id,label"]
        for row in rows((root / f"tasks/tasks.{person}.csv").read_text()):
            grade = random.Random(row["pair_id"]).choice([0, 0, 1, 2, 3])
            slip = random.Random(row["pair_id"] + person).choice([-1, 0, 0, 0, 0, 1])
            lines.append(f"{row['pair_id']},{list(GRADES)[min(3, max(0, grade + slip))]}")
        (root / f"exports/tasks.{person}.csv").write_text("\n".join(lines) + "\n")
    fire("import")
    return root


def votes(root: Path) -> dict[tuple[str, str], list[int]]:
    """The votes as the people gave them: of their sheets, not of the ledger."""
    found = defaultdict(list)
    for path in (root / "exports").glob("*.csv"):
        for row in rows(path.read_text()):
            found[split_pair_id(row["pair_id"])].append(GRADES[row["label"]])
    return found


def qrels_in(root: Path) -> Qrels:
    lines = (root / "augmented/qrels.txt").read_text().splitlines()
    return {(query, doc): int(relevance) for query, _, doc, relevance in map(str.split, lines)}


def scores_of(qrels: Qrels, name: str) -> dict[str, float]:
    rows = []
    for q, docs in RUNS[name].items():
        own = {doc: grade for (query, doc), grade in qrels.items() if query == f"q{q}"}
        gains = np.array([own.get(f"d{d}", 0) for d in docs])
        discount = 1 / np.log2(np.arange(2, 5))
        ideal = np.sort([*own.values(), 0, 0])[::-1][:3]
        rows.append([gains[:3] @ discount / (ideal @ discount), gains[:2].max() >= 1, gains[:2].max() >= 3])
    return dict(zip(MEASURES, np.mean(rows, axis=0), strict=True))


@pytest.mark.slow
def test_grades_reach_alpha_labels_qrels_and_scores(fire: Fire, graded: Path) -> None:
    given = votes(graded)
    counts = np.array([[own.count(grade) for grade in range(4)] for own in given.values() if len(own) > 1])
    for level, options in (("ordinal", ()), ("nominal", ("--level", "nominal"))):
        alpha = krippendorff.alpha(value_counts=counts, level_of_measurement=level)
        row = rows(fire("agree", *options, "--format", "csv").stdout)[0]
        assert (row["statistic"], row["level"], float(row["value"])) == ("alpha", level, pytest.approx(alpha))
    fire("resolve")
    labels = {pair: own[0] for pair, own in given.items() if len(set(own)) == 1}
    written = rows((graded / "labels/labels.csv").read_text())
    assert {(row["query_id"], row["doc_id"]): int(row["relevance"]) for row in written} == labels
    assert "original positives count at grade 3" in fire("augment").stderr
    states = {row["stage"]: row["state"] for row in json.loads(fire("status", "--format", "json").stdout)}
    assert (states["agree"], states["augment"]) == ("done", "done")
    original = {(f"q{q}", "d0"): 3 for q in RUNS["a"]}
    augmented = original | {pair: max(grade, original.get(pair, 0)) for pair, grade in labels.items()}
    assert qrels_in(graded) == augmented
    told = fire("score", *(word for name in MEASURES for word in ("-m", name)), "--format", "json")
    assert "original positives count at grade 3" in told.stderr
    assert "How well does the caption describe this video?" in fire("report", "methods").stdout
    found = {(row["run_id"], row["qrels"], row["measure"]): row["value"] for row in json.loads(told.stdout)}
    for name in RUNS:
        for which, qrels in (("original", original), ("augmented", augmented)):
            expected = {(name, which, measure): value for measure, value in scores_of(qrels, name).items()}
            assert {key: found[key] for key in expected} == pytest.approx(expected)


@pytest.mark.slow
def test_what_follows_tasks_goes_by_their_guideline(
    fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer
) -> None:
    fire("init", tmp_path / "pushed")
    monkeypatch.chdir(tmp_path / "pushed")
    Path("pool").mkdir()
    Path("pool/pool.csv").write_text("query_id,doc_id\nq,v\n")
    Path("collection/queries.tsv").write_text("query_id\ttext\nq\ta dog\n")
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\nv\thttp://media.test/v1.mp4\n")
    fire("tasks", "--guideline", "graded-relevance-v1", "--overlap", 0)
    fire("push", "--annotator", "A02")  # fire.toml names the default guideline
    (project,) = server.projects.values()
    assert 'value="mismatch"' in project["label_config"]


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
