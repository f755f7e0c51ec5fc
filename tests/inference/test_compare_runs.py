"""Overlap and RBO of runs, with ties and without: numbers of papers, slow definitions, and permutations."""

import math
from collections.abc import Iterable, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import make_run
from small_world import run_in_order as run

from examples import cases, examples
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Run, check_run

MEASURES = ["overlap", "average_overlap", "RBO_truncated", "RBO_ext", "RBO_min", "RBO_res"]
Groups = Sequence[Iterable[str]]  # of tied docs, best first; a list without ties is groups of one: a text


def tied_run(run_id: str, lists: Sequence[Groups]) -> Run:
    ranked = {f"q{number:05}": enumerate(groups) for number, groups in enumerate(lists)}
    scores = {query: {doc: -float(n) for n, group in own for doc in group} for query, own in ranked.items()}
    return make_run(scores, run_id)


def compared(
    a: Sequence[Groups], b: Sequence[Groups], *, p: float = 0.9, ties: str = "broken", depth: int = 50
) -> np.ndarray:
    """Queries × the six measures."""
    runs = [tied_run("a", a), tied_run("b", b)]
    values = compare_runs(runs, depth=depth, rbo_p=p, ties=ties, per_query=True).table["value"]
    return values.to_numpy().reshape(-1, 6)[1:]


def contributions(groups: Sequence[Sequence[str]], variant: str, deepest: int) -> dict[str, list[float]]:
    found, rank = {}, 1
    for group in groups:
        t, b = rank, rank + len(group) - 1
        rank = b + 1
        for doc in group:
            if variant == "w":
                found[doc] = [1.0 if d >= t else 0.0 for d in range(1, deepest + 1)]
            else:
                found[doc] = [min(1.0, max(0.0, (d - t + 1) / (b - t + 1))) for d in range(1, deepest + 1)]
    return found


def by_definition(a: Groups, b: Groups, p: float, variant: str) -> list[float]:
    """Prefix by prefix, one doc at a time; the infinite tail is summed to where p^d is below 1e-14."""
    lists = [[list(group) for group in groups] for groups in (a, b)]
    short, long = sorted(lists, key=lambda groups: sum(map(len, groups)))
    s, l = (sum(map(len, groups)) for groups in (short, long))  # noqa: E741
    deepest = max(2 * l + s, math.ceil(math.log(1e-14) / math.log(p)))
    c_s, c_l = (contributions(groups, variant, deepest) for groups in (short, long))
    alone = [doc for group in long for doc in group if doc not in c_s]
    shared = [doc for doc in c_s if doc in c_l]
    average = truncated = ext = least = most = at_s = 0.0
    for d in range(1, deepest + 1):
        at = d - 1
        x = sum(c_s[doc][at] * c_l[doc][at] for doc in shared)
        norms = {
            "w": (sum(c[at] for c in c_s.values()), sum(c[at] for c in c_l.values())),
            "a": (d, d),
            "b": (sum(c[at] ** 2 for c in c_s.values()), sum(c[at] ** 2 for c in c_l.values())),
        }[variant]
        n_s, n_l = (d if d > size else norm for size, norm in zip((s, l), norms, strict=True))
        norm = math.sqrt(n_s * n_l) if variant == "b" else (n_s + n_l) / 2
        agreement, weight = x / norm, (1 - p) * p ** (d - 1)
        if d == s:
            at_s = agreement
        least += weight * (agreement if d <= l else len(shared) / d)
        if d <= l:
            average += agreement / l
            truncated += weight * agreement
        if s < d <= l:
            present = [c_l[doc][at] for doc in alone if c_l[doc][at] > 0]
            ext += weight * (x + (d - s) * at_s * sum(present) / len(present)) / norm
            most += weight * (x + sum(c_l[doc][at] for doc in alone[: d - s])) / norm
        elif d <= s:
            ext += weight * agreement
            most += weight * agreement
        else:
            ext += weight * (len(shared) + (l - s) * at_s) / l
            most += weight * min(d, len(shared) + (d - s) + (d - l)) / d
    return [len(shared) / l, average, truncated, ext, least, most - least]


IDS = ("run_id", "query_id", "doc_id")
TIED = ["NH", "M", "ACF", "L"]
OTHER = ["C", "G", "NA"]


@cases("a", "b", "p", "expected")
def test_reference_numbers(a: str, b: str, p: float, expected: tuple[float | None, ...]) -> None:
    values = dict(zip(MEASURES, compared([a], [b], p=p, depth=10)[0], strict=True))
    names = ["RBO_ext", "RBO_min", "RBO_res", "RBO_truncated", "average_overlap"]
    for name, value in zip(names, expected, strict=True):
        assert value is None or pytest.approx(value, abs=5e-7) == values[name], name


