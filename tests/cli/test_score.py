"""`score` and its options: tie rules, groups, breakdowns."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from command import Fire, rows, write_run

SCORE = ("score", "ssb.run", "--qrels", "qrels.txt")


# Query 1 finds nothing; in query 2 the run ties a, the positive, and b: 2 docs, so that its rank is 1 or 2.
@pytest.mark.parametrize(
    ("rule", "expected"),
    [("doc-desc", 0.25), ("index", 0.5), ("average", 1 / 3), ("optimistic", 0.5), ("pessimistic", 0.25)],
)
def test_each_rule_places_the_tied_positive(fire: Fire, folder: Path, rule: str, expected: float) -> None:
    (folder / "doc_ids.txt").write_text("a\nb\nc\n007\n")
    result = fire(*SCORE, "-m", "RR", "--ties", rule, "--format", "json")
    assert [row["value"] for row in json.loads(result.stdout)] == pytest.approx([expected])


def test_default_measures_without_an_expectation_are_left_out_and_said(fire: Fire) -> None:
    told = fire(*SCORE, "--ties", "expected", "--format", "json")
    assert "note: left out of the default measures: MedR; --ties expected has no closed form" in told.stderr
    usual = {row["measure"] for row in json.loads(fire(*SCORE, "--format", "json").stdout)}
    assert {row["measure"] for row in json.loads(told.stdout)} == usual - {"MedR"}


@pytest.fixture
def composed(folder: Path) -> Path:
    """Two queries of composed retrieval, each with its group; the reference r leads both lists."""
    write_run(folder / "m.run", {"1": "rxbac", "2": "rxbac"})
    (folder / "c.txt").write_text("1 0 a 1\n2 0 b 1\n")
    members = "".join(f"{query}\t{doc}\n" for query in "12" for doc in "rabc")
    (folder / "groups.tsv").write_text("query_id\tdoc_id\n" + members)
    queries = "1\tred\tr\tcolour;shape\n2\tbig\tr\tsize\n"
    (folder / "c.tsv").write_text("query_id\ttext\treference\tkind\n" + queries)
    return folder


GROUPED = ("score", "m.run", "--qrels", "c.txt", "--groups", "groups.tsv", "--queries", "c.tsv")


def values(result: Result, *keys: str) -> dict[tuple[str, ...], float]:
    return {tuple(str(row[key]) for key in keys): row["value"] for row in json.loads(result.stdout)}


@pytest.mark.usefixtures("composed")
def test_recall_subset_ranks_the_group_without_its_reference(fire: Fire) -> None:
    measures = ("-m", "C@1", "-m", "C@2", "-m", "C@3", "--format", "json")
    # Without r and x the lists are b, a, c: a, the positive of query 1, is second, b of query 2 first.
    expected = {("C@1",): 0.5, ("C@2",): 1.0, ("C@3",): 1.0}
    result = fire(*GROUPED, *measures)
    assert expected == values(result, "measure")
    assert "note" not in result.stderr


def test_lists_that_lack_members_and_queries_without_reference_are_said(fire: Fire, composed: Path) -> None:
    (composed / "m.run").write_text("1 Q0 a 1 9 m\n2 Q0 b 1 9 m\n2 Q0 a 2 8 m\n2 Q0 c 3 7 m\n")
    assert "m: 1 query whose list lacks a member of the group" in fire(*GROUPED, "-m", "C@1").stderr
    (composed / "c.tsv").write_text("query_id\ttext\n1\tred\n2\tbig\n")
    assert "no column reference; no doc of a group is left out" in fire(*GROUPED, "-m", "C@1").stderr
    (composed / "groups.tsv").write_text("query_id\tdoc_id\n1\ta\n")
    assert "groups: 1 queries of the run have none (2)" in fire(*GROUPED, "-m", "C@1", code=1).stderr


@pytest.mark.usefixtures("composed")
def test_a_breakdown_has_a_score_for_each_value(fire: Fire, composed: Path) -> None:
    ends = ("score", "m.run", "--qrels", "c.txt", "--queries", "c.tsv", "-m", "RR", "--by", "kind")
    found = values(fire(*ends, "--format", "json", "--out", "by.csv"), "aspect", "n_queries", "query_id")
    assert found == pytest.approx(
        {("colour", "1", "all"): 1 / 4, ("shape", "1", "all"): 1 / 4, ("size", "1", "all"): 1 / 3}
    )
    header = (composed / "by.csv").read_text().partition("\n")[0]
    assert header == "aspect,n_queries,run_id,qrels,query_id,measure,value"
    lines = [line.split() for line in fire(*ends).stdout.splitlines()]
    assert lines[0] == ["kind", "queries", "measure", "m"]
    assert lines[-1] == ["size", "1", "RR", "33.3"]


def test_only_the_usual_scores_are_kept_in_a_workspace(fire: Fire, folder: Path) -> None:
    (folder / "fire.toml").write_text('[runs]\nfiles = ["*.run"]\n[collection]\nqrels = "qrels.txt"\n')
    for look in (("--ties", "average"), ("-m", "C@1"), ("--curves",), ("ssb.run",)):
        fire("score", *look)
    assert not (folder / "scores").exists()
    fire("score", "--format", "csv")
    assert (folder / "scores" / "scores.csv").is_file()


def test_curves_stand_in_one_file(sample: Fire) -> None:
    fused = ("score", "runs/fused.run", "--qrels", "qrels.txt", "-m", "nDCG@5")
    sample(*fused, "--curves", "--out", "curves.csv")
    drawn = rows(Path("curves.csv"))
    found = {(row["curve"], float(row["at"])): float(row["value"]) for row in drawn}
    assert len(found) == 11 + 8 * 100
    printed = rows(sample(*fused, "-m", "IPrec(recall=0.3)", "-m", "R@100", "--format", "csv"))
    values = [float(row["value"]) for row in printed]
    assert values == [found["nDCG", 5.0], found["IPrec", 0.3], found["R", 100.0]]
