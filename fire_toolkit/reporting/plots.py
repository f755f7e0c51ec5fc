"""The plots, each a Vega-Lite spec made of a table that another function returns.

A spec holds its own data, so it can be drawn anywhere: Jupyter draws it by itself, `report html` puts it
into a page. Colours are of Okabe and Ito's palette, which people with colour blindness tell apart; no plot
says anything by colour alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MIME = "application/vnd.vegalite.v6+json"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A00")
_VERDICTS = ("p < .05 after Holm", "p < .05 alone", "not told apart")
_ROW_PX = 26  # height of a row of marks
_ONE_WHERE_EQUAL = ("overlap", "average_overlap", "RBO_ext")  # what is cut short has less for equal lists


class Plot(dict[str, Any]):
    """A Vega-Lite spec, which Jupyter draws."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MIME: dict(self), "text/plain": f"<Plot: {self.get('description', '')}>"}


def plot_scores(scores: pd.DataFrame, *, measures: Sequence[str] = ()) -> Plot:
    """Plot each run's score by the original and by the augmented qrels, with the interval of the latter.

    Args:
        scores: rows of `scores_with_uncertainty`: run_id, measure, original, augmented, low, high.
        measures: which are shown, one at a time by a menu; () takes all.

    Raises:
        UsageError: the table has no row for a measure.

    Examples:
        >>> row = {"run_id": "clip", "measure": "C@1", "original": .4, "augmented": .6, "low": .5, "high": .7}
        >>> plot_scores(pd.DataFrame([row]))["layer"][0]["mark"]["type"]
        'rule'
    """
    columns = ["run_id", "measure", "original", "augmented", "low", "high"]
    kept, menu = _of_measures(scores, measures)
    order = list(dict.fromkeys(kept["run_id"]))
    y = {"field": "run_id", "type": "nominal", "title": None, "scale": {"domain": order}}
    tooltip = [_tip(name) for name in columns]
    points = {
        "transform": [{"fold": ["original", "augmented"], "as": ["qrels", "score"]}],
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
        "encoding": {
            "x": {"field": "score", "type": "quantitative"},
            "color": {"field": "qrels", "type": "nominal", "title": "qrels", "scale": _scale(2)},
            "shape": {"field": "qrels", "type": "nominal", "title": "qrels"},
            "tooltip": tooltip,
        },
    }
    interval = {
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.6, "color": PALETTE[0]},
        "encoding": {"x": _number("low", "score"), "x2": {"field": "high"}, "tooltip": tooltip},
    }
    moved = {
        "mark": {"type": "rule", "strokeDash": [2, 3], "color": "gray"},
        "encoding": {"x": _number("original", "score"), "x2": {"field": "augmented"}},
    }
    return _spec(
        "Scores by the original and the augmented qrels, with 95% intervals",
        kept[columns],
        menu | {"encoding": {"y": y}, "layer": [interval, moved, points]},
        height=_ROW_PX * len(order) + 10,
    )


def plot_differences(differences: pd.DataFrame, *, measures: Sequence[str] = ()) -> Plot:
    """Plot the difference of every two runs with its interval, by whether it holds alone and after Holm.

    Args:
        differences: rows of `score_differences`: run_a, run_b, qrels, measure, difference, low, high, p_holm,
            which has no interval.
        measures: as in `plot_scores`.

    Raises:
        UsageError: as `plot_scores`.

    Examples:
        >>> row = {"run_a": "clip", "run_b": "ssb", "qrels": "original", "measure": "C@1", "difference": .1}
        >>> plot = plot_differences(pd.DataFrame([row | {"low": .02, "high": .2, "p_holm": .03}]))
        >>> plot["data"]["values"][0]["verdict"]
        'p < .05 after Holm'
    """
    is_apart = (differences["low"] > 0) | (differences["high"] < 0)
    table = differences.assign(
        pair=differences["run_a"] + " − " + differences["run_b"] + " (" + differences["qrels"] + ")",
        verdict=np.select([differences["p_holm"] < 0.05, is_apart], _VERDICTS[:2], _VERDICTS[2]),
    )
    kept, menu = _of_measures(table, measures)
    names = ["pair", "measure", "difference", "low", "high", "p_holm", "verdict"]
    order = list(dict.fromkeys(kept["pair"]))
    y = {"field": "pair", "type": "nominal", "title": None, "sort": order, "axis": {"labelLimit": 240}}
    tooltip = [_tip(name) for name in names]
    zero = {"mark": {"type": "rule", "color": "gray"}, "encoding": {"x": {"datum": 0}}}
    interval = {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"y": y, "x": _number("low", "difference"), "x2": {"field": "high"}, "tooltip": tooltip},
    }
    shapes = {"domain": list(_VERDICTS), "range": ["circle", "triangle", "cross"]}
    point = {
        "mark": {"type": "point", "size": 80, "filled": True},
        "encoding": {
            "y": y,
            "x": _number("difference", "difference"),
            "shape": {"field": "verdict", "type": "nominal", "title": None, "scale": shapes},
            "color": {
                "field": "verdict",
                "type": "nominal",
                "title": None,
                "scale": {"domain": shapes["domain"], "range": [PALETTE[0], PALETTE[2], PALETTE[1]]},
            },
            "tooltip": tooltip,
        },
    }
    return _spec(
        "Differences between runs, with 95% intervals",
        kept[names],
        menu | {"layer": [zero, interval, point]},
        height=_ROW_PX * len(order) + 10,
    )