@pytest.mark.parametrize(
    ("variant", "ext", "least"),
    # Made with the program of Corsi and Urbano (SIGIR 2024) at p = .9.
    [("w", 0.515579, 0.260157), ("a", 0.439739, 0.231980), ("b", 0.456897, 0.238439)],
)
def test_numbers_of_corsi_and_urbano(variant: str, ext: float, least: float) -> None:
    for pair in ((TIED, OTHER), (OTHER, TIED)):
        values = compared([pair[0]], [pair[1]], p=0.9, ties=variant)[0]
        assert (ext, least) == (pytest.approx(values[3], abs=5e-7), pytest.approx(values[4], abs=5e-7))


def random_groups(rng: np.random.Generator, n_docs: int) -> Groups:
    docs = [f"d{number}" for number in rng.permutation(n_docs)[: rng.integers(1, n_docs + 1)]]
    groups: Groups = [[docs[0]]]
    for doc in docs[1:]:
        if rng.random() < 0.4:
            groups[-1].append(doc)
        else:
            groups.append([doc])
    return groups


@pytest.mark.parametrize("variant", ["w", "a", "b"])
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_random_tied_uneven_lists_by_definition(variant: str, p: float) -> None:
    rng = np.random.default_rng(17)
    a, b = ([random_groups(rng, 7) for _ in range(25)] for _ in "ab")
    expected = np.array([by_definition(*pair, p, variant) for pair in zip(a, b, strict=True)])
    assert expected == pytest.approx(compared(a, b, p=p, ties=variant), abs=1e-12)


@pytest.mark.parametrize("p", [0.3, 0.9, 0.98])
def test_lists_without_ties_are_by_definition_under_every_variant(p: float) -> None:
    draw = np.random.default_rng(round(p * 100))
    lists = [[f"d{doc}"] for doc in range(30)]
    a, b = ([[lists[n] for n in draw.permutation(size)] for size in draw.integers(1, 31, 20)] for _ in "ab")
    expected = np.array([by_definition(*both, p, "w") for both in zip(a, b, strict=True)])
    for ties in ("broken", "w", "a", "b"):
        assert expected == pytest.approx(compared(a, b, p=p, ties=ties), abs=1e-11)


def test_variant_a_is_the_mean_over_all_ways_to_break_the_ties() -> None:
    ways = [[list(map(list, permutations(group))) for group in groups] for groups in (TIED, OTHER)]
    broken = [[[[doc] for part in choice for doc in part] for choice in product(*way)] for way in ways]
    pairs = list(product(*broken))
    each = compared([a for a, _ in pairs], [b for _, b in pairs], p=0.9, ties="w")
    tied = compared([TIED], [OTHER], p=0.9, ties="a")[0]
    for column in (0, 1, 2, 4):  # what is linear in the overlaps: all but ext and res
        assert each[:, column].mean() == pytest.approx(tied[column])


@pytest.mark.parametrize("variant", ["w", "b"])
def test_a_list_with_ties_agrees_with_itself_wholly(variant: str) -> None:
    values = compared([TIED], [TIED], p=0.9, ties=variant)[0]
    assert values[[0, 1, 3]] == pytest.approx(1)


def test_names_say_the_variant_and_every_depth_and_p_is_there() -> None:
    runs = [tied_run("a", [TIED]), tied_run("b", [OTHER])]
    table = compare_runs(runs, depth=[2, 5], rbo_p=[0.5, 0.9], ties="b").table
    forms = [f"{form}(p={p},ties=b)" for p in (0.5, 0.9) for form in ("truncated", "ext", "min", "res")]
    names = ["overlap(ties=b)", "average_overlap(ties=b)", *(f"RBO_{form}" for form in forms)]
    assert table["measure"].tolist() == [f"{name}@{k}" for k in (2, 5) for name in names]


def test_several_depths_and_p_are_each_what_they_are_alone() -> None:
    runs = [tied_run("a", [TIED, OTHER]), tied_run("b", [OTHER, TIED])]
    for ties in ("broken", "a"):
        together = compare_runs(runs, depth=[3, 1], rbo_p=[0.9, 0.5], ties=ties, per_query=True).comparisons
        keys = ["query_id", "measure"]
        known = together.set_index(keys)["value"]
        for k, p in product((1, 3), (0.5, 0.9)):
            alone = compare_runs(runs, depth=k, rbo_p=p, ties=ties, per_query=True).comparisons
            for row in alone.itertuples():
                assert known[row.query_id, row.measure] == row.value


