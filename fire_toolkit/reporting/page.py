"""The report as one HTML file: a study and its figures, which a template puts into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.reporting.figures import Figure
from fire_toolkit.reporting.methods import methods_paragraphs
from fire_toolkit.reporting.plots import VERDICTS, drawn_differences, plot_orders, points
from fire_toolkit.reporting.study import Study
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.results import Found

_TAIL = 0.025  # the chance of another order, up to which a 95% interval leaves 0 out
_PAIR = ["measure", "run_a", "run_b"]


def render_page(study: Study, figures: Mapping[str, Figure], *, title: str, subtitle: str) -> str:
    """Return the report as one HTML file that asks for nothing outside itself.

    Every text stands in it as text, whatever it holds, and none names an annotator or a folder of this
    machine. Vega, Vega-Lite and Vega-Embed are within (BSD-3-Clause).
    """
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
        points=points,
        bundle=bundle.read_text(encoding="utf-8"),
    )


def headline_of(study: Study) -> list[str]:
    """Return the three sentences of a study, see `headline`."""
    several = len(study.runs) > 1
    return headline(study.outcome, study.scores, swaps(study.orders, study.differences[0]) if several else [])


def headline(
    outcome: Mapping[str, Any], scores: pd.DataFrame, changes: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return three sentences: right answers that counted as wrong, how far scores were off, who swaps.

    Points are those of the first measure that is a share; what is to be bold stands between asterisks.

    Args:
        outcome: new, n_queries.
        scores: honest rows as `first_of` returns them.
        changes: of places, as `swaps` returns them.
    """
    shares = [name for name in dict.fromkeys(scores["measure"]) if points(name) == 100]
    facts: dict[str, Any] = {"outcome": outcome, "measure": "", "runs": scores["run_id"].nunique()}
    if shares:
        gains = 100 * scores.loc[scores["measure"] == shares[0], "delta"]
        facts |= {"measure": shares[0], "low": round(gains.min()), "high": round(gains.max())}
    return rendered("reporting", "data/headline.txt", swaps=changes, **facts).splitlines()


def swaps(orders: Found, differences: pd.DataFrame | None = None) -> list[dict[str, Any]]:
    """Return every two runs that change places, and whether that holds: is more than chance on both sides.

    Args:
        orders: of `compare_orders`, of two labellings.
        differences: of `score_differences`: a change holds where the intervals that a grid shows leave 0 out
            on either side; without, where those of the uncorrected scores do.
    """
    rows = orders.swaps[orders.swaps["swapped"].astype(bool)]
    if differences is None:
        holds = (rows[["p_reversed_a", "p_reversed_b"]] <= _TAIL).all(axis=1)
    else:
        drawn = drawn_differences(differences)
        sides = np.sign(drawn["difference"]).where(drawn["verdict"] != VERDICTS[-1], 0)
        turned = sides.groupby([drawn[name] for name in _PAIR]).agg(["min", "max"])
        kept = turned.reindex(pd.MultiIndex.from_frame(rows[_PAIR]))
        holds = (kept["min"] < 0) & (kept["max"] > 0)
    found: Any = rows.assign(holds=holds.to_numpy()).to_dict("records")
    return list(found)
