"""A plan in words: the table for people, and three sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.planning.designs import POLICIES, deep_queries
from fire_toolkit.planning.outcomes import NOT_KNOWN
from fire_toolkit.planning.relevance import ASSUMED
from fire_toolkit.results import drawn_text
from fire_toolkit.words import n_of

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
        rows = own.to_dict("records")
        hours = "" if math.isnan(rows[0]["hours"]) else f"{rows[0]['hours']:,.0f}"
        cost = {"pool": rows[0]["design"], "votes": rows[0]["policy"], "queries": f"{rows[0]['n_queries']:,}"}
        cost |= {"judgments": f"{rows[0]['n_judgments']:,}", "hours": hours}
        errors = {f"{row['measure']} off by": _error(row) for row in rows}
        if every:
            told = {"off by": _error(rows[0]), "tells": _points(rows[0]["least_difference"])}
            errors = {name: rows[0][name] for name in ("measure", "estimate")} | told
        cells.append(cost | errors)
    cells = cells if every else cells[:MOST_ROWS]
    names = [name for name in cells[0] if any(row[name] for row in cells)]
    if len({row["queries"] for row in cells}) == 1:
        names.remove("queries")
    while sum(max(len(name) + 2, *(len(row[name]) for row in cells)) + 2 for name in names) - 2 > MOST_WIDTH:
        names.pop()
    return drawn_text([[row[name] for name in names] for row in cells], names, form)


def _error(row: Mapping[Any, Any]) -> str:
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
) -> Iterator[str]:
    """Yield three sentences: the cheapest design that does what is asked, its cost, and what it cannot tell.

    Args:
        candidates: the shown rows of each design from which every measure can be had.
        best: those of the cheapest one that does what is asked; none where none does.
        n_universe: queries that are planned for.
        n_pilot: judged pairs of the pilot; None: there is none.
        n_deep: queries of which the pilot judged every pair.
    """
    every = pd.concat(candidates)
    known = list(every.loc[every["estimate"] != NOT_KNOWN, "measure"].unique())
    unknown = [name for name in every["measure"].unique() if name not in known]
    if len(best):
        own = best
    elif every["chance_within"].notna().any():  # the design that comes nearest to what is asked
        own = max(candidates, key=lambda rows: float(rows["chance_within"].min()))
    else:
        own = min(candidates, key=lambda rows: float(rows["least_difference"].fillna(math.inf).max()))
    first = own.iloc[0]
    pool = first["design"].replace(" + ", " and ").replace(" deep", " queries deep")
    design = f"{pool} {POLICIES[first['policy']]}"
    if not known:
        said = f"the cheapest design for {_and(unknown)} is {design}"
    elif len(best):
        said = f"the cheapest design that {_asked(wish, known)} is {design}"
    else:
        said = f"no design here {_asked(wish, known)} for sure (95%); {design} comes nearest"
    if n_pilot is None:
        low, high = ASSUMED[0], ASSUMED[-1]
        said = f"if {low:.1f} to {high:.1f} positives a query are missing, as in other benchmarks, {said}"
    hours = "" if math.isnan(first["hours"]) else f", {n_of(round(first['hours']), 'hour')}"
    takes = f"it takes {n_of(int(first['n_judgments']), 'judgment')}{hours}"
    of = f"{n_of(int(first['n_pairs']), 'pair')} of {n_of(int(first['n_queries']), 'query')}"
    limits = [_untold(row) for row in own.to_dict("records") if row["measure"] in known[:1] and row["run_a"]]
    if unknown:
        be, it = ("is", "it") if len(unknown) == 1 else ("are", "them")
        need, by = deep_queries(n_universe), "before pairs are judged"
        by = by if n_pilot is None else f"from {n_of(n_pilot, 'pair')}"
        is_judged = f"not planned: {n_deep:,} queries were judged deep, so `score` estimates {it}"
        is_open = f"not known {by}; judge {n_of(need, 'query')} deep to know {it}"
        limits.append(f"{_and(unknown)} {be} {is_judged if n_deep >= need else is_open}")
    if n_pilot is None:
        limits.append("nothing was judged, so all of this rests on assumptions")
    for text in filter(None, (said, f"{takes}: {of}", "; ".join(limits))):
        yield f"{text[0].upper()}{text[1:]}."


def _asked(wish: Wish, known: list[str]) -> str:
    """Return what is asked of the measures, in words."""
    parts = []
    if wish.tell is not None:
        parts.append(f"tells differences of {100 * wish.tell:g} points of {_and(known)}")
    if wish.within is not None:
        points = n_of(1, "point") if wish.within == 0.01 else f"{100 * wish.within:g} points"
        parts.append(f"gets every run's {_and(known)} right to {points}")
    return " and ".join(parts)


def _untold(row: Mapping[Any, Any]) -> str:
    """Return what differences between two runs stay untold."""
    both = f"{row['run_a']} and {row['run_b']}"
    if math.isnan(row["least_difference"]):
        return f"it cannot tell {both} apart, which differ on too few queries"
    least = _points(row["least_difference"])
    return f"it cannot tell differences of {row['measure']} below {least} points ({both})"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