def test_columns_names_and_order() -> None:
    found = compare_runs([run(name, {"q": "xyz"}) for name in ("c", "a", "b")], depth=5, rbo_p=0.98)
    table, notes = found.table, found.notes
    assert list(table.columns) == ["run_a", "run_b", "query_id", "measure", "value"]
    rbo = [f"RBO_{form}(p=0.98)@5" for form in ("truncated", "ext", "min", "res")]
    assert table["measure"].iloc[:6].tolist() == ["overlap@5", "average_overlap@5", *rbo]
    pairs = table[["run_a", "run_b", "query_id"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["c", "a", "all"], ["c", "b", "all"], ["a", "b", "all"]]
    assert notes == ()


def test_one_table_of_several_runs_is_the_same_as_several_tables() -> None:
    tables = [run("a", {"q": "xyz", "r": "x"}), run("b", {"r": "zx"}), run("c", {"q": "w", "r": "yz"})]
    joined = rank_run(pd.concat([table.astype(dict.fromkeys(IDS, str)) for table in tables]))
    expected, found = (compare_runs(runs, per_query=True).table for runs in (tables, joined))
    pd.testing.assert_frame_equal(expected, found)


def test_all_is_the_mean_over_the_queries_that_both_have_and_the_rest_is_noted() -> None:
    a = run("a", {"q1": "xy", "q2": "xy", "only-a": "x"})
    b = run("b", {"q2": "zw", "q1": "xy", "only-b": "y", "also-b": "y"})
    found = compare_runs([a, b], per_query=True)
    table, notes = found.table, found.notes
    overlap = table[table["measure"] == "overlap@10"]
    expected = [("all", 0.5), ("q1", 1), ("q2", 0)]
    assert list(zip(overlap["query_id"], overlap["value"], strict=True)) == expected
    left_out = "left out: 1 that only a has, 2 that only b has"
    assert list(notes) == [f"a and b are compared on the 2 queries that both have; {left_out}"]


def test_lists_of_different_lengths_are_said() -> None:
    runs = [run("a", {"q": "xyz", "r": "xy"}), run("b", {"q": "xy", "r": "xz"})]
    said = compare_runs(runs).notes
    assert len(said) == 1
    assert said[0].startswith("a and b: 1 of 2 queries have lists of different lengths (shortest 2 and 2);")
    assert compare_runs(runs, depth=2).notes == ()


def test_only_the_top_depth_counts() -> None:
    assert (compared(["abcd"], ["bazy"], depth=2) == compared(["ab"], ["ba"], depth=2)).all()


def test_a_ranking_is_compared_down_to_its_first_gap() -> None:
    """Of the query q ranks 1, 2 and 9 are known: c at rank 9 is no third doc."""
    rows = pd.DataFrame({"run_id": "a", "query_id": "q", "doc_id": list("xyc"), "score": [3.0, 2.0, 1.0]})
    a = check_run(rows.assign(rank=[1, 2, 9]))
    whole = run("b", {"q": "yxc"})
    for ties in ("broken", "a"):
        found = compare_runs([a, whole], ties=ties).comparisons
        assert found.equals(compare_runs([run("a", {"q": "xy"}), whole], ties=ties).comparisons)


X, Y = run("a", {"q": "x"}), run("b", {"q": "x"})


@pytest.mark.parametrize(
    ("runs", "options", "error", "words"),
    [
        ([X, Y], {"depth": 0}, UsageError, "depth is 0; expected 1 or more"),
        ([X, Y], {"depth": [10, 0]}, UsageError, "depth is 0"),
        ([X, Y], {"depth": []}, UsageError, "no depth or no rbo_p given"),
        ([X, Y], {"rbo_p": 1.0}, UsageError, r"rbo_p is 1.0; expected a number strictly between"),
        ([X, Y], {"rbo_p": 0.0}, UsageError, r"rbo_p is 0.0"),
        ([X, Y], {"rbo_p": math.nan}, UsageError, r"rbo_p is nan"),
        ([X, Y], {"rbo_p": [0.9, 2.0]}, UsageError, "rbo_p is 2.0"),
        ([], {}, UsageError, r"found 0 runs; expected two or more"),
        ([X], {}, UsageError, "found 1 run; expected two or more"),
        ([X, X], {}, TableError, "run 'a' is given twice"),
        (
            [run("a", {"all": "x"}), run("b", {"all": "x"})],
            {"per_query": True},
            JoinError,
            "a query has the id 'all', which stands for the mean",
        ),
        (
            [X, run("b", {"r": "x"})],
            {},
            JoinError,
            r"runs 'a' and 'b' have 0 of 1 queries in common \(first queries: 'q' and 'r'\)",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(
    runs: list[Run], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        compare_runs(runs, **options)


rankings = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(rankings, rankings, st.integers(1, 10), st.floats(0.05, 0.99), st.permutations("abcdefgh"))
def test_bounds_symmetry_and_names(
    a: list[str], b: list[str], depth: int, p: float, names: list[str]
) -> None:
    values = compared([a], [b], depth=depth, p=p)[0]
    assert by_definition(a[:depth], b[:depth], p, "w") == pytest.approx(values, abs=1e-10)
    assert compared([b], [a], depth=depth, p=p)[0] == pytest.approx(values, abs=1e-12)
    renamed = dict(zip("abcdefgh", names, strict=True))
    other = [[renamed[doc] for doc in docs] for docs in (a, b)]
    assert compared(other[:1], other[1:], depth=depth, p=p)[0] == pytest.approx(values, abs=1e-12)
    _, _, truncated, extended, least, residual = values
    slack = 1e-12
    assert -slack <= truncated <= least + slack
    assert least - slack <= extended <= least + residual + slack
    assert least + residual <= 1 + slack
