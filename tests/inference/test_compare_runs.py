import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import run_in_order as run

from examples import examples
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import check_run

MEASURES = ["overlap", "average_overlap", "RBO_truncated", "RBO_ext", "RBO_min", "RBO_res"]


def compared(a: Sequence[str], b: Sequence[str], *, depth: int = 10, rbo_p: float = 0.9) -> dict[str, float]:
    """Measure, without its parameters → value, for one query."""
    table = compare_runs([run("a", {"q": a}), run("b", {"q": b})], depth=depth, rbo_p=rbo_p).table
    return dict(zip(MEASURES, table["value"], strict=True))


def by_definition(a: Sequence[str], b: Sequence[str], p: float) -> list[float]:
    """The six measures prefix by prefix; unseen ranks are summed to where p^d is below 1e-14."""
    short, long = sorted((list(a), list(b)), key=len)
    s, l = len(short), len(long)  # noqa: E741
    x = [len(set(short[:d]) & set(long[:d])) for d in range(l + 1)]
    least, most, ext, truncated = 0.0, 0.0, 0.0, 0.0
    for d in range(1, max(2 * l, math.ceil(math.log(1e-14) / math.log(p))) + 1):
        weight = (1 - p) * p ** (d - 1)
        seen = x[min(d, l)]
        unseen = max(0, d - s) + max(0, d - l)
        least += weight * seen / d
        most += weight * min(seen + unseen, d) / d
        truncated += weight * seen / d if d <= l else 0.0
        if d <= l:
            ext += weight * (seen + x[s] * max(0, d - s) / s) / d
        else:
            ext += weight * ((x[l] - x[s]) / l + x[s] / s)
    return [x[l] / l, sum(x[d] / d for d in range(1, l + 1)) / l, truncated, ext, least, most - least]


@pytest.mark.parametrize(
    ("a", "b", "p", "expected"),
    [
        # Made with Webber, Moffat and Zobel (2010), eqs. 7, 11, 30 and 32: ext, min, res, truncated, average.
        ("abcdefg", "zcavwxy", 0.9, (0.288217, 0.221686, 0.358990, 0.151561, 0.312245)),
        ("abcdefg", "zcavwxy", 0.98, (0.288720, 0.100074, 0.789562, None, 0.312245)),
        ("1234567809", "1234567890", 0.9, (0.995217, 0.850802, 0.144415, 0.646539, None)),
        ("NHMACFL", "CGNA", 0.9, (0.490384, 0.260303, 0.428691, None, None)),
        ("CGNA", "NHMACFL", 0.9, (0.490384, 0.260303, 0.428691, None, None)),
        ("abcdefghij", "0123456789", 0.9, (0.0, 0.0, 0.254442, 0.0, 0.0)),
    ],
)
def test_reference_numbers(a: str, b: str, p: float, expected: tuple[float | None, ...]) -> None:
    values = compared(a, b, rbo_p=p)
    names = ["RBO_ext", "RBO_min", "RBO_res", "RBO_truncated", "average_overlap"]
    for name, value in zip(names, expected, strict=True):
        assert value is None or pytest.approx(value, abs=5e-7) == values[name], name


def test_columns_names_and_order() -> None:
    found = compare_runs([run("b", {"q": "xy"}), run("a", {"q": "yx"})], depth=5, rbo_p=0.98)
    table, notes = found.table, found.notes
    assert list(table.columns) == ["run_a", "run_b", "query_id", "measure", "value"]
    assert list(table["measure"]) == [
        "overlap@5",
        "average_overlap@5",
        "RBO_truncated(p=0.98)@5",
        "RBO_ext(p=0.98)@5",
        "RBO_min(p=0.98)@5",
        "RBO_res(p=0.98)@5",
    ]
    assert table[["run_a", "run_b", "query_id"]].drop_duplicates().to_numpy().tolist() == [["b", "a", "all"]]
    assert notes == ()


def test_every_two_runs_are_compared_in_the_order_given() -> None:
    table = compare_runs([run(name, {"q": "xyz"}) for name in ("c", "a", "b")]).table
    assert table[["run_a", "run_b"]].drop_duplicates().to_numpy().tolist() == [
        ["c", "a"],
        ["c", "b"],
        ["a", "b"],
    ]


def test_one_table_of_several_runs_is_the_same_as_several_tables() -> None:
    tables = [run("a", {"q": "xyz", "r": "x"}), run("b", {"r": "zx"}), run("c", {"q": "w", "r": "yz"})]
    joined = rank_run(
        pd.concat([table.astype({"run_id": str, "query_id": str, "doc_id": str}) for table in tables])
    )
    pd.testing.assert_frame_equal(
        compare_runs(tables, per_query=True).table, compare_runs(joined, per_query=True).table
    )


def test_all_is_the_mean_over_the_queries_that_both_have_and_the_rest_is_noted() -> None:
    a = run("a", {"q1": "xy", "q2": "xy", "only-a": "x"})
    b = run("b", {"q2": "zw", "q1": "xy", "only-b": "y", "also-b": "y"})
    found = compare_runs([a, b], per_query=True)
    table, notes = found.table, found.notes
    overlap = table[table["measure"] == "overlap@10"]
    assert list(zip(overlap["query_id"], overlap["value"], strict=True)) == [
        ("all", 0.5),
        ("q1", 1),
        ("q2", 0),
    ]
    assert list(notes) == [
        "a and b are compared on the 2 queries that both have; left out: 1 that only a has, 2 that only b has"
    ]


