"""The report as one HTML file: a study and its figures, which a template puts into words.

What of a study each figure draws stands here, what it shows is said in data/figures.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.annotators import annotator_profiles
from fire_toolkit.agreement.table import notes_of_rows
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import FIRST, judged_at
from fire_toolkit.reporting import plots
from fire_toolkit.reporting.honest import honest_cells, in_points
from fire_toolkit.reporting.methods import methods_paragraphs
from fire_toolkit.reporting.paper import by_length
from fire_toolkit.reporting.plots import VERDICTS, Plot, drawn_differences, plot_orders, points
from fire_toolkit.reporting.study import TOP, Study
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.reporting.voted import flips_by_length, flips_by_run, sets_of_runs
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.results import Found
from fire_toolkit.words import table_in, text_in

WIDTHS = (85, 180)  # millimetres of a column, and of a page, for which figures are made
_SETS = 12  # sets of runs that are shown, those that found most first
_BINS = 12  # of lengths of captions


class Figure(NamedTuple):
    """A plot, which holds its data, and a sentence that says what it shows."""

    plot: Plot
    text: str


def figures_of(study: Study, names: Iterable[str]) -> dict[str, Figure]:
    """Return figures by their names in `FIGURES`, but for those for which the study holds too little."""
    texts = table_in("reporting", "data/figures.toml")
    found = {}
    for name in names:
        plot = FIGURES[name](study)
        if plot is not None and (rows := plot["data"]["values"]):
            found[name] = Figure(plot, texts[name].replace("{measure}", str(rows[0].get("measure", ""))))
    return found


def _scores(study: Study) -> Plot | None:
    scores = study.scores
    is_shown = [name in study.compared and plots.points(name) == 100 for name in scores["measure"]]
    return plots.plot_scores(scores[is_shown]) if any(is_shown) else None


def _flips_by_run(study: Study) -> Plot | None:
    if study.sources is None:
        return None
    place = {run_id: at for at, run_id in enumerate(study.best_first)}
    table = flips_by_run(study.flipped, study.sources, study.told.gallery)
    return plots.draw("flips", table.sort_values("group", key=lambda ids: ids.map(place), kind="stable"))


def _flips_by_length(study: Study) -> Plot:
    tables = [study.labels, study.background.disputes]
    judged = pd.concat([each[["query_id"]] for each in tables if each is not None], ignore_index=True)
    return plots.draw("flips", flips_by_length(study.flipped, judged, study.queries, study.told.gallery))


def _found(study: Study) -> Plot | None:
    if study.sources is None:
        return None
    table = sets_of_runs(study.flipped, study.sources)
    return plots.draw("found", table[table["set"] <= _SETS])


def _lengths(study: Study) -> Plot:
    measures = study.compared[:1] if study.measures else [FIRST]
    tables = (study.joined, study.original, study.augmented, study.queries)
    by_run = by_length(*tables, measures, most=_BINS).set_index("run_id")
    return plots.plot_lengths(by_run.loc[study.best_first].reset_index())


def _overlap(study: Study, *, begin: str = "") -> Plot | None:
    """Return the grid of the first measure of two lists whose name begins so."""
    table = study.comparisons.table if len(study.runs) > 1 else pd.DataFrame({"measure": []})
    names = [name for name in table["measure"] if name.startswith(begin)]
    return plots.plot_overlap(table, measure=names[0], order=study.best_first) if names else None


def _judged(study: Study) -> Plot:
    measures, labelling = [judged_at(k) for k in range(1, TOP + 1)], study.joined.label(study.augmented)
    rows = [
        (run_id, measure.name, measure.aggregate(values))
        for run_id in study.best_first
        for measure, values in zip(measures, study.joined.values(run_id, labelling, measures).T, strict=True)
    ]
    return plots.plot_judged(pd.DataFrame(rows, columns=["run_id", "measure", "value"]))


def _annotators(study: Study) -> Plot | None:
    if study.judgments is None:
        return None
    profiles = annotator_profiles(first_round(study.judgments), grades=study.grades)
    names = profiles["annotator_id"].map(study.pseudonyms)
    return plots.plot_annotators(profiles.assign(annotator_id=names))


FIGURES: dict[str, Callable[[Study], Plot | None]] = {
    "scores": _scores,
    "differences": lambda study: (
        plots.plot_differences(study.differences[0], order=study.best_first) if len(study.runs) > 1 else None
    ),
    "order": lambda study: plots.plot_orders(study.orders.scores) if len(study.runs) > 1 else None,
    "flips": _flips_by_run,
    "flips-length": lambda study: _flips_by_length(study) if study.has_captions else None,
    "found": _found,
    "length": lambda study: _lengths(study) if study.has_captions else None,
    "overlap": _overlap,
    "rbo": lambda study: _overlap(study, begin="RBO_ext"),
    "judged": _judged,
    "annotators": _annotators,
}


ON_PAGE = [name for name in FIGURES if name != "annotators"]  # of whom the page has a table
_TAIL = 0.025  # the chance of another order, up to which a 95% interval leaves 0 out
_PAIR = ["measure", "run_a", "run_b"]


def render_page(study: Study, figures: Mapping[str, Figure], *, title: str, subtitle: str) -> str:
    """Return the report as one HTML file that asks for nothing outside itself.

    Every text stands in it as text, whatever it holds, and none names an annotator or a folder of this
    machine. Vega, Vega-Lite and Vega-Embed are within (BSD-3-Clause).
    """
    agreement = study.told.facts.agreement
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
        rows_of=lambda rows, run_id: (
            in_points(rows[rows["run_id"] == run_id]).set_index("measure").to_dict("index")
        ),
        uneven=[note for note in study.honest.notes if " the runs to different depths " in note],
        uncertain=honest_cells(study.scores, unit="%"),
        explained={name: parse_measure(name).definition.summary for name in study.compared},
        agreement_notes=[] if agreement is None else notes_of_rows(agreement.table),
        bundle=text_in("reporting", "data/vega-bundle.js"),
    )


def headline_of(study: Study) -> list[str]:
    """Return the three sentences of a study, see `headline`."""
    several = len(study.runs) > 1
    return headline(study.outcome, study.scores, swaps(study.orders, study.differences[0]) if several else [])


def headline(
    outcome: Mapping[str, Any], scores: pd.DataFrame, changes: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return three sentences: right answers that counted as wrong, how far scores were off, who swaps.

    Points are those of the first score that is a share; what is to be bold stands between asterisks.

    Args:
        outcome: new, n_queries, is_graded where labels have more grades than 0 and 1, is_part where some
            pairs were left out by design, and wrong_share: of the new positives, as an audit or votes expect;
            nan where that is not known.
        scores: honest rows as `first_of` returns them; where some of a top has no label, gains that are
            corrected for errors of votes are the least.
        changes: of places, as `swaps` returns them.
    """
    names = [name for name in dict.fromkeys(scores["measure"]) if parse_measure(name).definition.is_score]
    shares = [name for name in names if points(name) == 100]
    facts: dict[str, Any] = {"outcome": outcome, "measure": "", "runs": scores["run_id"].nunique()}
    if shares:
        own, of = scores[scores["measure"] == shares[0]], parse_measure(shares[0]).definition
        gains, only_up = 100 * own["delta"], of.by_first_positive or of.is_precision
        facts |= {"measure": shares[0], "low": round(gains.min(), 1), "high": round(gains.max(), 1)}
        is_corrected = "labelled" in own and bool(own["labelled"].notna().all())  # else votes push it up too
        facts["is_least"] = only_up and is_corrected and bool((own["judged"] < 0.99).any())  # beyond disputes
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
