"""A plan in words: the table for people, and three sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.planning.designs import deep_queries
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.outcomes import CORRECTED, NOT_KNOWN
from fire_toolkit.planning.relevance import ASSUMED
from fire_toolkit.results import drawn_text
from fire_toolkit.words import n_of

MOST_ROWS, MOST_WIDTH = 6, 100
_KEYS = ["design", "policy"]


class Wish(NamedTuple):
    """What is asked of every measure, in its own unit: a true difference between any two runs that is told;
    how far each run's score may be off."""

    tell: float | None = None
    within: float | None = None


def shown_rows(designs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the estimate that `score` shows first: corrected where there is such a one."""
    keys = [*_KEYS, "measure"]
    is_corrected = (designs["estimate"] == CORRECTED).groupby([designs[key] for key in keys]).transform("any")
    return designs[~is_corrected | (designs["estimate"] == CORRECTED)]


def plan_cells(designs: pd.DataFrame, *, every: bool = False) -> list[dict[str, str]]:
    """Return rows of text: one for each design, six at most; of every estimate where that is asked.

    Columns that would make the table wider than 100 characters are left out, the last first.
    """
    rows = []
    if every:
        for row in designs.to_dict("records"):
            cells = _cost(row) | {"measure": row["measure"], "estimate": row["estimate"]}
            rows.append(cells | {"off by": _error(row), "tells": _points(row["least_difference"])})
    else:
        for _, own in shown_rows(designs).groupby(_KEYS, sort=False):
            own_rows = own.to_dict("records")
            errors = {f"{row['measure']} off by": _error(row) for row in own_rows}
            rows.append(_cost(own_rows[0]) | errors)
        rows = rows[:MOST_ROWS]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    if len({row["queries"] for row in rows}) == 1:
        names.remove("queries")
    while sum(max(len(name) + 2, *(len(row[name]) for row in rows)) + 2 for name in names) - 2 > MOST_WIDTH:
        names.pop()
    return [{name: row[name] for name in names} for row in rows]


def plan_text(designs: pd.DataFrame, form: str, *, every: bool = False) -> str:
    """Return the rows of `plan_cells` as text, in one of the forms that are drawn."""
    rows = plan_cells(designs, every=every)
    return drawn_text([list(row.values()) for row in rows], list(rows[0]), form)


def judgments_of(budget: str | None, seconds: float) -> float | None:
    """Return a budget in judgments; None where there is none.

    Args:
        budget: judgments, or hours of them, as in `80h`.
        seconds: that one judgment takes; nan where nobody knows.

    Raises:
        UsageError: it is neither, or hours are given and nobody knows how long a judgment takes.
    """
    if budget is None:
        return None
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


def _cost(row: Mapping[Any, Any]) -> dict[str, str]:
    return {
        "pool": row["design"],
        "votes": row["policy"],
        "queries": f"{row['n_queries']:,}",
        "judgments": f"{row['n_judgments']:,}",
        "hours": "" if math.isnan(row["hours"]) else f"{row['hours']:,.0f}",
    }


def _error(row: Mapping[Any, Any]) -> str:
    """Return points: + mostly too high, − too low, ± by chance; in brackets what a pilot leaves open."""
    if row["estimate"] == NOT_KNOWN:
        return ""
    limits = _points(row["error_low"]), _points(row["error_high"])
    if math.isnan(row["error"]):
        return limits[0] if limits[0] == limits[1] else " to ".join(limits)
    by_chance = row["error"] ** 2 > 2 * row["bias"] ** 2
    sign = "±" if by_chance else "+" if row["bias"] > 0 else "−"
    return f"{sign}{_points(row['error'])} [{limits[0]}, {limits[1]}]"


def _points(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f}"


def sentences(
    candidates: pd.DataFrame,
    best: pd.DataFrame,
    wish: Wish,
    *,
    lists: Lists,
    n_pilot: int | None,
    n_deep: int,
) -> Iterator[str]:
    """Yield three sentences: the cheapest design that does what is asked, its cost, and what it cannot tell.

    Args:
        candidates: rows of the designs from which every measure can be had.
        best: those of the cheapest one that does what is asked; none where none does.
        n_pilot: judged pairs of the pilot; None: there is none.
        n_deep: queries of which the pilot judged every pair.
    """
    is_known = candidates["estimate"] != NOT_KNOWN
    known = [str(each) for each in candidates.loc[is_known, "measure"].unique()]
    unknown = [str(each) for each in candidates["measure"].unique() if each not in known]
    own = best if len(best) else _nearest(candidates)
    first = own.iloc[0]
    pool = str(first["design"]).replace(" + ", " and ").replace(" deep", " queries deep")
    name = f"{pool} {_VOTES[first['policy']]}"
    by = f"if {ASSUMED[0]:.1f} to {ASSUMED[-1]:.1f} positives a query are missing, as in other benchmarks, "
    if not known:
        said = f"the cheapest design for {_and(unknown)} is {name}"
    elif len(best):
        said = f"the cheapest design that {_asked(wish, known)} is {name}"
    else:
        said = f"no design here {_asked(wish, known)} for sure (95%); {name} comes nearest"
    yield _capital(said if n_pilot is not None else by + said) + "."
    hours = "" if math.isnan(first["hours"]) else f", {first['hours']:,.0f} hours"
    of = f"{n_of(int(first['n_pairs']), 'pair')} of {n_of(int(first['n_queries']), 'query')}"
    yield f"It takes {n_of(int(first['n_judgments']), 'judgment')}{hours}: {of}."
    limits = [*_undetectable(own, known), *_not_known(unknown, lists, n_pilot, n_deep)]
    if n_pilot is None:
        limits.append("nothing was judged, so all of this rests on assumptions")
    if limits:
        yield _capital("; ".join(limits)) + "."


_VOTES = {
    "one": "with one vote a pair",
    "verify": "with each positive verified",
    "until-confirmed": "with positives verified until one is confirmed",
    "doubled": "with two votes a pair",
}


def _nearest(candidates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the design that comes nearest to what is asked."""
    parts = [part for _, part in candidates.groupby(_KEYS, sort=False)]
    if candidates["chance_within"].notna().any():
        return max(parts, key=lambda part: float(part["chance_within"].min()))
    return min(parts, key=lambda part: float(part["least_difference"].fillna(math.inf).max()))


def _asked(wish: Wish, known: list[str]) -> str:
    parts = []
    if wish.tell is not None:
        parts.append(f"tells differences of {100 * wish.tell:g} points of {_and(known)}")
    if wish.within is not None:
        what = f"{100 * wish.within:g} point" + ("" if wish.within == 0.01 else "s")
        parts.append(f"gets every run's {_and(known)} right to {what}")
    return " and ".join(parts)


def _undetectable(own: pd.DataFrame, known: list[str]) -> Iterator[str]:
    """Yield what differences of the first measure stay untold."""
    rows = own[(own["measure"].isin(known[:1])) & (own["run_a"] != "")]
    for row in rows.to_dict("records"):
        both = f"{row['run_a']} and {row['run_b']}"
        if math.isnan(row["least_difference"]):
            yield f"it cannot tell {both} apart, which differ on too few queries"
        else:
            least = _points(row["least_difference"])
            yield f"it cannot tell differences of {row['measure']} below {least} points ({both})"


def _not_known(unknown: list[str], lists: Lists, n_pilot: int | None, n_deep: int) -> Iterator[str]:
    if not unknown:
        return
    be = "is" if len(unknown) == 1 else "are"
    it = "it" if len(unknown) == 1 else "them"
    need = deep_queries(lists.n_universe)
    if n_deep >= need:
        judged = f"{n_deep:,} queries were judged deep"
        yield f"{_and(unknown)} {be} not planned: {judged}, so `score` estimates {it}"
        return
    by = "before pairs are judged" if n_pilot is None else f"from {n_of(n_pilot, 'pair')}"
    yield f"{_and(unknown)} {be} not known {by}; judge {n_of(need, 'query')} deep to know {it}"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(text: str) -> str:
    """Return a sentence that begins with a large letter."""
    return text[0].upper() + text[1:]
