"""Evidence and back: what measures read of it is what its makers were given."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from command import run as fire_run
from hypothesis import Phase, given, settings
from hypothesis import strategies as some
from small_world import World

from examples import examples
from fire_toolkit.commands import augment
from fire_toolkit.errors import FireError
from fire_toolkit.evidence.facts import Evidence, Facts, check_evidence
from fire_toolkit.evidence.making import POLICIES, make_evidence
from fire_toolkit.evidence.qrels import augment_qrels, augmented_of, changes_of, originals_beside
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import evidence_beside, read_evidence, read_labels
from fire_toolkit.formats.written import parquet_bytes
from fire_toolkit.inference.background import Background, known_of
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.results import Found
from fire_toolkit.tables import (
    Disputes,
    Labels,
    Qrels,
    QueryLabels,
    check_disputes,
    check_labels,
    check_query_labels,
)
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import CLASSES, DESIGN
from fire_toolkit.tables.further import DEEP, ORIGINAL, SAMPLE, SHALLOW

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"depth": 3},
    "strata": {"depth": 6, "strategy": "strata(1:2:1,3:6:.5)"},
    "deep": {"depth": 2, "deep_queries": 0.5, "deep_depth": 5},
    "machine": {"depth": 4, "strategy": "machine(judge=j, random=20)", "budget": 30},
}


def pooled(world: World, kind: str, rng: np.random.Generator) -> Found:
    machine = world.runs[PAIR].astype("str").drop_duplicates()
    machine = machine.assign(score=rng.random(len(machine)))
    given = {"machine": machine} if kind == "machine" else {}
    return pool_runs(world.runs, originals=world.original, include_originals=True, **KINDS[kind], **given)


def judged(pairs: pd.DataFrame, rng: np.random.Generator, grade: int) -> tuple[Labels, Disputes]:
    """Labels and disputes of some of the pairs, with the votes of a design."""
    fate = rng.choice(["label", "dispute", "open"], len(pairs), p=[0.7, 0.15, 0.15])
    votes = ["".join(rng.choice(["0", "1"], rng.integers(1, 5))) for _ in range(len(pairs))]
    design = {DESIGN[0]: rng.choice(["", *CLASSES], len(pairs)), DESIGN[1]: votes}
    relevance = rng.integers(0, grade + 1, len(pairs))
    known = pairs[PAIR].astype("str").assign(**design, label="x", relevance=relevance, method="fire")
    labels = known[fate == "label"].assign(n_judgments=2, n_agree=1)
    return check_labels(labels), check_disputes(
        known[fate == "dispute"].assign(reason="tie")[[*PAIR, *DESIGN, "reason"]]
    )


def same(found: pd.DataFrame | None, wanted: pd.DataFrame, names: list[str]) -> None:
    assert found is not None
    one, other = (table[names].reset_index(drop=True) for table in (found, wanted))
    pd.testing.assert_frame_equal(one, other, check_dtype=False)


@pytest.mark.parametrize("takes_out", [False, True])
@settings(max_examples=examples(25), phases=[Phase.generate])
@given(
    seed=some.integers(0, 999),
    kind=some.sampled_from(sorted(KINDS)),
    policy=some.sampled_from(POLICIES),
    grade=some.integers(1, 3),
)
def test_measures_read_of_evidence_what_it_was_made_of(
    seed: int, kind: str, policy: str, grade: int, takes_out: bool
) -> None:
    kind = "plain" if takes_out else kind  # no query can be taken out of a sample
    rng, world = np.random.default_rng(seed), World(seed)
    pool = pooled(world, kind, rng)
    labels, disputes = judged(pool.pool, rng, grade)
    validity = query_labels(world.original, rng)
    unusable = set(validity.loc[~validity["is_usable"].astype(bool), "query_id"])
    is_sample = "stratum" in pool.pool and "machine_sample" not in pool.tables

    def counted(table: Any) -> Any:
        return table[~table["query_id"].isin(unusable)].reset_index(drop=True) if takes_out else table

    lifted, _ = originals_beside(world.original, grade=grade)
    augmented: Any = augment_qrels(counted(lifted), counted(labels), policy=policy, original_grade=grade)[0]
    if is_sample:
        augmented = marked(augmented, pool)
    parts = {
        "disputes": disputes,
        "pool": pool.pool,
        "query_design": pool.tables.get("query_design"),
        "validity": validity,
    }
    parts |= {name: pool.tables.get(name) for name in ("undrawn", "machine_sample")}
    pairs = make_evidence(lifted, labels, policy=policy, **parts, takes_out=takes_out)
    known = known_of(Evidence(pairs, Facts(unusable="drop" if takes_out else "flag")))
    same(known.original, counted(lifted), [*PAIR, "relevance"])
    for found in (known.augmented, augmented_of(pairs)):
        same(found, augmented, [*PAIR, "relevance", *(["stratum"] if is_sample else [])])
    assert not takes_out or unusable.isdisjoint(changes_of(pairs)["query_id"])
    same(known.labels, counted(labels), [*PAIR, "relevance", "method", "n_judgments", *DESIGN])
    of_labels = pairs.iloc[pair_rows(labels, pairs)].reset_index(drop=True)
    same(of_labels, labels, [*PAIR, "label", "n_agree"])
    same(known.disputes, counted(disputes), [*PAIR, *DESIGN])
    own = unusable & set(world.original["query_id"])
    assert known.unusable is not None
    assert set(known.unusable.queries["query_id"]) == own
    best = counted(
        pool.pool[pool.pool["best_rank"].notna()]
        if "machine_sample" not in pool.tables
        else pool.machine_sample
    )
    same(pairs.iloc[pair_rows(best, pairs)].reset_index(drop=True), best, [*PAIR, "best_rank"])
    the_same_design(known, pool, augmented)
    assert set(pairs.loc[pairs["relevance"].isna(), "source"]) <= {"unjudged", "unusable", "rejected"}


def marked(augmented: Qrels, pool: Found) -> pd.DataFrame:
    """Augmented qrels with the strata of a sample, and relevance -1 where a pair of one has no label."""
    tables = (pool.tables.get(name) for name in ("pool", "undrawn"))
    known = pd.concat(tables)[[*PAIR, *SAMPLE]]
    sampled = known.loc[~known["stratum"].isin([SHALLOW, DEEP, ORIGINAL]), PAIR]
    every = augmented[[*PAIR, "relevance"]].merge(sampled, how="outer", on=PAIR).fillna({"relevance": -1})
    return every.merge(known, how="left", on=PAIR).fillna({"stratum": ""})


def the_same_design(known: Background, pool: Found, augmented: pd.DataFrame) -> None:
    """The strata, deep queries and machine sample of a pool; also of pairs without a relevance."""
    if "machine_sample" in pool.tables:
        assert known.design is not None
        assert known.design.sample is not None
        names = [*PAIR, "best_rank", "judge_id", "score", *SAMPLE, "is_drawn"]
        same(known.design.sample, pool.machine_sample, names)
        return
    if "stratum" not in pool.pool:
        assert known.design is None
        return
    assert known.design is not None
    same(known.design.pairs.iloc[pair_rows(augmented, known.design.pairs)], augmented, [*PAIR, *SAMPLE])
    if "query_design" in pool.tables:
        in_order = pool.query_design.sort_values("query_id")
        names = ["query_id", "depth", "is_sampled", "inclusion_probability"]
        assert known.design.queries is not None
        same(known.design.queries, in_order, names)


def query_labels(original: Qrels, rng: np.random.Generator) -> QueryLabels:
    queries = original["query_id"].unique()
    usable = rng.random(len(queries)) < 0.7
    usable[0] = True
    columns = {"query_id": queries, "label": "x", "is_usable": usable, "n_votes": 1, "n_agree": 1}
    return check_query_labels(pd.DataFrame(columns))


def test_a_file_holds_what_the_table_does(sample: Path, tmp_path: Path) -> None:
    known = known_of(read_evidence(sample / "augmented.txt"))
    same(known.augmented, read_qrels(sample / "augmented.txt"), [*PAIR, "relevance"])
    same(known.original, read_qrels(sample / "qrels.txt"), [*PAIR, "relevance"])
    labels = read_labels(sample / "labels")
    same(
        known.labels, labels, [*PAIR, "relevance", "method", "n_judgments"]
    )  # all that a score reads of a label
    assert known.policy == "union"
    pairs = read_evidence(sample / "augmented.evidence.csv").pairs
    content = parquet_bytes(pairs)
    (tmp_path / "evidence.parquet").write_bytes(content)
    pd.testing.assert_frame_equal(read_evidence(tmp_path).pairs, pairs)
    (tmp_path / "evidence.parquet").write_bytes(content[:-9])
    refused("evidence.parquet: damaged Parquet file", read_evidence, tmp_path, by=FireError)


def test_scores_and_chances_out_of_range_are_refused_where_evidence_is_made(sample: Path) -> None:
    pairs = read_evidence(sample / "augmented.txt").pairs
    for column, wrong, why in (
        ("machine_score", 3.0, "machine_score is above 1"),
        ("machine_score", -0.1, "machine_score is below 0"),
        ("inclusion_probability", 0.0, "inclusion_probability is not a probability above 0 and up to 1"),
    ):
        refused(why, check_evidence, pairs.assign(**{column: wrong}), by=FireError)


def test_many_rows_are_written_as_parquet(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(augment, "MOST_ROWS", 10)
    qrels = ("--qrels", sample / "qrels.txt", "--labels", sample / "labels")
    fire_run("augment", *qrels, "--out", sample / "many.txt")
    few, many = (read_evidence(sample / name).pairs for name in ("augmented.txt", "many.evidence.parquet"))
    pd.testing.assert_frame_equal(many, few)


def test_qrels_that_augment_wrote_lead_to_their_evidence(sample: Path) -> None:
    assert evidence_beside(sample / "augmented.txt") == sample / "augmented.evidence.csv"
    assert evidence_beside(sample / "qrels.txt") is None
    qrels = ("--qrels", sample / "qrels.txt", "--labels", sample / "labels")
    fire_run("augment", *qrels, "--policy", "drop", "--out", sample / "drop.txt")
    assert read_evidence(sample / "drop.txt").facts.policy == "drop"
    assert read_evidence(sample / "augmented.txt").facts.policy == "union"


@pytest.fixture
def sample(corrected: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(corrected, tmp_path / "pool"))
