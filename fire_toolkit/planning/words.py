"""A plan in words and pictures: the table for people, sentences, a paper's paragraph, a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from fire_toolkit.planning.power import LEVEL, POWER
from fire_toolkit.planning.simulate import CORRECTED, DIFFERENCE, LABELLED
from fire_toolkit.planning.table import Wish

_POLICIES = {
    "one": "one vote on each pair",
    "verify": "one vote on each pair and a second on each positive, with a third where the two differ",
    "until-confirmed": "one vote on each pair, and a second on positives until one of each run and cutoff is "
    "confirmed, with a third where the two differ",
    "doubled": "two votes on each pair, with a third where they differ",
}
_HOW = {
    LABELLED: "",
    CORRECTED: ", corrected for errors of votes,",
    DIFFERENCE: ", estimated from the queries judged deep,",
}


def plan_cells(designs: pd.DataFrame) -> list[dict[str, str]]:
    """Return a row of text for each design, worlds side by side: low/middle/high.

    An error's sign says which way most of it goes: + too high, − too low, ± by chance alone. In brackets,
    what a pilot leaves open of its size.
    """
    rows = []
    keys = ["design", "policy"]
    for (design, policy), own in designs.groupby(keys, sort=False):
        row = {"pool": str(design), "votes": str(policy)}
        row |= {
            "queries": _across(own, "n_queries", "{:,.0f}"),
            "judgments": _across(own, "n_judgments", "{:,.0f}"),
            "hours": _across(own, "hours", "{:,.0f}"),
            "alpha ±": _across(own, "alpha_half_width", "{:.3f}"),
            "found": _across(own, "recall", "{:.0%}"),
        }
        first = str(own["measure"].iloc[0])
        for measure, part in own.groupby("measure", sort=False):
            is_corrected = part["estimate"] == CORRECTED
            row[str(measure)] = _errors(part[~is_corrected])
            row[f"{measure} corrected"] = _errors(part[is_corrected])
            if measure == first:
                row[f"tells {first}"] = "/".join(map(_points, part[~is_corrected]["least_difference"]))
        rows.append(row)
    return [{name: row[name] for name in row if any(each[name] for each in rows)} for row in rows]


def _errors(part: pd.DataFrame) -> str:
    return "/".join(map(_error, part.to_dict("records")))


def _across(own: pd.DataFrame, column: str, form: str) -> str:
    """Return a number of each world, once where it is the same in all."""
    values = own.groupby("world", sort=False)[column].first()
    shown = ["" if math.isnan(value) else form.format(value) for value in values]
    return shown[0] if len(set(shown)) == 1 else "/".join(shown)


def _error(row: dict[Any, Any]) -> str:
    by_chance = row["error"] ** 2 > 2 * row["bias"] ** 2
    sign = "±" if by_chance else "+" if row["bias"] > 0 else "−"
    is_open = not math.isnan(row["error_low"])
    by_pilot = f" [{_points(row['error_low'])}, {_points(row['error_high'])}]" if is_open else ""
    return f"{sign}{_points(row['error'])}{by_pilot}"


def _points(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


def sentences(designs: pd.DataFrame, best: pd.DataFrame, wish: Wish | None, first: str) -> Iterator[str]:
    """Yield what a plan comes to: for a wish the cheapest designs, else what no design tells.

    Args:
        designs, best: as `plan_designs` returns them.
        first: the measure spoken of where there is no wish.
    """
    for world, own in designs.groupby("world", sort=False):
        if wish is None:
            yield from _least_detectable(str(world), own.loc[own["measure"] == first])
            continue
        found = best[best["world"] == world]
        if found.empty:
            yield f"{world}: none of these designs {_wished(wish)}"
            yield from _least_detectable(str(world), own.loc[own["measure"] == wish.measure])
            continue
        row = found.iloc[0]
        hours = "" if math.isnan(row["hours"]) else f", {row['hours']:,.0f} hours"
        how = "" if row["estimate"] != CORRECTED else ", corrected for errors,"
        yield (
            f"{world}: {row['design']}, {row['policy']}, {row['n_queries']:,} queries{how} is the cheapest "
            f"that {_wished(wish)}: {row['n_judgments']:,} judgments{hours}"
        )
        if not math.isnan(row["least_difference"]):
            yield f"{world}: {_undetectable(row)} with this plan"


def _least_detectable(world: str, own: pd.DataFrame) -> Iterator[str]:
    plain = own[(own["estimate"] != CORRECTED) & (own["run_a"] != "")]
    detectable = plain.dropna(subset=["least_difference"])
    if len(plain) and detectable.empty:
        row = plain.iloc[0]
        yield (
            f"{world}: none of these designs tells a difference of {row['measure']} between {row['run_a']} "
            f"and {row['run_b']}, which differ on too few queries"
        )
    if len(detectable):
        row = detectable.iloc[int(detectable["least_difference"].to_numpy().argmin())]
        yield f"{world}: {_undetectable(row)} with any of these designs"


def _undetectable(row: Any) -> str:
    return (
        f"differences below {_points(row['least_difference'])} points of {row['measure']} cannot be told "
        f"(hardest pair: {row['run_a']} and {row['run_b']})"
    )


def _wished(wish: Wish) -> str:
    parts = []
    if wish.tell is not None:
        parts.append(f"tells differences of {100 * wish.tell:g} points of {wish.measure}")
    if wish.within is not None:
        parts.append(f"has every run's {wish.measure} within ±{100 * wish.within:g}")
    return " and ".join(parts)


def paragraph(row: Any, *, source: str, n_runs: int, depth: int, seed: int) -> str:
    """Return a design as a paragraph of LaTeX for a paper.

    Args:
        row: of the designs' table.
        source: what was assumed, or the pilot, in words.
        n_runs, depth: of the lists simulated on.
        seed: of the simulation.
    """
    error, bias = 100 * row["error"], 100 * row["bias"]
    least = row["least_difference"]
    detectable = "" if math.isnan(least) else (
        f" Between any two of the {n_runs} runs it tells a true difference of {100 * least:.1f} points of "
        f"{row['measure']} with a power of {POWER:g} at a level of {LEVEL:g} (two-sided, Holm-corrected)."
    )  # fmt: skip
    alpha = "" if math.isnan(row["alpha"]) else (
        f" {row['overlap']:.0%} of the pairs are judged by two people, for which we expect Krippendorff's "
        f"$\\alpha$ of {row['alpha']:.2f} $\\pm$ {row['alpha_half_width']:.3f}."
    )  # fmt: skip
    by = "to" if row["design"].startswith("depth") else "by"
    text = (
        f"We pool {n_runs} runs {by} {row['design']} for {row['n_queries']:,} queries "
        f"({row['n_pairs']:,} pairs, {row['n_judgments']:,} judgments), with {_POLICIES[row['policy']]}."
        f"{alpha} Simulated on the runs themselves to rank {depth} (seed {seed}), {source}, the pool holds "
        f"{row['recall']:.0%} of the positives, and {row['measure']}{_HOW[row['estimate']]} is expected to "
        f"be off by {error:.1f} points (root mean square over runs; bias {bias:+.1f}).{detectable}"
    )
    return text.replace("%", "\\%").replace("_", "\\_").replace("−", "$-$") + "\n"


def cost_plot(designs: pd.DataFrame) -> dict[str, Any]:
    """Return a Vega-Lite specification of cost against error: a panel for each measure."""
    is_plain = designs["estimate"] != CORRECTED
    names = designs["measure"].where(is_plain, designs["measure"] + " corrected")
    values = designs.assign(measure=names, points=(100 * designs["error"]).round(3))
    shown = ["world", "design", "policy", "n_queries", "n_judgments", "measure", "points"]
    log = {"type": "log", "nice": False}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": "Judgments that designs take, and the error of the scores that they give.",
        "data": {"values": values[shown].to_dict("records")},
        "facet": {"field": "measure", "type": "nominal", "title": None, "sort": None},
        "spec": {
            "mark": {"type": "point", "filled": True},
            "encoding": {
                "x": {"field": "n_judgments", "type": "quantitative", "scale": log, "title": "judgments"},
                "y": {"field": "points", "type": "quantitative", "title": "error (points)"},
                "color": {"field": "design", "type": "nominal", "title": "pool", "sort": None},
                "shape": {"field": "policy", "type": "nominal", "title": "votes", "sort": None},
                "opacity": {"field": "world", "type": "nominal", "title": "positives", "sort": None},
                "tooltip": [{"field": name} for name in shown],
            },
        },
    }
