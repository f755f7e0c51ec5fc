"""What a report says, as numbers and tables of text; its template puts them into sentences."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.agreement.summary import AgreementSummary
from fire_toolkit.measures import parse_measure
from fire_toolkit.reporting.page import Table
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.results import Found
from fire_toolkit.scoring.drawn import augmented_cell, bounds_cell, score_cells
from fire_toolkit.tables import Qrels, Scores

HOLDS = 0.95  # the share of resamples in which two labellings must order two runs differently
UNKNOWN, NOT_POOLED = "†", "‡"  # marks of cells
Facts = dict[str, Any]


def outcome(honest: pd.DataFrame, original: Qrels, augmented: Qrels) -> Facts:
    """Return how many pairs there are, and what became of the original positives; honest: honest rows."""
    names = ("n_queries", "confirmed", "rejected", "never_judged", "new", "policy")
    sizes = {"original": len(original), "augmented": len(augmented)}
    by_query = {
        f"{name}_by_query": float((qrels["relevance"] >= 1).sum() / max(qrels["query_id"].nunique(), 1))
        for name, qrels in (("original", original), ("augmented", augmented))
    }
    return {**{name: honest[name].iloc[0] for name in names}, **sizes, **by_query}


def headline(told: Facts, scores: pd.DataFrame, orders: Found | None) -> list[str]:
    """Return three sentences: right answers that counted as wrong, how far scores were off, who swaps.

    Points are those of the first measure that is a share; what is to be bold stands between asterisks.

    Args:
        told: what `outcome` returns.
        scores: honest rows as `first_of` returns them.
        orders: of `compare_orders`; None for a single run.
    """
    shares = [name for name in dict.fromkeys(scores["measure"]) if points(name) == 100]
    facts: Facts = {"outcome": told, "measure": "", "runs": scores["run_id"].nunique()}
    if shares:
        gains = 100 * scores.loc[scores["measure"] == shares[0], "delta"]
        swaps = [] if orders is None else _swaps(orders)
        elsewhere = dict.fromkeys(each["measure"] for each in swaps if each["measure"] != shares[0])
        facts |= {"measure": shares[0], "low": round(gains.min()), "high": round(gains.max())}
        own = [each for each in swaps if each["measure"] == shares[0]]
        facts |= {"swaps": own, "elsewhere": list(elsewhere)}
    return rendered("reporting", "data/headline.txt", **facts).splitlines()


def _swaps(orders: Found) -> list[Facts]:
    """Return every two runs that change places, and whether that is more than chance."""
    rows = orders.swaps[orders.swaps["swapped"].astype(bool)].to_dict("records")
    return [
        {name: row[name] for name in ("measure", "run_a", "run_b", "p_swap")}
        | {"holds": row["p_swap"] >= HOLDS}
        for row in rows
    ]


def orders(found: Found) -> Facts:
    """Return which runs change places, and what is said of it."""
    return {"swaps": _swaps(found), "notes": list(map(str, found.notes))}


def score_table(scores: pd.DataFrame, *, is_known: bool) -> Facts:
    """Return every run's scores in FIRE's form with their intervals, and what cannot be trusted marked.

    Args:
        scores: as in `headline`.
        is_known: whether the design tells how many positives were never judged.

    Returns:
        measures; runs: run_id and its cells, each with value, interval and mark; marks: those that are used.
    """
    measures = list(dict.fromkeys(scores["measure"]))
    is_off = {name: parse_measure(name).definition.over_positives and not is_known for name in measures}
    first = scores[scores["measure"] == measures[0]].sort_values("augmented", ascending=False, kind="stable")
    rows: dict[str, Facts] = {run_id: {} for run_id in first["run_id"]}
    for row in scores.to_dict("records"):
        scale, name = points(row["measure"]), row["measure"]
        mark = (UNKNOWN if is_off[name] else "") + (NOT_POOLED if row["pooled"] == "no" else "")
        rows[row["run_id"]][name] = {
            "value": augmented_cell(*(scale * row[each] for each in ("augmented", "original", "delta"))),
            "interval": limits(scale * row["low"], scale * row["high"]) or "not known",
            "mark": mark,
        }
    used = {mark for cells in rows.values() for cell in cells.values() for mark in cell["mark"]}
    marks = {"unknown": UNKNOWN in used, "not_pooled": NOT_POOLED in used}
    return {"measures": measures, "rows": rows, "is_corrected": "labelled" in scores, **marks}


def uncertainty_table(scores: pd.DataFrame) -> Table:
    """Return every score with its interval, its bounds, the judged share, and what else is known of it."""
    first = "corrected or augmented" if "labelled" in scores else "augmented"
    columns = ["run", "measure", f"{first} (original + gain)", "95%", "95% of the gain"]
    columns += ["if unjudged docs were wrong, right", "judged"]
    columns += [
        words for name, words in (("labelled", "as labelled"), ("estimate", "estimate")) if name in scores
    ]
    rows = [[row["run_id"], row["measure"], *_cells(row)] for row in scores.to_dict("records")]
    return Table("Scores with their uncertainty; shares times 100", columns, rows)


def _cells(row: Mapping[Hashable, Any]) -> list[str]:
    scale = points(row["measure"])
    cells = [
        augmented_cell(*(scale * row[name] for name in ("augmented", "original", "delta"))),
        limits(scale * row["low"], scale * row["high"]) or "not known",
        limits(scale * row["delta_low"], scale * row["delta_high"]) or "not known",
        bounds_cell(scale * row["lower"], scale * row["upper"]),
        f"{100 * row['judged']:.0f}%",
    ]
    if "labelled" in row:
        cells.append(f"{scale * row['labelled']:.1f}" if row["labelled"] == row["labelled"] else "same")
    if "estimate" in row:
        interval = limits(scale * row["estimate_low"], scale * row["estimate_high"])
        is_known = row["estimate"] == row["estimate"]
        method = str(row["estimate_method"])
        cells.append(f"{scale * row['estimate']:.1f} ({interval}), {method}" if is_known else method)
    return cells


def usable_table(scores: Scores) -> Table:
    """Return the scores over the usable queries alone."""
    rows, measures = [], list(dict.fromkeys(scores["measure"]))
    for run_id, own in scores.groupby("run_id", sort=False):
        values = {
            name: dict(zip(of["qrels"], of["value"], strict=True)) for name, of in own.groupby("measure")
        }
        rows.append([str(run_id), *(score_cells([values[name]], name)[0] for name in measures)])
    caption = "Usable queries alone: augmented (original + gain); shares times 100"
    return Table(caption, ["run", *measures], rows)


def differences(table: pd.DataFrame, notes: Sequence[object]) -> Facts:
    """Return how many differences hold at 5% after Holm's correction, and by themselves."""
    found = table[table["qrels"] != "delta"]
    counts = {
        name: int((found[column] < 0.05).sum()) for name, column in (("holding", "p_holm"), ("alone", "p"))
    }
    said = [
        text for text in map(str, notes) if " fed the pool and " not in text
    ]  # which a mark of the scores says
    return {"n": len(found), **counts, "notes": said}