def plot_lengths(lengths: pd.DataFrame) -> Plot:
    """Plot each run's gain by the length of the caption, with its interval.

    Args:
        lengths: rows of `by_length`: from_chars, to_chars, run_id, measure, delta, low, high, n_queries.
            Rows without a run are left out; of several measures the first is shown.

    Examples:
        >>> row = {"from_chars": 10, "to_chars": 20, "run_id": "clip", "measure": "C@1", "delta": .1}
        >>> plot = plot_lengths(pd.DataFrame([row | {"low": .0, "high": .2, "n_queries": 8}]))
        >>> plot["data"]["values"][0]["bin"]
        '10–19'
    """
    runs = lengths[lengths["run_id"] != ""]
    kept = runs[runs["measure"] == runs["measure"].iloc[0]] if len(runs) else runs
    kept = kept.assign(bin=kept["from_chars"].astype(str) + "–" + (kept["to_chars"] - 1).astype(str))
    measure = kept["measure"].iloc[0] if len(kept) else ""
    bins = list(dict.fromkeys(kept["bin"]))
    x = {"field": "bin", "type": "ordinal", "scale": {"domain": bins},
         "title": "characters in the caption", "axis": {"labelAngle": 0}}  # fmt: skip
    names = ["bin", "run_id", "delta", "low", "high", "n_queries"]
    title = f"gain in {measure}"
    spread = {
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {
            "y": _number("low", title),
            "y2": {"field": "high"},
            "color": _colour_of_run(kept) | {"legend": None},
        },
    }
    shared = {"x": x, "tooltip": [_tip(name) for name in names], "xOffset": {"field": "run_id"}}
    return _spec(
        f"Gain in {measure} by the length of the caption",
        kept[names],
        {"encoding": shared, "layer": [spread, _lines_by_run(kept, _number("delta", title))]},
        height=240,
    )


def plot_overlap(comparisons: pd.DataFrame, *, measure: str = "") -> Plot:
    """Plot how alike the lists of every two runs are, as a grid.

    Args:
        comparisons: rows of `compare_runs`: run_a, run_b, measure, value in [0, 1].
        measure: which of them; "" takes the first. A run beside itself is shown where equal lists have 1.

    Raises:
        UsageError: no row has the measure.

    Examples:
        >>> row = {"run_a": "clip", "run_b": "ssb", "measure": "overlap@10", "value": .25}
        >>> [cell["value"] for cell in plot_overlap(pd.DataFrame([row]))["data"]["values"]]
        [0.25, 0.25, 1.0, 1.0]
    """
    measure = measure or str(next(iter(comparisons["measure"]), ""))
    kept = comparisons[comparisons["measure"] == measure]
    if not len(kept):
        raise UsageError(f"the comparisons have no measure {measure!r}")
    swapped = kept.assign(run_a=kept["run_b"], run_b=kept["run_a"])
    runs = list(dict.fromkeys([*kept["run_a"], *kept["run_b"]]))
    own = pd.DataFrame({"run_a": runs, "run_b": runs, "value": 1.0})
    alike = [kept, swapped, own] if measure.startswith(_ONE_WHERE_EQUAL) else [kept, swapped]
    table = pd.concat(alike)[["run_a", "run_b", "value"]]
    x, y = ({"field": name, "type": "nominal", "title": None, "sort": runs} for name in ("run_a", "run_b"))
    tooltip = [_tip(name) for name in ("run_a", "run_b", "value")]
    colour = {"field": "value", "type": "quantitative", "title": measure,
              "scale": {"domain": [0, 1], "scheme": "blues"}}  # fmt: skip
    text_colour = {"condition": {"test": "datum.value > 0.72", "value": "white"}, "value": "black"}
    text = {"text": {"field": "value", "type": "quantitative", "format": ".2f"}, "color": text_colour}
    return _spec(
        f"{measure} of every two runs",
        table,
        {
            "encoding": {"x": x, "y": y, "tooltip": tooltip},
            "layer": [
                {"mark": "rect", "encoding": {"color": colour}},
                {"mark": "text", "encoding": text},
            ],
        },
        height=44 * len(runs),
    )


