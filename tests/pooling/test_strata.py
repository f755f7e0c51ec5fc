"""Strata of ranks and deep queries: what is drawn, how often, and that it is the same draw."""

import numpy as np
import pandas as pd
import pytest
from small_world import make_qrels, run_in_order

from examples import cases
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling import pool_runs
from fire_toolkit.pooling.candidates import Candidates
from fire_toolkit.pooling.deep_queries import design_queries
from fire_toolkit.pooling.draws import draw_candidates, draw_ids
from fire_toolkit.pooling.strata import parse_strata

NAMES = [f"q{n}" for n in range(1332)]


@cases("text", "message")
def test_malformed_strata_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_strata(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_stratum_is_named_by_its_ranks_and_its_rate() -> None:
    assert [stratum.name for stratum in parse_strata("1:3:1, 4:10:.25")] == ["1:3:1", "4:10:0.25"]


def drawn_pairs(queries: list[str], docs: list[str], *, seed: int) -> np.ndarray:
    query, doc = (part.ravel() for part in np.indices((len(queries), len(docs))))
    ids = (pd.Index(each, dtype="str") for each in (queries, docs, ["m"]))
    run, rank = np.zeros_like(query), np.ones_like(query)
    candidates = Candidates(*ids, query, doc, run, rank, -rank, seed=seed)
    return draw_candidates(candidates, np.arange(len(query)))


def test_a_pair_is_drawn_as_often_as_its_rate_says_whatever_it_is_drawn_with() -> None:
    # 1,332² pairs: five standard deviations of the share below .1 are .0011
    drawn = drawn_pairs(NAMES, NAMES, seed=0)
    assert 0 <= drawn.min() < drawn.max() < 1
    assert (drawn < 0.1).mean() == pytest.approx(0.1, abs=0.0011)
    by_query = (drawn < 0.1).reshape(1332, 1332).sum(axis=1)
    assert by_query.std() == pytest.approx((1332 * 0.1 * 0.9) ** 0.5, rel=0.1)  # as independent draws
    alone = drawn_pairs(["q7"], ["q1331"], seed=0)
    assert alone[0] == drawn.reshape(1332, 1332)[7, 1331]
    assert drawn_pairs(["q7"], ["q1331"], seed=1)[0] != alone[0]


def test_a_draw_is_the_same_on_every_machine() -> None:
    # sha256 of the id, first 8 bytes, little endian; SplitMix64 of it plus (seed + 1) steps; in whole numbers
    import hashlib

    word = int.from_bytes(hashlib.sha256(b"q7").digest()[:8], "little")
    state = (word + 3 * 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    assert draw_ids(["q7"], seed=2)[0] == ((state ^ (state >> 31)) >> 11) / 2**53


def draw_queries(names: list[str], *, share: float, seed: int = 0) -> np.ndarray:
    design = design_queries(names, share=share, depth=0, deep=1, seed=seed)
    return design["is_sampled"].to_numpy(dtype=bool)


def test_a_tenth_of_the_queries_is_drawn_never_below_forty_and_a_larger_sample_contains_the_smaller() -> None:
    assert [int(draw_queries(NAMES[:n], share=0.1).sum()) for n in (1332, 1000, 401, 399, 40, 12)] == [
        *(134, 100, 41),
        *(40, 40, 12),
    ]
    tenth, fifth = draw_queries(NAMES, share=0.1, seed=3), draw_queries(NAMES, share=0.2, seed=3)
    assert not (tenth & ~fifth).any()
    assert (tenth != draw_queries(NAMES, share=0.1, seed=4)).any()
    assert draw_queries(NAMES[::-1], share=0.1, seed=3)[::-1].tolist() == tenth.tolist()
    over_seeds = sum(draw_queries(NAMES[:100], share=0.5, seed=seed) for seed in range(100)) / 100
    assert np.abs(over_seeds - 0.5).max() < 0.25  # 5 standard deviations of 100 draws


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"depth": 1, "deep_queries": 0.5, "deep_depth": 2},
            {("a", "shallow", 1.0): 80, ("b", "deep", 0.5): 40, ("z", "shallow", 1.0): 80},
        ),
        (
            {"depth": 2, "strategy": "strata(1:1:1,2:2:1)"},
            {("a", "1:1:1", 1.0): 80, ("b", "2:2:1", 1.0): 80, ("z", "original", 1.0): 80},
        ),
    ],
    ids=["deep", "strata"],
)
def test_each_pair_of_a_pool_has_the_chance_that_its_design_gave_it(options, expected) -> None:
    """80 queries of which 40 are drawn, each with the docs a, b, c and an original z that no run found."""
    run = run_in_order("m", {f"q{n:02}": "abc" for n in range(80)})
    originals = make_qrels({f"q{n:02}": {"z": 1} for n in range(80)})
    pool = pool_runs(run, originals=originals, include_originals=True, **options).pool
    assert pool[["doc_id", "stratum", "inclusion_probability"]].value_counts().to_dict() == expected


def test_a_design_says_how_deep_each_query_is_judged() -> None:
    design = design_queries(NAMES, share=0.1, depth=0, deep=50, seed=3)
    assert design["query_id"].tolist() == NAMES
    assert design["depth"].tolist() == np.where(design["is_sampled"], 50, 0).tolist()
    assert design["inclusion_probability"].unique().tolist() == [134 / 1332]
    for wrong in ({"share": 0.0}, {"share": 1.5}, {"deep": 10}, {"seed": -1}):
        with pytest.raises(UsageError, match=", expected "):
            design_queries(NAMES, **({"share": 0.1, "depth": 10, "deep": 50} | wrong))  # type: ignore[arg-type]