def annotators(table: pd.DataFrame, two: pd.DataFrame) -> Facts:
    """Return each annotator beside the others, and how often every two agree, as tables."""
    columns = {"positive_rate": ".1%", "misses": ".1%", "false_alarms": ".1%", "seconds": ".1f"}
    rows = [
        [row["annotator_id"], f"{row['n_votes']:,}", f"{row['n_shared']:,}"]
        + ["" if row[name] != row[name] else f"{row[name]:{digits}}" for name, digits in columns.items()]
        for row in table.to_dict("records")
    ]
    heads = ["annotator", "votes", "shared", "positive", "misses", "false alarms", "median s"]
    names = [name for name in table["annotator_id"] if name in {*two["a"], *two["b"]}]
    cells = {(row["a"], row["b"]): row for row in two.to_dict("records")}
    grid = [[name, *(_agreed(cells.get((name, other)) or cells.get((other, name))) for other in names)]
            for name in names]  # fmt: skip
    caption = "How often two agree (pairs that both judged)"
    short = [name.removeprefix("annotator ") for name in names]
    return {
        "table": Table("Each annotator beside the others", heads, rows),
        "two": Table(caption, ["", *short], grid) if grid else None,
    }


def _agreed(row: Mapping[Hashable, Any] | None) -> str:
    return "" if row is None else f"{row['agreement']:.0%} ({row['n_shared']:,})"


def agreement(summary: AgreementSummary) -> Facts:
    """Return the statistics of agreement with their intervals, and what is said of them."""
    rows = [
        [_named(row), f"{row['value']:.3f}", limits(row["low"], row["high"], 3)]
        for row in summary.table.to_dict("records")
    ]
    said = [*summary.table["note"], *summary.table["interval_note"]]
    return {
        "table": Table("Agreement of first answers, with 95% intervals", ["statistic", "value", "95%"], rows),
        "votes": ", ".join(f"{n:,} with {k}" for k, n in enumerate(summary.n_pairs_by_votes) if n and k),
        "alpha": next((row for row in rows if row[0].startswith("alpha")), None),
        "notes": [note for note in dict.fromkeys(said) if note],
    }


def _named(row: Mapping[Hashable, Any]) -> str:
    """Return a statistic in words, with the level of alpha where that is not nominal."""
    has_level = row["statistic"] == "alpha" and row["level"] != "nominal"
    return str(row["statistic"]).replace("_", " ") + (f" ({row['level']})" if has_level else "")


def points(measure: str) -> int:
    """Return what a measure's values are times in a report: shares are times 100."""
    return 100 if parse_measure(measure).definition.unit == "share" else 1


def limits(low: float, high: float, digits: int = 1) -> str:
    """Return an interval as text; empty where it is not known."""
    return "" if low != low else f"{low:.{digits}f} to {high:.{digits}f}"
