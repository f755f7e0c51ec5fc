"""A command and its function give one number for one file, when nothing but the files is given to either."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from small_judgments import krippendorff_alpha

import fire_toolkit as fire
from fire_toolkit.tables import Judgments

Fire = Callable[..., Result]
RUNS = ("runs/fused.run", "runs/shape-contour.run")


@pytest.fixture
def uneven(sample: Fire) -> Fire:
    """The sample, with judgments of a second round, of nobody's task, escalated, and drawn unevenly."""
    table = pd.read_csv("judgments.csv", dtype=str, keep_default_na=False)
    draw = np.random.default_rng(0)
    table["kind"] = np.where(draw.random(len(table)) < 0.1, "unassigned", "task")
    table["round"] = np.where(draw.random(len(table)) < 0.2, "10", "2")
    table.loc[draw.random(len(table)) < 0.05, "label"] = "ambiguous"
    pair = table["query_id"] + " " + table["doc_id"]
    table["inclusion_probability"] = np.where(pair.map(hash_of) < 0.5, "0.1", "1.0")
    table.to_csv("judgments.csv", index=False)
    return sample


def hash_of(text: str) -> float:
    return sum(map(ord, text)) % 10 / 10


def judgments() -> Judgments:
    return fire.judgments("judgments.csv")


def tables() -> dict[str, Any]:
    return {
        "runs": [fire.run(path) for path in RUNS],
        "original": fire.qrels("qrels.txt"),
        "augmented": fire.qrels("augmented.txt"),
        "labels": fire.read_labels("labels/labels.csv"),
        "sources": fire.read_pool_sources("pool_sources.csv"),
    }


def test_alpha_alone_is_that_of_the_table(uneven: Fire) -> None:
    table = pd.read_csv(io.StringIO(uneven("agree", "judgments.csv", "--format", "csv").stdout))
    value = krippendorff_alpha(judgments()).value
    assert value == table["value"][0]
    others = [
        krippendorff_alpha(judgments(), all_rounds=True).value,
        krippendorff_alpha(judgments(), inclusion=None).value,
        krippendorff_alpha(judgments(), grades={"relevant": 1, "irrelevant": 0, "ambiguous": 0}).value,
    ]
    assert len({round(each, 6) for each in (value, *others)}) == 4  # each default does something


def test_resolve_and_augment_do_as_their_functions(uneven: Fire) -> None:
    told = uneven("resolve", "judgments.csv", "--out", "anew").stderr
    found = fire.resolve(judgments())
    labels, disputes = found.labels, found.disputes
    pd.testing.assert_frame_equal(fire.read_labels("anew/labels.csv"), labels, check_dtype=False)
    assert len(pd.read_csv("anew/disputes.csv")) == len(disputes)
    n_unassigned = int((judgments()["kind"] == "unassigned").sum())
    assert f"note: {n_unassigned:,} answers not asked of their annotator left out, as `agree` does" in told
    uneven("augment", "--qrels", "qrels.txt", "--labels", "anew", "--out", "anew.txt")
    augmented, _ = fire.augment_qrels(tables()["original"], labels)
    columns = ["query_id", "doc_id", "relevance"]
    pd.testing.assert_frame_equal(fire.qrels("anew.txt")[columns], augmented[columns])
    uneven("resolve", "judgments.csv", "--out", "all", "--count-unassigned")
    counted = fire.resolve(judgments(), count_unassigned=True).labels
    pd.testing.assert_frame_equal(fire.read_labels("all/labels.csv"), counted, check_dtype=False)
    assert len(counted) > len(labels)


def test_pool_and_tasks_do_as_their_functions(sample: Fire) -> None:
    sample("pool", *RUNS, "--qrels", "qrels.txt", "--out", "anew")
    made = fire.pool(tables()["runs"], tables()["original"])
    columns = ["query_id", "doc_id", "best_rank", "n_runs", "is_original", "round"]
    pd.testing.assert_frame_equal(fire.read_pool("anew/pool.csv")[columns], made.pool[columns])
    words = ("--queries", "queries.tsv", "--guideline", "caption-relevance-v1", "--items", "items.tsv")
    sample("tasks", "anew", *words, "--out", "anew/tasks.json")
    tasks = fire.make_tasks(
        made.pool,
        fire.read_queries("queries.tsv"),
        items=fire.read_items("items.tsv"),
        guideline=fire.read_guideline("caption-relevance-v1"),
    )
    expected = fire.tasks_to_json(tasks, fire.read_guideline("caption-relevance-v1"))
    for batch, name in ((1, "tasks.json"), (2, "tasks.overlap.json")):
        assert json.loads(Path("anew", name).read_text()) == expected[batch]
