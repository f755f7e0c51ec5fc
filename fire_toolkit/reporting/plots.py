"""Plots as Vega-Lite specs: each a file in data/, filled with the table that it shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.measures import parse_measure
from fire_toolkit.words import text_in

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
MIME = "application/vnd.vegalite.v6+json"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A00")
VERDICTS = ("p < .05 after Holm", "p < .05 alone", "not told apart")
_ONE_WHERE_EQUAL = ("overlap", "average_overlap", "RBO_ext")  # what is cut short has less for equal lists
_MANY = 10  # runs, above which a grid shows whole points, and names that read alike are shortened
_LINE = 17  # characters of a name in one line, where there is little room; the last has up to 5 more
_LONG = 40  # characters of a name that are seen where there is room, without its number
_BROKEN = r"split(replace({}, /(.{{8,16}}[-_ .]|.{{17}})(?=.{{6}})/g, '$1\n'), '\n')"


class Plot(dict[str, Any]):
    """A Vega-Lite spec, which Jupyter draws."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MIME: dict(self), "text/plain": f"<Plot: {self.get('description', '')}>"}

    @property
    def table(self) -> pd.DataFrame:
        """The data of the plot."""
        return pd.DataFrame(self["data"]["values"])

    @property
    def packed(self) -> str:
        """The spec as JSON that can stand within a script of a page, with its data by columns.

        A column of texts holds these once in `of`, and their places in `at`, up to ten as one text. A number
        has five digits, and nan is null.
        """
        columns: dict[str, Any] = {}
        for name, values in self.table.items():
            if all(isinstance(value, str) for value in values):
                codes, texts = pd.factorize(values)
                at = "".join(map(str, codes)) if len(texts) <= 10 else codes.tolist()
                columns[str(name)] = {"of": texts.tolist(), "at": at}
            else:
                columns[str(name)] = [
                    None if each != each else json.loads(f"{each:.5g}") if isinstance(each, float) else each
                    for each in values.tolist()
                ]
        text = json.dumps({**self, "data": columns}, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def draw(name: str, table: pd.DataFrame) -> Plot:
    """Return the spec data/plot-NAME.json with its data: the columns that it names, nan as null.

    Of several measures a menu chooses one. A plot is as high as its rows ask for. What differs where there is
    little room stands in `usermeta`: names are broken into lines, and each entry of a legend has a line.
    """
    written = json.loads(text_in("reporting", f"data/plot-{name}.json"))
    spec = {"$schema": SCHEMA, **written, "width": "container"}
    table = table[spec.pop("columns")]
    spec["data"] = {"values": json.loads(table.to_json(orient="records", double_precision=15))}
    is_of_few = table["run_id"].nunique() <= len(PALETTE) if "run_id" in table else True
    colours = list(PALETTE) if is_of_few else {"scheme": "tableau20"}
    spec["config"] = {
        "range": {"category": colours},
        "legend": {"direction": "horizontal"},
        "view": {"stroke": None},
    }
    narrow: dict[str, Any] = {"config": {"legend": {"direction": "vertical"}}}
    spec["usermeta"] = {"narrow": narrow}
    if isinstance(rows := spec["height"], dict):
        y = spec["encoding"]["y"]
        names = list(dict.fromkeys(table[rows.get("of", y.get("field"))].astype(str)))
        short = [name if len(name) <= _LONG else f"{name[:20]}…{name[-19:]}" for name in names]
        is_short = len(names) > _MANY and _are_alike(names) and not _are_alike(short)
        labels = short if is_short else names  # of few names each has the lines that it needs
        two = sorted((-(-len(name) // _LINE) for name in labels), reverse=True)[:2]  # that may be neighbours
        for each, step in ((spec, rows["step"]), (narrow, max(rows["step"], 7 * sum(two) + 2))):
            each["height"] = max(rows.get("least", 0), step * (len(names) + rows.get("more", 0)))
        if "labelLimit" in (axis := y["axis"] or {}):
            if "of" in rows:
                axis |= {
                    "values": [*range(1, len(names) + 1)],
                    "labelExpr": f"{json.dumps(labels)}[datum.value - 1]",
                }
            elif is_short:
                axis["labelExpr"] = f"{json.dumps(dict(zip(names, short, strict=True)))}[datum.label]"
            lines = _BROKEN.format(axis.get("labelExpr", "datum.label"))
            offset = {"expr": f"-7 * (length({lines}) - 1)"}
            narrow["encoding"] = {"y": {"axis": {"labelExpr": lines, "labelOffset": offset}}}
            if _are_alike(labels):
                spec["height"] = narrow["height"]
                axis |= narrow["encoding"]["y"]["axis"]
    if "measure" not in table or not len(table):
        return Plot(spec)
    measures = list(dict.fromkeys(table["measure"]))
    title: Any = measures[0]
    if len(measures) > 1:
        menu = {"input": "select", "options": measures, "name": "measure "}
        shown = {"name": "shown_measure", "value": measures[0], "bind": menu}
        spec["params"] = [shown, *spec.get("params", [])]
        spec["transform"] = [{"filter": "datum.measure === shown_measure"}, *spec.get("transform", [])]
        title = {"expr": "shown_measure"}
    return Plot(spec | {"title": {"text": title, "anchor": "start", "frame": "bounds", "fontSize": 12}})


def _are_alike(names: Sequence[str]) -> bool:
    """Whether two names read alike where a label is cut: in what is seen of them, without their numbers."""
    seen = [name.lstrip(" 0123456789")[:_LONG] for name in names if "…" in name or len(name) > _LONG]
    return len({*seen}) < len(seen)


def plot_scores(scores: pd.DataFrame, *, measures: Sequence[str] = ()) -> Plot:
    """Plot each run's score by the original and by the augmented qrels with its interval, the best first.

    Args:
        scores: rows of `scores_with_uncertainty`: run_id, measure, original, augmented, low, high; where the
            column labelled has a value (see `first_of`), augmented is corrected for errors of votes, and the
            score as labelled stands beside it.
        measures: which are shown, one at a time by a menu; () takes all.

    Raises:
        UsageError: the table has no row for a measure.

    Examples:
        >>> row = {"run_id": "clip", "measure": "C@1", "original": .4, "augmented": .6, "low": .5, "high": .7}
        >>> plot_scores(pd.DataFrame([row])).table[["run_id", "original", "augmented", "high"]]
          run_id  original  augmented  high
        0   clip       0.4        0.6   0.7
    """
    measures = measures or list(dict.fromkeys(scores["measure"]))
    table = _of_measures(scores.sort_values("augmented", ascending=False, kind="stable"), measures)
    best, labelled = table["augmented"], table.get("labelled", pd.Series(np.nan, table.index))
    table = table.assign(corrected=best.where(labelled.notna()), augmented=labelled.fillna(best))
    shown = {"best": best, "original": table["original"]}  # rounded as tables round, not as Vega does
    table = table.assign(
        **{f"{name}_shown": (100 * each).map("{:.1f}%".format) for name, each in shown.items()}
    )
    plot = draw("scores", table)
    labels = [name for name in ("original", "augmented", "corrected") if table[name].notna().any()]
    for channel in ("color", "shape"):  # whose legends are one where they say the same
        plot["layer"][2]["encoding"][channel]["legend"]["values"] = labels
    return plot


def plot_differences(
    differences: pd.DataFrame, *, measures: Sequence[str] = (), order: Sequence[str] = ()
) -> Plot:
    """Plot the difference of every two runs as a grid, row minus column, by whether it holds after Holm.

    Above the diagonal are differences by the augmented qrels, below it by the original ones. Runs have
    numbers.

    Args:
        differences: rows of `score_differences`: run_a, run_b, qrels, measure, difference, low, high, p_holm,
            which has no interval. One half is of qrels `original`, the other of `corrected` where a measure
            has such rows, else of `augmented`.
        measures: as in `plot_scores`.
        order: of the runs; () takes that of the table.

    Raises:
        UsageError: as `plot_scores`.

    Examples:
        >>> row = {"run_a": "clip", "run_b": "ssb", "qrels": "original", "measure": "C@1", "difference": .1}
        >>> plot = plot_differences(pd.DataFrame([row | {"low": .02, "high": .2, "p_holm": .03}]))
        >>> plot.table[["row", "column", "shown", "verdict"]].values.tolist()
        [['2 ssb', '1 clip', '−10.0', 'p < .05 after Holm']]
    """
    table = drawn_differences(_of_measures(differences, measures))
    runs = list(order or dict.fromkeys([*differences["run_a"], *differences["run_b"]]))
    named, place = _numbered(runs), {run: at for at, run in enumerate(runs)}
    is_first = table["run_a"].map(place) < table["run_b"].map(place)
    is_turned = (table["qrels"] == "original") == is_first  # b is to stand in the row
    turned = table.rename(columns={"run_a": "run_b", "run_b": "run_a", "low": "high", "high": "low"})
    turned[["difference", "low", "high"]] *= -1
    table = table.mask(is_turned, turned[[*table]], axis=0)
    table = table.assign(row=table["run_a"].map(named), column=table["run_b"].map(named))
    digits = 1 if len(runs) <= _MANY else 0
    shown = _signed(table["measure"].map(points) * table["difference"], digits)
    return draw("differences", table.assign(shown=shown))


def drawn_differences(differences: pd.DataFrame) -> pd.DataFrame:
    """Return the differences that a grid shows, and with `verdict` whether each is told apart from 0.

    They are by the original qrels, and by the augmented ones, or as corrected where a measure has such rows.
    """
    corrected = differences.loc[differences["qrels"] == "corrected", "measure"]
    other = np.where(differences["measure"].isin(corrected), "corrected", "augmented")
    table = differences[(differences["qrels"] == "original") | (differences["qrels"] == other)]
    is_apart = (table["low"] > 0) | (table["high"] < 0)
    return table.assign(verdict=np.select([table["p_holm"] < 0.05, is_apart], VERDICTS[:2], VERDICTS[2]))


def plot_lengths(lengths: pd.DataFrame) -> Plot:
    """Plot each run's gain by the length of the caption as a grid, by whether its interval leaves 0 out.

    Args:
        lengths: rows of `by_length`: from_chars, to_chars, run_id, measure, delta, low, high, n_queries.
            Rows without a run are left out; of several measures the first is shown.

    Examples:
        >>> row = {"from_chars": 10, "to_chars": 20, "run_id": "clip", "measure": "C@1", "delta": .1}
        >>> plot = plot_lengths(pd.DataFrame([row | {"low": .0, "high": .2, "n_queries": 8}]))
        >>> plot.table[["bin", "verdict", "gain_shown", "interval_shown"]].values.tolist()
        [['10–19', 'not told apart', '+10.0', '+0 to +20']]
    """
    kept = lengths[lengths["run_id"] != ""]
    kept = kept[kept["measure"].isin(kept["measure"][:1])]
    scale = kept["measure"].map(points)
    sides = [kept["low"] > 0, kept["high"] < 0]
    limits = zip(*(_signed(scale * kept[name], 0) for name in ("low", "high")), strict=True)
    table = kept.assign(
        bin=kept["from_chars"].astype(str) + "–" + (kept["to_chars"] - 1).astype(str),
        verdict=np.select(sides, ["gains", "loses"], VERDICTS[-1]),
        gain_shown=_signed(scale * kept["delta"], 1),
        interval_shown=["" if "nan" in low else f"{low} to {high}" for low, high in limits],
    )
    plot = draw("lengths", table)
    if len(table):
        plot["title"]["text"] = f"gain in {table['measure'].iloc[0]}"
    return plot


def _signed(values: pd.Series, digits: int) -> list[str]:
    """Return changes as text, with a true minus; what would be 0 is +0."""
    return [f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−") for value in values]


def plot_overlap(comparisons: pd.DataFrame, *, measure: str = "", order: Sequence[str] = ()) -> Plot:
    """Plot how alike the lists of every two runs are, in percent, as a grid.

    Args:
        comparisons: rows of `compare_runs`: run_a, run_b, measure, value in [0, 1].
        measure: which of them; "" takes the first. A run beside itself is shown where equal lists have 1.
        order: of the runs; () takes that of the table.

    Raises:
        UsageError: no row has the measure.

    Examples:
        >>> row = {"run_a": "clip", "run_b": "ssb", "measure": "overlap@10", "value": .25}
        >>> plot_overlap(pd.DataFrame([row])).table["row"].tolist()
        ['1 clip', '1 clip', '2 ssb', '2 ssb']
    """
    measure = measure or str(next(iter(comparisons["measure"]), ""))
    kept = comparisons[comparisons["measure"] == measure]
    if not len(kept):
        raise UsageError(f"the comparisons have no measure {measure!r}")
    named = _numbered(list(order or dict.fromkeys([*kept["run_a"], *kept["run_b"]])))
    own = pd.DataFrame({"run_a": [*named], "run_b": [*named], "measure": measure, "value": 1.0})
    turned = kept.rename(columns={"run_a": "run_b", "run_b": "run_a"})
    both = pd.concat([kept, turned, *([own] if measure.startswith(_ONE_WHERE_EQUAL) else [])])
    table = both.assign(row=both["run_a"].map(named), column=both["run_b"].map(named))
    return draw("overlap", table.sort_values(["row", "column"]))


def _numbered(runs: Sequence[str]) -> dict[str, str]:
    """Return what names each run in a grid, whose columns have their numbers alone."""
    return {run: f"{at:>{len(str(len(runs)))}} {run}" for at, run in enumerate(runs, start=1)}


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
    return draw("judged", scores[depth.notna()].assign(depth=depth[depth.notna()].astype(int)))


def plot_orders(places: pd.DataFrame, *, measures: Sequence[str] = ()) -> Plot:
    """Plot the place of each run under each labelling; equal places stand one below the other.

    Args:
        places: rows of `compare_orders(...).scores`: labelling, measure, run_id, value, place (1 is best).
        measures: as in `plot_scores`.

    Raises:
        UsageError: as `plot_scores`.

    Examples:
        >>> row = {"labelling": "original", "measure": "C@1", "run_id": "clip", "value": .5, "place": 1}
        >>> plot_orders(pd.DataFrame([row])).table[["run_id", "place"]].values.tolist()
        [['clip', 1]]
    """
    begun = places.drop_duplicates(["measure", "run_id"]).set_index(["measure", "run_id"])["place"]
    before = places.join(begun.rename("before"), on=["measure", "run_id"])  # ties cross no line
    kept = before.sort_values(["place", "before"], kind="stable")
    kept = _of_measures(kept, measures or list(dict.fromkeys(places["measure"])))
    labellings = list(dict.fromkeys(places["labelling"]))
    kept = kept.assign(
        slot=kept.groupby(["measure", "labelling"], sort=False).cumcount() + 1,
        is_last=kept["labelling"] == labellings[-1],
    )
    kept = kept.sort_values("labelling", key=lambda each: each.map(labellings.index), kind="stable")
    return draw("orders", kept)


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
    kept = profiles.dropna(subset=["positive_rate", "peer_agreement"])
    plot = draw("annotators", kept)
    for axis, name in (("x", "positive_rate"), ("y", "peer_agreement")) if len(kept) else ():
        low, high = float(kept[name].min()), float(kept[name].max())
        # So that chance looks like no difference.
        room = max(0.02, (high - low) / 10, 0.05 - (high - low) / 2)
        plot["encoding"][axis]["scale"] = {
            "domain": [max(0.0, round(low - room, 3)), min(1.0, round(high + room, 3))]
        }
    return plot


def _of_measures(table: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Return the rows of some measures, in the order of these."""
    names = list(measures or dict.fromkeys(table["measure"]))
    missing = [name for name in names if not (table["measure"] == name).any()]
    if missing or not names:
        raise UsageError(f"the table has no row{f' for the measure {missing[0]}' if missing else ''}")
    kept = table[table["measure"].isin(names)]
    return kept.sort_values("measure", key=lambda own: own.map(names.index), kind="stable", ignore_index=True)


def points(measure: str) -> int:
    """Return what a measure's values are times in points: shares are times 100."""
    return 100 if parse_measure(measure).definition.unit == "share" else 1
