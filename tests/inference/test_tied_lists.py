"""RBO with ties against the paper's numbers, a slow evaluation of its definitions, and permutations."""

import math
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import Run

Groups = list[list[str]]
NAMES = ["overlap", "average_overlap", "RBO_truncated", "RBO_ext", "RBO_min", "RBO_res"]


def run(run_id: str, lists: list[Groups]) -> Run:
    rows = [
        (run_id, f"q{number:05}", doc, -float(place))
        for number, groups in enumerate(lists)
        for place, group in enumerate(groups)
        for doc in group
    ]
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


def compared(a: list[Groups], b: list[Groups], *, p: float, ties: str) -> np.ndarray:
    """Queries × the six measures."""
    table = compare_runs([run("a", a), run("b", b)], depth=50, rbo_p=p, ties=ties, per_query=True).table
    return table["value"].to_numpy().reshape(-1, 6)[1:]


def contributions(groups: Groups, variant: str, deepest: int) -> dict[str, list[float]]:
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
    short, long = sorted((a, b), key=lambda groups: sum(map(len, groups)))
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


TIED = [["N", "H"], ["M"], ["A", "C", "F"], ["L"]]
OTHER = [["C"], ["G"], ["N", "A"]]


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
    a, b = ([random_groups(rng, 7) for _ in range(150)] for _ in "ab")
    expected = np.array([by_definition(*pair, p, variant) for pair in zip(a, b, strict=True)])
    assert expected == pytest.approx(compared(a, b, p=p, ties=variant), abs=1e-12)


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


def test_without_ties_all_variants_are_the_untied_measures() -> None:
    rng = np.random.default_rng(3)
    plain = [[[doc] for doc in rng.permutation(list("abcdefgh"))[: rng.integers(1, 8)]] for _ in range(400)]
    a, b = plain[:200], plain[200:]
    expected = compared(a, b, p=0.9, ties="broken")
    for variant in ("w", "a", "b"):
        assert expected == pytest.approx(compared(a, b, p=0.9, ties=variant), abs=1e-12)


def test_names_say_the_variant_and_every_depth_and_p_is_there() -> None:
    table = compare_runs(
        [run("a", [TIED]), run("b", [OTHER])], depth=[2, 5], rbo_p=[0.5, 0.9], ties="b"
    ).table
    assert table["measure"].tolist() == [
        name
        for k in (2, 5)
        for name in (
            f"overlap(ties=b)@{k}",
            f"average_overlap(ties=b)@{k}",
            *(
                f"RBO_{form}(p={p},ties=b)@{k}"
                for p in (0.5, 0.9)
                for form in ("truncated", "ext", "min", "res")
            ),
        )
    ]


def test_several_depths_and_p_are_each_what_they_are_alone() -> None:
    runs = [run("a", [TIED, OTHER]), run("b", [OTHER, TIED])]
    for ties in ("broken", "a"):
        together = compare_runs(runs, depth=[3, 1], rbo_p=[0.9, 0.5], ties=ties, per_query=True).comparisons
        keys = ["query_id", "measure"]
        known = together.set_index(keys)["value"]
        for k, p in product((1, 3), (0.5, 0.9)):
            alone = compare_runs(runs, depth=k, rbo_p=p, ties=ties, per_query=True).comparisons
            for row in alone.itertuples():
                assert known[row.query_id, row.measure] == row.value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ties": "c"}, "ties is 'c'; expected broken or one of w, a, b"),
        ({"depth": [10, 0]}, "depth is 0"),
        ({"rbo_p": [0.9, 2.0]}, "rbo_p is 2.0"),
        ({"depth": []}, "no depth or no rbo_p given"),
    ],
)
def test_arguments_out_of_range_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        compare_runs([run("a", [TIED]), run("b", [OTHER])], **options)  # type: ignore[arg-type]