def plot_judged(scores: pd.DataFrame) -> Plot:
    """Plot the judged share of each run's top docs by the depth.

    Args:
        scores: rows with run_id and measure `Judged@k`, value in [0, 1], as `score_runs` returns them for
            all queries; rows of other measures are left out.

    Examples:
        >>> rows = pd.DataFrame({"run_id": "clip", "measure": ["Judged@2", "AP"], "value": [.5, .3]})
        >>> plot_judged(rows)["data"]["values"]
        [{'run_id': 'clip', 'depth': 2, 'value': 0.5}]
    """
    depth = scores["measure"].str.extract(r"^Judged@(\d+)$")[0]
    kept = scores[depth.notna()].assign(depth=depth[depth.notna()].astype(int))
    names = ["run_id", "depth", "value"]
    x = {"field": "depth", "type": "ordinal", "title": "rank", "axis": {"labelAngle": 0}}
    y = _number("value", "judged share of the top") | {"scale": {"domain": [0, 1]}}
    tooltip = [_tip(name) for name in names]
    return _spec(
        "Judged share of each run's top docs",
        kept[names],
        {"encoding": {"x": x, "tooltip": tooltip}, **_lines_by_run(kept, y)},
        height=220,
    )


def plot_orders(places: pd.DataFrame, *, measures: Sequence[str] = ()) -> Plot:
    """Plot the place of each run under each labelling.

    Args:
        places: rows of `compare_orders(...).scores`: labelling, measure, run_id, value, place (1 is best).
        measures: as in `plot_scores`.

    Raises:
        UsageError: as `plot_scores`.

    Examples:
        >>> row = {"labelling": "original", "measure": "C@1", "run_id": "clip", "value": .5, "place": 1}
        >>> plot_orders(pd.DataFrame([row]))["data"]["values"][0]["place"]
        1
    """
    kept, menu = _of_measures(places, measures)
    names = ["labelling", "measure", "run_id", "value", "place"]
    x = {"field": "labelling", "type": "nominal", "title": None, "axis": {"labelAngle": 0},
         "sort": list(dict.fromkeys(kept["labelling"]))}  # fmt: skip
    y = _number("place", "place") | {"scale": {"reverse": True, "zero": False, "padding": 12}}
    y["axis"] = {"tickMinStep": 1, "format": "d"}
    tooltip = [_tip(name) for name in names]
    return _spec(
        "Place of each run under each labelling",
        kept[names],
        menu | {"encoding": {"x": x, "tooltip": tooltip}, **_lines_by_run(kept, y)},
        height=max(140, 30 * kept["run_id"].nunique()),
    )