def test_lists_of_different_lengths_are_said() -> None:
    runs = [run("a", {"q": "xyz", "r": "xy"}), run("b", {"q": "xy", "r": "xz"})]
    said = compare_runs(runs).notes
    assert len(said) == 1
    assert said[0].startswith("a and b: 1 of 2 queries have lists of different lengths (shortest 2 and 2);")
    assert compare_runs(runs, depth=2).notes == ()


def test_only_the_top_depth_counts() -> None:
    assert compared("abcd", "bazy", depth=2) == compared("ab", "ba", depth=2)


def test_identical_lists_overlap_wholly_even_when_shorter_than_the_depth() -> None:
    values = compared("abc", "abc", depth=10)
    for name in ("overlap", "average_overlap", "RBO_ext"):
        assert pytest.approx(1.0) == values[name]
    assert pytest.approx(1.0) == values["RBO_min"] + values["RBO_res"]


def test_a_ranking_is_compared_down_to_its_first_gap() -> None:
    """Of the query q ranks 1, 2 and 9 are known: c at rank 9 is no third doc."""
    rows = pd.DataFrame({"run_id": "a", "query_id": "q", "doc_id": list("xyc"), "score": [3.0, 2.0, 1.0]})
    a = check_run(rows.assign(rank=[1, 2, 9]))
    whole = run("b", {"q": "yxc"})
    for ties in ("broken", "a"):
        found = compare_runs([a, whole], ties=ties).comparisons
        assert found.equals(compare_runs([run("a", {"q": "xy"}), whole], ties=ties).comparisons)


def test_runs_without_a_common_query_are_an_error() -> None:
    with pytest.raises(
        JoinError, match=r"runs 'a' and 'b' have 0 of 1 queries in common \(first queries: 'q' and 'r'\)"
    ):
        compare_runs([run("a", {"q": "x"}), run("b", {"r": "x"})])


@pytest.mark.parametrize(
    ("depth", "rbo_p", "words"),
    [
        (0, 0.9, "depth is 0; expected 1 or more"),
        (10, 1.0, r"rbo_p is 1.0; expected a number strictly between"),
        (10, 0.0, r"rbo_p is 0.0"),
        (10, math.nan, r"rbo_p is nan"),
    ],
)
def test_a_parameter_out_of_range_is_an_error(depth: int, rbo_p: float, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        compare_runs([run("a", {"q": "x"}), run("b", {"q": "x"})], depth=depth, rbo_p=rbo_p)


def test_fewer_than_two_runs_are_an_error() -> None:
    for runs in ([], [run("a", {"q": "x"})]):
        with pytest.raises(UsageError, match=rf"found {len(runs)} run\(s\); expected two or more"):
            compare_runs(runs)


def test_a_run_given_twice_is_an_error() -> None:
    with pytest.raises(TableError, match="run 'a' is given twice"):
        compare_runs([run("a", {"q": "x"}), run("a", {"q": "x"})])


def test_input_is_unchanged() -> None:
    runs = [run("a", {"q": "xyz"}), run("b", {"q": "yx"})]
    before = [table.copy() for table in runs]
    compare_runs(runs, depth=2, per_query=True)
    for old, new in zip(before, runs, strict=True):
        pd.testing.assert_frame_equal(old, new)


@pytest.mark.parametrize("p", [0.3, 0.9, 0.98])
def test_values_equal_the_definition_on_random_uneven_lists(p: float) -> None:
    draw = np.random.default_rng(round(p * 100))
    lists = [[f"d{doc}" for doc in draw.permutation(size)] for size in draw.integers(1, 31, 300)]
    a, b = lists[:150], lists[150:]
    named = [{f"q{n:04}": ranking for n, ranking in enumerate(own)} for own in (a, b)]
    sides = [run(name, own) for name, own in zip("ab", named, strict=True)]
    values = compare_runs(sides, depth=40, rbo_p=p, per_query=True).comparisons["value"].to_numpy()
    expected = [by_definition(*both, p) for both in zip(a, b, strict=True)]
    np.testing.assert_allclose(values.reshape(-1, 6)[1:], expected, atol=1e-11)


rankings = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(rankings, rankings, st.integers(1, 10), st.floats(0.05, 0.99), st.permutations("abcdefgh"))
def test_bounds_symmetry_and_names(
    a: list[str], b: list[str], depth: int, p: float, names: list[str]
) -> None:
    values = compared(a, b, depth=depth, rbo_p=p)
    assert pytest.approx(by_definition(a[:depth], b[:depth], p), abs=1e-10) == list(values.values())
    assert pytest.approx(list(compared(b, a, depth=depth, rbo_p=p).values()), abs=1e-12) == list(
        values.values()
    )
    renamed = dict(zip("abcdefgh", names, strict=True))
    other = compared([renamed[doc] for doc in a], [renamed[doc] for doc in b], depth=depth, rbo_p=p)
    assert pytest.approx(list(other.values()), abs=1e-12) == list(values.values())
    slack = 1e-12
    assert -slack <= values["RBO_truncated"] <= values["RBO_min"] + slack
    assert values["RBO_min"] - slack <= values["RBO_ext"] <= values["RBO_min"] + values["RBO_res"] + slack
    assert values["RBO_min"] + values["RBO_res"] <= 1 + slack
