"""Whether a run is what it should be: the scores that its log printed, and where its positives stand.

Scrambled ids, a turned matrix and the wrong split all look the same: positives spread evenly over the ranks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.errors import UsageError
from fire_toolkit.matching.joining import join_stored, list_stored
from fire_toolkit.measures import code_qrels, parse_measure
from fire_toolkit.measures.defaults import FIRST, solved_at
from fire_toolkit.measures.definition import values_of
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run

_FEWEST = 20  # positives from which chance can be told
_NEAR = 0.4  # of all docs: the mean rank of positives is half of them by chance
_EXPECTATION = re.compile(r"\s*([^=]+?)\s*[=:]\s*(\d+(?:\.\d*)?|\.\d+)\s*%?\s*")


@dataclass(frozen=True)
class Expectation:
    """A logged score: its measure as the toolkit names it, its value, and half of its last digit.

    name: as it was given. is_percent: the value is 100 times a share.
    """

    name: str
    measure: str
    value: float
    tolerance: float
    is_percent: bool

    def agrees(self, found: float) -> bool:
        """Whether a score is the logged one, rounded as it was."""
        return abs(self.rescaled(found) - self.value) <= self.tolerance + 1e-9

    def rescaled(self, found: float) -> float:
        """Return a score on the scale of the logged one."""
        return 100 * found if self.is_percent else found


def parse_expectation(text: str) -> Expectation:
    """Return what `R@1=46.1` says.

    R@k is what retrieval papers print: a positive in the top k (C@k here). A share of 1 or less is taken
    as it is, a larger one as per cent; `1.0` is per cent when `%` follows.

    Raises:
        UsageError: it is not of that form, or names no measure.

    Examples:
        >>> parse_expectation("R@1=46.1").measure
        'C@1'
        >>> parse_expectation("MedR=2.0").tolerance
        0.05
    """
    found = _EXPECTATION.fullmatch(text)
    if found is None:
        raise UsageError(f"--expect {text!r}: expected a measure and its logged value, such as R@1=46.1")
    name, number = found.groups()
    ranks = {key: own for key, own in MEASURES.built_in.items() if own.unit == "rank"}
    in_papers = {called.lower(): key for key, own in ranks.items() for called in (key, *own.also_called)}
    paper = re.fullmatch(r"[Rr](?:ecall)?@?(\d+)", name)
    measure = solved_at(int(paper[1])) if paper else parse_measure(in_papers.get(name.lower(), name))
    digits = len(number.partition(".")[2])
    value = float(number)
    is_percent = measure.definition.unit == "share" and (value > 1 or "%" in text)
    return Expectation(name, measure.name, value, 0.5 * 10**-digits, is_percent)


def found_scores(run: Run, qrels: Qrels, expectations: Sequence[Expectation]) -> list[float]:
    """Return the run's score for each expectation, on the toolkit's scale."""
    scores = score_runs(run, qrels, [expected.measure for expected in expectations]).scores
    values = dict(zip(scores["measure"], scores["value"], strict=True))
    return [float(values[expected.measure]) for expected in expectations]


def describe_expectations(expectations: Sequence[Expectation], found: Sequence[float]) -> str:
    """Return the scores in words: `R@1 46.1, logged 46.1`."""
    return "; ".join(
        f"{expected.name} {expected.rescaled(value):.4g}, logged {expected.value:g}"
        for expected, value in zip(expectations, found, strict=True)
    )


@dataclass(frozen=True)
class Sense:
    """What a run makes of its qrels' positives. words: one line; warning: what may be wrong, or empty."""

    words: str
    warning: str = ""


def sense_of(run: Run, qrels: Qrels, *, n_docs: int) -> Sense:
    """Return C@1 beside chance, the median rank of the positives, and a warning near chance.

    Args:
        run: one run, as the benchmark scores it.
        qrels: positives from relevance 1.
        n_docs: how many docs the model ranked.

    Returns:
        Chance is the mean share of a query's positives among all docs. Near chance: 20 positives or more
        stand at 40% of all docs or lower in the mean (one without a rank in the middle of the docs below its
        list), and where more than a tenth have no rank, no more than twice as many have one as by chance.
        None of the positives' queries in the run: a warning.
    """
    coded, lengths = code_qrels(qrels), run["query_id"].value_counts()
    n_positives = coded.n_positives
    n_rows = lengths.reindex(coded.queries, fill_value=0).to_numpy()
    is_there = (n_positives > 0) & (n_rows > 0)
    if not is_there.any():
        return Sense(
            f"none of the {np.count_nonzero(n_positives):,} queries with a positive is in the run",
            "the run and the qrels share no query: check the split and how the ids are written; "
            "places need --query-ids and --doc-ids",
        )
    judged = join_stored(list_stored(run)[0], [coded]).placed.by(coded)
    first = parse_measure(FIRST)
    wanted = n_positives[is_there]
    ranks = np.full(wanted.sum(), np.inf)
    known = judged.found.rank
    ranks[: known.size] = known
    by_chance = f"{100 * float(np.minimum(wanted / n_docs, 1).mean()):.2g}"
    found = first.aggregate(values_of(judged, [first])[0])
    middle = float(np.sort(ranks)[[(len(ranks) - 1) // 2, len(ranks) // 2]].mean())
    median = f"{middle:g}" if np.isfinite(middle) else "below the lists"
    has_rank, lists = np.isfinite(ranks), np.repeat(n_rows[is_there], wanted)
    is_rare = has_rank.mean() > 0.9 or has_rank.sum() <= 2 * (lists / n_docs).sum()
    mean_rank = np.where(has_rank, ranks, (lists + n_docs) / 2).mean()
    is_near = len(ranks) >= _FEWEST and is_rare and mean_rank > _NEAR * n_docs
    return Sense(
        f"{FIRST} {100 * found:.1f} (chance {float(by_chance):g}); ranks of positives: median {median}",
        f"near chance: the positives of {wanted.size:,} queries stand where they would by chance; "
        "check the order of the ids, the orientation, the split, and that a higher score is better"
        if is_near
        else "",
    )