def plot_annotators(profiles: pd.DataFrame) -> Plot:
    """Plot each annotator's share of positive votes beside the agreement with others.

    Args:
        profiles: rows of `annotator_profiles`: annotator_id, n_votes, positive_rate, peer_agreement,
            duration_s_q50; rows where one of the two shares is nan are left out.

    Examples:
        >>> row = {"annotator_id": "ann", "n_votes": 9, "positive_rate": .2, "peer_agreement": .9}
        >>> plot_annotators(pd.DataFrame([row | {"duration_s_q50": 3.0}]))["description"]
        'Annotators: share of positive votes and agreement with others'
    """
    names = ["annotator_id", "n_votes", "positive_rate", "peer_agreement", "duration_s_q50"]
    kept = profiles.dropna(subset=["positive_rate", "peer_agreement"])[names]
    x = _number("positive_rate", "share of positive votes") | _near(kept["positive_rate"])
    y = _number("peer_agreement", "agreement with others") | _near(kept["peer_agreement"])
    size = {"field": "n_votes", "type": "quantitative", "title": "votes"}
    tooltip = [_tip(name) for name in names]
    text = {"mark": {"type": "text", "dy": -14}, "encoding": {"text": {"field": "annotator_id"}}}
    point = {
        "mark": {"type": "point", "filled": True, "color": PALETTE[0]},
        "encoding": {"size": size, "tooltip": tooltip},
    }
    return _spec(
        "Annotators: share of positive votes and agreement with others",
        kept,
        {"encoding": {"x": x, "y": y}, "layer": [point, text]},
        height=240,
    )


def _near(shares: pd.Series) -> dict[str, Any]:
    """Return a scale around some shares that is never so narrow that chance looks like a difference."""
    if shares.empty:
        return {"scale": {"domain": [0, 1]}}
    low, high = float(shares.min()), float(shares.max())
    room = max(0.02, (high - low) / 10, 0.05 - (high - low) / 2)
    return {"scale": {"domain": [round(max(0.0, low - room), 3), round(min(1.0, high + room), 3)]}}


def _of_measures(table: pd.DataFrame, measures: Sequence[str]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of some measures, and the menu that shows one of them at a time, under its name."""
    names = list(measures or dict.fromkeys(table["measure"]))
    kept = table[table["measure"].isin(names)]
    missing = [name for name in names if name not in set(kept["measure"])]
    if missing or not names:
        raise UsageError(f"the table has no row for the measure {(missing or ['at all'])[0]}")
    if len(names) == 1:
        return kept, {"title": _title(names[0])}
    menu = {"input": "select", "options": names, "name": "measure "}
    shown = {"name": "shown", "value": names[0], "bind": menu}
    chosen = {"params": [shown], "transform": [{"filter": "datum.measure === shown"}]}
    return kept, chosen | {"title": _title({"expr": "shown"})}


def _title(text: str | dict[str, str]) -> dict[str, Any]:
    return {"text": text, "anchor": "start", "fontSize": 12}


def _number(name: str, title: str) -> dict[str, Any]:
    return {"field": name, "type": "quantitative", "title": title, "scale": {"zero": False}}


def _tip(name: str) -> dict[str, str]:
    numeric = {"original", "augmented", "low", "high", "difference", "delta", "value", "p_holm",
               "positive_rate", "peer_agreement"}  # fmt: skip
    form = {"type": "quantitative", "format": ".4f"} if name in numeric else {}
    return {"field": name, "title": name.replace("_", " "), **form}


def _colour_of_run(table: pd.DataFrame) -> dict[str, Any]:
    scale = {**_scale(table["run_id"].nunique()), "domain": list(dict.fromkeys(table["run_id"]))}
    return {"field": "run_id", "type": "nominal", "title": "run", "scale": scale}


def _lines_by_run(table: pd.DataFrame, y: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line for each run and its points, which have a shape for each run."""
    colour = _colour_of_run(table)
    point = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    shape = colour | {"scale": {"domain": colour["scale"]["domain"]}}
    return {
        "layer": [
            {"mark": "line", "encoding": {"y": y, "color": colour | {"legend": None}}},
            {"mark": point, "encoding": {"y": y, "color": colour, "shape": shape}},
        ],
        "resolve": {"legend": {"color": "independent", "shape": "independent"}},
    }


def _scale(n: int) -> Mapping[str, Any]:
    """Return a scale of colours: the palette, or a longer scheme where it does not suffice."""
    return {"range": list(PALETTE)} if n <= len(PALETTE) else {"scheme": "tableau20"}


def _spec(description: str, table: pd.DataFrame, drawing: Mapping[str, Any], *, height: int) -> Plot:
    """Return a spec with its data; nan is null, which Vega-Lite leaves out."""
    values = json.loads(table.to_json(orient="records", double_precision=10))
    return Plot(
        {
            "$schema": SCHEMA,
            "description": description,
            "data": {"values": values},
            "width": "container",
            "height": height,
            "config": {"legend": {"orient": "bottom", "columns": 3}},
            **drawing,
        }
    )
