"""The report as one HTML file: a study and its figures, which a template puts into words."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pandas as pd

from fire_toolkit.reporting.figures import Figure
from fire_toolkit.reporting.methods import methods_paragraphs
from fire_toolkit.reporting.plots import plot_orders, points
from fire_toolkit.reporting.study import Study
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.results import Found

_HOLDS = 0.95  # the share of resamples in which two labellings must order two runs differently
_LONGEST_FILE = 20_000  # characters of a manifest that are shown


def render_page(study: Study, figures: Mapping[str, Figure], *, title: str, subtitle: str) -> str:
    """Return the report as one HTML file that asks for nothing outside itself.

    Every text stands in it as text, whatever it holds, and none names an annotator or a folder of this
    machine. Vega, Vega-Lite and Vega-Embed are within (BSD-3-Clause).
    """
    manifests = {}
    for name, text in study.told.manifests.items():
        left = len(text) - _LONGEST_FILE
        manifests[name] = text[:_LONGEST_FILE] + (
            f"\n… {left:,} characters more in the file" if left > 0 else ""
        )
    bundle = files("fire_toolkit.reporting") / "data/vega-bundle.js"
    return rendered(
        "reporting",
        "data/report.html",
        title=title,
        subtitle=subtitle,
        study=study,
        figures=figures,
        headline=headline_of(study),
        swaps=swaps,
        plot_orders=plot_orders,
        methods=methods_paragraphs(study.told.facts),
        manifests=manifests,
        points=points,
        bundle=bundle.read_text(encoding="utf-8"),
    )


def headline_of(study: Study) -> list[str]:
    """Return the three sentences of a study, see `headline`."""
    return headline(study.outcome, study.scores, study.orders if len(study.runs) > 1 else None)


def headline(outcome: Mapping[str, Any], scores: pd.DataFrame, orders: Found | None) -> list[str]:
    """Return three sentences: right answers that counted as wrong, how far scores were off, who swaps.

    Points are those of the first measure that is a share; what is to be bold stands between asterisks.

    Args:
        outcome: new, n_queries.
        scores: honest rows as `first_of` returns them.
        orders: of `compare_orders`; None for a single run.
    """
    shares = [name for name in dict.fromkeys(scores["measure"]) if points(name) == 100]
    facts: dict[str, Any] = {"outcome": outcome, "measure": "", "runs": scores["run_id"].nunique()}
    if shares:
        gains = 100 * scores.loc[scores["measure"] == shares[0], "delta"]
        facts |= {"measure": shares[0], "low": round(gains.min()), "high": round(gains.max())}
        facts["swaps"] = [] if orders is None else swaps(orders)
    return rendered("reporting", "data/headline.txt", **facts).splitlines()


def swaps(orders: Found) -> list[dict[str, Any]]:
    """Return every two runs that change places, and whether that is more than chance."""
    rows = orders.swaps[orders.swaps["swapped"].astype(bool)]
    found: Any = rows.assign(holds=rows["p_swap"] >= _HOLDS).to_dict("records")
    return list(found)
