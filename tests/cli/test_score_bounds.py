"""The bounds of `score --honest` hold, for docs of high grades and for docs that no run lists."""

import itertools
import json
from math import log2
from pathlib import Path

import pytest
from command import Fire, write_run

HONEST = ("score", "--honest", "m.run", "--qrels", "qrels.txt", "--augmented", "augmented.txt")


def rows(fire: Fire, *measures: str) -> tuple[dict[str, dict[str, float]], str]:
    """Return the honest rows of m.run by measure, and what was said."""
    named = [word for name in measures for word in ("-m", name)]
    fire("augment", "--qrels", "qrels.txt", "--labels", "labels.csv", "--out", "augmented.txt")
    result = fire(*HONEST, *named, "--format", "json")
    return {row["measure"]: row for row in json.loads(result.stdout)}, result.stderr


def score(fire: Fire, qrels: str, *measures: str) -> dict[str, float]:
    Path("truth.txt").write_text(qrels)
    named = [word for name in measures for word in ("-m", name)]
    told = fire("score", "m.run", "--qrels", "truth.txt", *named, "--format", "json")
    return {row["measure"]: row["value"] for row in json.loads(told.stdout)}


def test_every_grade_of_an_unjudged_doc_is_within(fire: Fire) -> None:
    """d2 stands first, unjudged; d1 has grade 3. With d2 at 3 nDCG@2 is 100.0, where 79.7 was the bound."""
    Path("m.run").write_text("q Q0 d2 1 2 m\nq Q0 d1 2 1 m\n")
    Path("qrels.txt").write_text("q 0 d1 3\n")
    Path("labels.csv").write_text("query_id,doc_id,label,relevance\nq,d3,0,0\n")
    measures = ("nDCG@2", "DCG@2", "C@1", "nDCG", "CG@2")
    found, said = rows(fire, *measures)
    # One query for each labelling of d2 and of two docs that nobody listed.
    labellings = list(enumerate(itertools.product(range(4), repeat=3)))
    write_run(Path("m.run"), {f"q{n}": ["d2", "d1"] for n, _ in labellings})
    docs = ("d1", "d2", "u1", "u2")
    grades = [(n, *pair) for n, own in labellings for pair in zip(docs, (3, *own), strict=True)]
    Path("truth.txt").write_text("".join(f"q{n} 0 {doc} {grade}\n" for n, doc, grade in grades))
    named = [word for name in measures for word in ("-m", name)]
    told = fire("score", "m.run", "--qrels", "truth.txt", *named, "--per-query", "--format", "json")
    values = [row for row in json.loads(told.stdout) if row["query_id"] != "all"]
    for name in measures:
        own = [row["value"] for row in values if row["measure"] == name]
        assert len(own) == len(labellings)
        assert max(own) <= found[name]["upper"] + 1e-12
        assert found[name]["lower"] is None or found[name]["lower"] - 1e-12 <= min(own)
        if found[name]["bounds"] == "exact":
            assert (min(own), max(own)) == pytest.approx((found[name]["lower"], found[name]["upper"]))
    assert [name for name in measures if found[name]["bounds"] == "exact"] == ["DCG@2", "C@1", "CG@2"]
    assert found["nDCG@2"]["upper"] == 1.0
    assert "bounds are for unjudged docs up to grade 3, the highest seen" in said


def test_a_relevant_doc_that_was_never_pooled_counts(fire: Fire) -> None:
    """Two relevant docs a query, the second at rank 20; judged to depth 5: R@5 was "100.0 to 100.0"."""
    queries = [f"q{number:02}" for number in range(20)]
    docs = [f"d{place:02}" for place in range(1, 21)]
    write_run(Path("m.run"), dict.fromkeys(queries, docs))
    Path("qrels.txt").write_text("".join(f"{q} 0 d01 1\n" for q in queries))
    labels = "".join(f"{q},d{place:02},x,{int(place == 1)}\n" for q in queries for place in range(1, 6))
    Path("labels.csv").write_text("query_id,doc_id,label,relevance\n" + labels)
    found, said = rows(fire, "R@5", "nDCG@5", "AP", "P@5")
    truth = score(fire, "".join(f"{q} 0 d01 1\n{q} 0 d20 1\n" for q in queries), *found)
    assert (truth["R@5"], truth["nDCG@5"]) == pytest.approx((0.5, 1 / (1 + 1 / log2(3))))
    assert [found[name]["lower"] for name in ("R@5", "AP")] == [None, None]
    assert found["nDCG@5"]["lower"] == pytest.approx(1 / sum(1 / log2(rank + 1) for rank in range(1, 6)))
    for name, value in truth.items():
        assert (found[name]["lower"] or 0) - 1e-12 <= value <= found[name]["upper"] + 1e-12, name
        assert found[name]["judged"] == (1.0 if name != "AP" else 0.25)
    assert found["P@5"]["bounds"] == "exact"
    assert "R@5, AP: no lower bound; each relevant doc that nobody judged and the run does not list" in said
