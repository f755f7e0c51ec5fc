"""A plan in words: the table for people, and three sentences."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.planning.designs import POLICIES, deep_queries
from fire_toolkit.planning.outcomes import NOT_KNOWN
from fire_toolkit.planning.relevance import ASSUMED
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.results import drawn_text

MOST_ROWS, MOST_WIDTH = 6, 100
SURE = 0.95
_KEYS = ["design", "policy"]


class Wish(NamedTuple):
    """What is asked of every measure, in its own unit: a true difference between any two runs that is told;
    how far each run's score may be off."""

    tell: float | None = None
    within: float | None = None

    def is_fulfilled(self, rows: pd.DataFrame) -> bool:
        """Return whether a design does what is asked of every measure that is known, by its shown rows."""
        known = rows[rows["estimate"] != NOT_KNOWN]
        is_told = self.tell is None or (known["least_difference"] <= self.tell).all()
        return bool(is_told and (self.within is None or (known["chance_within"] >= SURE).all()))


def shown_rows(designs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the estimate that `score` shows first: corrected where there is such a one."""
    return designs.drop_duplicates([*_KEYS, "measure"], keep="last")  # the corrected one is the last


def plan_text(designs: pd.DataFrame, form: str, *, every: bool = False) -> str:
    """Return a row for each design, six at most, in one of the forms that are drawn.

    every: a row of its own for every estimate, and what it tells. Columns that would make the table wider
    than 100 characters are left out, the last first.
    """
    cells: list[dict[str, str]] = []
    for _, own in designs.groupby(level=0) if every else shown_rows(designs).groupby(_KEYS, sort=False):
        first = own.iloc[0]
        hours = "" if math.isnan(first["hours"]) else f"{first['hours']:,.0f}"
        cost = {"pool": first["design"], "votes": first["policy"], "queries": f"{first['n_queries']:,}"}
        cost |= {"judgments": f"{first['n_judgments']:,}", "hours": hours}
        if every:
            errors = {"measure": first["measure"], "estimate": first["estimate"], "off by": _error(first)}
            errors |= {"tells": _points(first["least_difference"])}
        else:
            errors = {f"{row['measure']} off by": _error(row) for _, row in own.iterrows()}
        cells.append(cost | errors)
    cells = cells if every else cells[:MOST_ROWS]
    names = [name for name in cells[0] if any(row[name] for row in cells)]
    if len({row["queries"] for row in cells}) == 1:
        names.remove("queries")
    while sum(max(len(name) + 2, *(len(row[name]) for row in cells)) + 2 for name in names) - 2 > MOST_WIDTH:
        names.pop()
    return drawn_text([[row[name] for name in names] for row in cells], names, form)


def _error(row: pd.Series) -> str:
    """Return points: + mostly too high, − too low, ± by chance; in brackets what a pilot leaves open."""
    low, high = _points(row["error_low"]), _points(row["error_high"])
    if math.isnan(row["error"]):  # without a pilot, or where it is not known
        return low if low == high else f"{low} to {high}"
    by_chance = row["error"] ** 2 > 2 * row["bias"] ** 2
    sign = "±" if by_chance else "+" if row["bias"] > 0 else "−"
    return f"{sign}{_points(row['error'])} [{low}, {high}]"


def _points(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}"


def judgments_of(budget: str | None, seconds: float) -> float:
    """Return a budget in judgments; infinite where there is none.

    Args:
        budget: judgments, or hours of them, as in `80h`.
        seconds: that one judgment takes; nan where nobody knows.

    Raises:
        UsageError: it is neither, or hours are given and nobody knows how long a judgment takes.
    """
    if budget is None:
        return math.inf
    try:
        number = float(budget.removesuffix("h").replace(",", ""))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"--budget {budget}: expected judgments, as in 5000, or hours, as in 80h")
    if not budget.endswith("h"):
        return number
    if math.isnan(seconds):
        raise UsageError("a budget in hours needs the seconds that a judgment takes; give --seconds")
    return number * 3600 / seconds


def sentences(
    candidates: Sequence[pd.DataFrame],
    best: pd.DataFrame,
    wish: Wish,
    n_universe: int,
    *,
    n_pilot: int | None,
    n_deep: int,
) -> list[str]:
    """Return three sentences: the cheapest design that does what is asked, its cost, and what it cannot tell.

    Args:
        candidates: the shown rows of each design from which every measure can be had.
        best: those of the cheapest one that does what is asked; none where none does.
        n_universe: queries that are planned for.
        n_pilot: judged pairs of the pilot; None: there is none.
        n_deep: queries of which the pilot judged every pair.
    """
    every = pd.concat(candidates)
    known = list(every.loc[every["estimate"] != NOT_KNOWN, "measure"].unique())
    if len(best):
        own = best
    elif every["chance_within"].notna().any():  # the design that comes nearest to what is asked
        own = max(candidates, key=lambda rows: float(rows["chance_within"].min()))
    else:
        own = min(candidates, key=lambda rows: float(rows["least_difference"].fillna(math.inf).max()))
    rows = own.to_dict("records")
    text = rendered(
        "planning",
        "sentences.txt",
        wish=wish,
        known=known,
        unknown=[name for name in every["measure"].unique() if name not in known],
        is_best=len(best) > 0,
        first=rows[0],
        policy=POLICIES[rows[0]["policy"]],
        untold=next((row for row in rows if row["measure"] in known[:1] and row["run_a"]), None),
        assumed=f"{ASSUMED[0]:.1f} to {ASSUMED[-1]:.1f}",
        n_pilot=n_pilot,
        n_deep=n_deep,
        need=deep_queries(n_universe),
    )
    return [f"{line[0].upper()}{line[1:]}." for line in text.splitlines() if line]
