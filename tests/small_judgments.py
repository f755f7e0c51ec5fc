"""Judgments as tests write them down: by doc, by rater, or by pair."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.agreement.intervals import Interval, interval_of
from fire_toolkit.agreement.table import agreement
from fire_toolkit.resolution.votes import code_votes
from fire_toolkit.tables import Agreement, Judgments, check_judgments

NAMES = ["query_id", "doc_id", "annotator_id", "label"]


def judged(rows: Sequence[tuple[str, str, str]], **columns: object) -> Judgments:
    """Return judgments of one query from (doc_id, annotator_id, label)."""
    table = pd.DataFrame([("q", *row) for row in rows], columns=NAMES, dtype="str")
    return check_judgments(table.assign(**columns))


def judged_docs(answers: Mapping[str, Sequence[str]], **columns: object) -> Judgments:
    """Return judgments of one query from doc_id → answers, one annotator an answer."""
    rows = [(doc, f"a{n}", label) for doc, given in answers.items() for n, label in enumerate(given)]
    return judged(rows, **columns)


def rated(*raters: str) -> Judgments:
    """Return judgments from one text a rater: a character a unit, `*` for none."""
    rows = [
        (f"d{unit:02d}", f"rater{rater}", label)
        for rater, text in enumerate(raters)
        for unit, label in enumerate(text.replace(" ", ""))
        if label != "*"
    ]
    return judged(rows)


def on_pairs(answers: Sequence[str], *, n_queries: int, **columns: Sequence[object]) -> Judgments:
    """Return judgments from the answers on each pair, a character an answer; columns: one value a pair."""
    units = [(unit, rater, label) for unit, given in enumerate(answers) for rater, label in enumerate(given)]
    rows = [(f"q{unit % n_queries}", f"d{unit:05d}", f"a{rater}", label) for unit, rater, label in units]
    extra = {name: [values[unit] for unit, _, _ in units] for name, values in columns.items()}
    return check_judgments(pd.DataFrame(rows, columns=NAMES, dtype="str").assign(**extra))


# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C, which Gwet (2014) has too.
EXAMPLE_C = rated(
    "1 2 3 3 2 1 4 1 2 * * *", "1 2 3 3 2 2 4 1 2 5 * 3", "* 3 3 3 2 3 4 2 2 5 1 *", "1 2 3 3 2 4 4 1 2 5 1 *"
)


def krippendorff_alpha(judgments: Judgments, **how: Any) -> Any:
    """Return the row of `agreement` that is alpha."""
    return next(agreement(judgments, statistics=["alpha"], **how).itertuples(index=False))


def agreement_intervals(
    judgments: Judgments, *, n_resamples: int = 10_000, seed: int = 0, **how: Any
) -> Agreement:
    """Return `agreement` with intervals."""
    return agreement(judgments, n_resamples=n_resamples, seed=seed, **how)


def alpha_interval(judgments: Judgments, *, n_resamples: int = 10_000, seed: int = 0, **how: Any) -> Interval:
    """Return alpha with its interval, whatever round the answers are of."""
    return interval_of(code_votes(judgments, with_weights=True, **how), "alpha", n_resamples, seed=seed)
