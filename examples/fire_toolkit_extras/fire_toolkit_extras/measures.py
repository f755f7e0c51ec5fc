"""Two measures of what a searcher sees first: a screen of five docs."""

from dataclasses import replace

import numpy as np

from fire_toolkit.measures import Definition, JudgedRanking

SIZE = 5


def share_of_screen(ranking: JudgedRanking) -> np.ndarray:
    """Return the number of positives among the first five docs of each query, divided by five."""
    shown = ranking.found.query[ranking.found.rank <= SIZE]
    return np.bincount(shown, minlength=ranking.n_queries) / SIZE


def has_hit(ranking: JudgedRanking) -> np.ndarray:
    """Return 1 for each query with a positive among its first five docs, else 0."""
    return (ranking.first_positive <= SIZE).astype(np.float64)


SCREEN = Definition(
    name="Screen",
    summary="The share of the first screen, five docs, that is relevant.",
    source="An example; equals P@5.",
    convention="Divided by 5, also where fewer docs were retrieved.",
    per_query=share_of_screen,
    reads=SIZE,
    is_precision=True,  # so that errors of votes can be corrected for
    bounds="monotone",  # a further positive can only raise it
)
SCREEN_HIT = replace(
    SCREEN,
    name="ScreenHit",
    summary="1 if a positive stands on the first screen, five docs, else 0.",
    source="An example; equals C@5.",
    convention="0 for a query without a positive.",
    per_query=has_hit,
    is_precision=False,
    is_binary=True,  # so that intervals are exact
    by_first_positive=True,  # so that only docs above the first positive can move it
)
