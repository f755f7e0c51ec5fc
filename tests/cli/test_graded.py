"""The graded guideline from tasks to scores, against a few lines of numpy and the package krippendorff."""

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import krippendorff
import numpy as np
import pytest
from command import Fire, rows

from fire_toolkit.campaign.tasks import split_pair_id

if TYPE_CHECKING:
    from fake_api import FakeServer

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
    fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: "FakeServer"
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
