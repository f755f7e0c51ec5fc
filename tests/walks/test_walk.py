"""The README's path on files as people have them, every number beside plain arithmetic."""

import csv
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from walks import arithmetic
from walks.families import FAMILIES, Family, coco_captions
from walks.walker import MEASURES, TOP, Walker

from examples import some


def table(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter=delimiter))


def check_ids(walker: Walker) -> None:
    """Ids keep the order of the benchmark's own file."""
    queries = [row["query_id"] for row in table(Path("collection/queries.tsv"), "\t")]
    docs = [row["doc_id"] for row in table(Path("collection/items.tsv"), "\t")]
    assert queries == walker.family.query_ids
    assert docs == walker.family.doc_ids


def check_sense(walker: Walker, run: str, printed: str) -> None:
    """The command says where the positives stand, so that scrambled ids are seen at once."""
    expected = walker.expected_scores("original")[run, "C@1"]
    assert f"C@1 {100 * expected:.1f}" in printed
    assert "chance" in printed


def known_docs(docs: list[str], positives: set[str]) -> list[str]:
    """Return the docs of a list by rank; of those below the top a run keeps the positives alone."""
    return [doc if rank <= TOP or doc in positives else "?" for rank, doc in enumerate(docs, start=1)]


def check_strata(walker: Walker) -> None:
    """A sampled benchmark keeps its strata, without which inferred AP is another number."""
    if not walker.family.strata:
        return
    rows = walker.rows("score", "-m", "xinfAP")
    found = {row["run_id"]: float(row["value"]) for row in rows if row["query_id"] == "all"}
    for run, lists in walker.lists.items():
        expected = mean(
            arithmetic.inferred_ap(known_docs(lists[query], walker.family.originals[query]), strata)
            for query, strata in walker.family.strata.items()
        )
        assert found[run] == pytest.approx(expected, abs=1e-9)


def check_pool(walker: Walker) -> None:
    pairs = {(row["query_id"], row["doc_id"]) for row in table(Path("pool/pool.csv"))}
    assert pairs == walker.expected_pool()
    sources = {
        (row["query_id"], row["doc_id"], row["run_id"], int(row["rank"]))
        for row in table(Path("pool/pool_sources.csv"))
    }
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
    walker.run("import")
    walker.run("agree")
    walker.run("resolve")
    walker.run("augment")
    return n_tasks


def check_judgments(walker: Walker) -> None:
    labels, disputes = arithmetic.resolved(walker.answers)
    found = {(row["query_id"], row["doc_id"]): row["label"] for row in table(Path("labels/labels.csv"))}
    assert found == labels
    assert {(row["query_id"], row["doc_id"]) for row in table(Path("labels/disputes.csv"))} == disputes
    agreement = {row["statistic"]: float(row["value"]) for row in table(Path("agreement/agreement.csv"))}
    assert agreement["alpha"] == pytest.approx(arithmetic.alpha(walker.answers), abs=1e-12)
    expected = {(query, doc) for query, docs in walker.positives().items() for doc in docs}
    lines = [line.split() for line in Path("augmented/qrels.txt").read_text().splitlines()]
    assert {(line[0], line[2]) for line in lines if int(line[-1]) > 0} == expected


def check_scores(walker: Walker) -> None:
    printed = walker.run("score")
    found = {
        (row["qrels"], row["run_id"], row["measure"]): float(row["value"])
        for row in table(Path("scores/scores.csv"))
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
    rows = walker.rows("difference")
    for row in rows:
        if row["measure"] not in MEASURES or row["qrels"] == "delta":
            continue
        expected = walker.expected_scores(row["qrels"])
        value = expected[row["run_a"], row["measure"]] - expected[row["run_b"], row["measure"]]
        assert float(row["difference"]) == pytest.approx(value, abs=1e-9), row
    assert {"C@1", "AP"} <= {row["measure"] for row in rows}


def check_comparison(walker: Walker) -> None:
    walker.run("compare")
    for row in table(Path("comparison/comparison.csv")):
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
    rows = walker.rows("report", "table4")
    found = {(row["run_id"], row["measure"]): row for row in rows}
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
    walker.run("init", "benchmark")
    monkeypatch.chdir(folder / "benchmark")
    settings = Path("fire.toml").read_text()
    Path("fire.toml").write_text(settings.replace("caption-relevance-v1", walker.family.guideline))
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
    check_strata(walker)
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


@pytest.mark.slow
def test_a_real_benchmark(coco_eccv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,332 COCO captions, 5,000 images, real systems as dense matrices; people know ECCV's labels."""
    walk(begin(tmp_path, lambda folder: coco_captions(folder, coco_eccv), monkeypatch))
