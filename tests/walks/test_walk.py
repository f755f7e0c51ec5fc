"""The README's path on files as people have them, every number beside plain arithmetic."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import by_pair, pairs_in, rows
from walks import arithmetic
from walks.families import FAMILIES, Family
from walks.walker import MEASURES, Walker

from examples import some


def check_ids(walker: Walker) -> None:
    """Ids keep the order of the benchmark's own file."""
    for file, column, ids in (
        ("queries.tsv", "query_id", walker.family.query_ids),
        ("items.tsv", "doc_id", walker.family.doc_ids),
    ):
        assert [row[column] for row in rows(Path("collection", file), "\t")] == ids


def check_sense(walker: Walker, run: str, printed: str) -> None:
    """The command says where the positives stand, so that scrambled ids are seen at once."""
    expected = walker.expected_scores("original")[run, "C@1"]
    assert f"C@1 {100 * expected:.1f}" in printed
    assert "chance" in printed


def check_pool(walker: Walker) -> None:
    assert pairs_in(Path("pool/pool.csv")) == walker.expected_pool()
    table = rows(Path("pool/pool_sources.csv"))
    sources = {(row["query_id"], row["doc_id"], row["run_id"], int(row["rank"])) for row in table}
    assert sources == {
        (query, doc, run, rank)
        for run, lists in walker.lists.items()
        for query, docs in lists.items()
        for rank, doc in enumerate(docs[:10], start=1)
    }


def ask(walker: Walker) -> int:
    """From the pool to labels; return how many tasks there were."""
    walker.run("tasks")
    n_tasks = walker.answer_tasks()
    for command in ("import", "agree", "resolve", "augment"):
        walker.run(command)
    return n_tasks


def check_judgments(walker: Walker) -> None:
    labels, disputes = arithmetic.resolved(walker.answers)
    assert by_pair(Path("labels/labels.csv"), "label") == labels
    assert pairs_in(Path("labels/disputes.csv")) == disputes
    agreement = {row["statistic"]: float(row["value"]) for row in rows(Path("agreement/agreement.csv"))}
    assert agreement["alpha"] == pytest.approx(arithmetic.alpha(walker.answers), abs=1e-12)
    expected = {(query, doc) for query, docs in walker.positives().items() for doc in docs}
    lines = [line.split() for line in Path("augmented/qrels.txt").read_text().splitlines()]
    assert {(line[0], line[2]) for line in lines if int(line[-1]) > 0} == expected


def check_scores(walker: Walker) -> None:
    printed = walker.run("score")
    found = {
        (row["qrels"], row["run_id"], row["measure"]): float(row["value"])
        for row in rows(Path("scores/scores.csv"))
        if row["query_id"] == "all"
    }
    for qrels in ("original", "augmented"):
        for (run, measure), value in walker.expected_scores(qrels).items():
            assert found[qrels, run, measure] == pytest.approx(value, abs=1e-9), (qrels, run, measure)
    assert {measure for _, _, measure in found} == set(MEASURES)
    notes = [line for line in printed.splitlines() if line.startswith("note")]
    assert len(notes) == len(set(notes))


def check_differences(walker: Walker) -> None:
    """`difference` with its default measures; each difference is the one of the scores."""
    table = walker.rows("difference")
    for row in table:
        if row["measure"] not in MEASURES or row["qrels"] == "delta":
            continue
        expected = walker.expected_scores(row["qrels"])
        value = expected[row["run_a"], row["measure"]] - expected[row["run_b"], row["measure"]]
        assert float(row["difference"]) == pytest.approx(value, abs=1e-9), row
    assert {"C@1", "AP"} <= {row["measure"] for row in table}


def check_comparison(walker: Walker) -> None:
    walker.run("compare")
    for row in rows(Path("comparison/comparison.csv")):
        if row["measure"] == "overlap@10":
            expected = arithmetic.overlap(walker.lists[row["run_a"]], walker.lists[row["run_b"]], 10)
            assert float(row["value"]) == pytest.approx(expected, abs=1e-12)


def own_contribution(walker: Walker, run: str, k: int) -> float:
    """Return C@k of a run with the original positives and what the other runs' pools found."""
    others = arithmetic.pooled([lists for name, lists in walker.lists.items() if name != run], 10)
    originals = walker.family.originals
    return sum(
        any(
            doc in originals[query] or (doc in docs and (query, doc) in others)
            for doc in walker.lists[run][query][:k]
        )
        for query, docs in walker.positives().items()
    ) / len(originals)


def check_reports(walker: Walker) -> None:
    """The paper's fourth table: each model without its own contributions, the late one like the others."""
    walker.run("score", "--honest")
    found = {(row["run_id"], row["measure"]): row for row in walker.rows("report", "table4")}
    for run in walker.lists:
        row = found[run, "C@1"]
        assert row["pooled"] == "yes"
        assert float(row["new"]) == pytest.approx(own_contribution(walker, run, 1), abs=1e-9), row


def begin(folder: Path, make: Callable[[Path], Family], monkeypatch: pytest.MonkeyPatch) -> Walker:
    """Make the files of a family and a workspace beside them, and stand in it."""
    downloads = folder / "downloads"
    downloads.mkdir()
    monkeypatch.chdir(folder)
    walker = Walker(folder / "benchmark", downloads, make(downloads))
    for name, matrix in walker.family.matrices.items():
        np.save(downloads / f"{name}.npy", matrix)
    walker.run("init", "benchmark")
    monkeypatch.chdir(folder / "benchmark")
    return walker


def check_tables(walker: Walker) -> None:
    check_judgments(walker)
    check_scores(walker)
    check_differences(walker)
    check_comparison(walker)
    check_reports(walker)


def walk(walker: Walker) -> None:
    """Two models from files to tables, then a third."""
    walker.add_collection()
    check_ids(walker)
    for run in ("clip4clip", "frozen"):
        check_sense(walker, run, walker.add_run(run))
    walker.run("pool")
    check_pool(walker)
    first = walker.expected_pool()
    assert ask(walker) == len(first) + round(0.1 * len(first) + 1e-9)
    check_tables(walker)

    walker.add_run("late")
    fresh = walker.expected_pool() - first
    assert f"new model late: {len(fresh):,} pairs to ask" in walker.run("status")
    walker.run("pool")
    check_pool(walker)
    assert len(fresh) <= ask(walker) < 1.2 * len(fresh)
    check_tables(walker)
    assert "all is done" in walker.run("status")


@pytest.mark.parametrize("make", some(FAMILIES, 1), ids=lambda make: make.__name__)
def test_from_files_to_tables_and_a_model_that_arrives_later(
    make: Callable[[Path], Family], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk(begin(tmp_path, make, monkeypatch))
