"""The sections of `report html`, each from the table that says the same on the command line."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fire_toolkit.agreement.summary import AgreementSummary
from fire_toolkit.measures import parse_measure
from fire_toolkit.reporting.page import Figure, Section, Table
from fire_toolkit.reporting.plots import (
    Plot,
    plot_annotators,
    plot_differences,
    plot_judged,
    plot_lengths,
    plot_orders,
    plot_overlap,
    plot_scores,
)
from fire_toolkit.reporting.sides import Side
from fire_toolkit.results import Found
from fire_toolkit.scoring.drawn import augmented_cell, bounds_cell, score_cells
from fire_toolkit.tables import Qrels, Scores
from fire_toolkit.words import n_of

_REJECTED = {"union": "count as positives", "override": "do not count", "drop": "left the qrels"}


def what_was_judged(scores: pd.DataFrame, original: Qrels, augmented: Qrels) -> Section:
    """Return how many pairs there are, and what became of the original positives."""
    first = scores.to_dict("records")[0]
    sizes = (
        f"{n_of(first['n_queries'], 'query')}; {n_of(len(original), 'pair')} in the original qrels, "
        f"{len(augmented):,} in the augmented."
    )
    outcome = (
        f"Of the original positives {first['confirmed']:,} were confirmed, {first['rejected']:,} rejected, "
        f"{first['never_judged']:,} never judged; {first['new']:,} new positives were found. Rejected ones "
        f"{_REJECTED[first['policy']]} (policy {first['policy']})."
    )
    before, after = (_positives_by_query(qrels) for qrels in (original, augmented))
    more = f"Positives per query: {before:.2f} in the original qrels, {after:.2f} in the augmented."
    return Section("judged", "What was judged", [sizes, outcome, more])


def of_agreement(summary: AgreementSummary, profiles: pd.DataFrame) -> Section:
    """Return agreement with its intervals, and each annotator beside the others."""
    rows = [
        [_named(row), f"{row['value']:.3f}", _range(row["low"], row["high"], 3)]
        for row in summary.table.to_dict("records")
    ]
    table = Table("Agreement of first answers, with 95% intervals", ["statistic", "value", "95%"], rows)
    said = [*summary.table["note"], *summary.table["interval_note"]]
    notes = [f"{note}." for note in dict.fromkeys(said) if note]
    votes = ", ".join(f"{n:,} with {k}" for k, n in enumerate(summary.n_pairs_by_votes) if n and k)
    heads = {
        "annotator_id": "annotator",
        "n_votes": "votes",
        "positive_rate": "positive",
        "peer_agreement": "agreement with others",
        "duration_s_q50": "median seconds",
    }
    text = "Each annotator's share of positive votes and agreement with others, on shared pairs."
    is_shown = len(profiles.dropna(subset=["positive_rate", "peer_agreement"])) > 0
    figures = [_figure(plot_annotators(profiles), text, profiles, heads)] if is_shown else []
    words = [f"Pairs by number of votes: {votes}.", *notes]
    return Section("agreement", "Agreement", words, tables=[table], figures=figures)


def _named(row: Mapping[Hashable, Any]) -> str:
    """Return a statistic in words, with the level of alpha where that is not nominal."""
    has_level = row["statistic"] == "alpha" and row["level"] != "nominal"
    return str(row["statistic"]).replace("_", " ") + (f" ({row['level']})" if has_level else "")


def of_scores(scores: pd.DataFrame, notes: Sequence[object]) -> Section:
    """Return every run's scores in FIRE's form, with what is uncertain in the plot's data.

    scores: corrected ones that come first stand in the place of those as labelled (column labelled).
    """
    rows, details = [], []
    for run_id, own in scores.groupby("run_id", sort=False):
        cells = {row["measure"]: _cells(row) for row in own.to_dict("records")}
        rows.append([str(run_id), *(cell[0] for cell in cells.values())])
        details += [[str(run_id), measure, *cell] for measure, cell in cells.items()]
    words = (
        "corrected or augmented (original + gain)" if "labelled" in scores else "augmented (original + gain)"
    )
    table = Table(f"{words}; shares times 100", ["run", *dict.fromkeys(scores["measure"])], rows)
    columns = ["run", "measure", words, "95%", "if unjudged docs were wrong, right", "judged"]
    columns += ["as labelled"] if "labelled" in scores else []
    columns += ["estimate"] if "estimate" in scores else []
    whole = Table("Scores with their uncertainty", columns, details)
    text = "Each run by the original and by the augmented qrels; the bar is the 95% interval of the latter."
    shown = scores[[_scale(name) == 100 for name in scores["measure"]]]
    figures = [Figure(plot_scores(shown), text, whole)] if len(shown) else []
    return Section("scores", "Scores", [f"{note}." for note in notes], tables=[table], figures=figures)


def with_unusable(section: Section, words: str, usable: Scores | None) -> Section:
    """Return the section on scores with how many queries are unusable, and the scores without them."""
    paragraphs = [f"{words}.", *section.paragraphs]
    if usable is None:
        return replace(section, paragraphs=paragraphs)
    rows, measures = [], list(dict.fromkeys(usable["measure"]))
    for run_id, own in usable.groupby("run_id", sort=False):
        values = {
            name: dict(zip(of["qrels"], of["value"], strict=True)) for name, of in own.groupby("measure")
        }
        rows.append([str(run_id), *(score_cells([values[name]], name)[0] for name in measures)])
    columns = ["run", *measures]
    table = Table("Usable queries alone: augmented (original + gain); shares times 100", columns, rows)
    return replace(section, paragraphs=paragraphs, tables=[*section.tables, table])


def of_differences(differences: pd.DataFrame, notes: Sequence[object]) -> Section:
    """Return which runs can be told apart."""
    found = differences[differences["qrels"] != "delta"]
    n_alone, n_holding = (int((found[name] < 0.05).sum()) for name in ("p", "p_holm"))
    words = [f"{n_holding} of {n_of(len(found), 'difference')} hold at 5% after Holm's correction, {n_alone} "
             "each by itself."]  # fmt: skip
    heads = {"qrels": "qrels", "measure": "measure", "run_a": "a", "run_b": "b", "difference": "a − b",
             "low": "from", "high": "to", "p": "p", "p_holm": "p (Holm)"}  # fmt: skip
    text = "Difference of every two runs, with 95% intervals; a cross where the interval holds 0."
    figure = _figure(plot_differences(found), text, found, heads)
    words += [f"{note}." for note in notes]
    return Section("differences", "Which differences hold", words, figures=[figure])


def of_orders(
    orders: Found, *, anchor: str = "order", names: tuple[str, str] = ("the original", "the augmented qrels")
) -> Section:
    """Return which runs change places from one labelling to the other."""
    words = [
        f"{row['measure']}: {row['run_a']} and {row['run_b']} change places (the two labellings order them "
        f"differently in {row['p_swap']:.0%} of the resamples)."
        for row in orders.swaps.to_dict("records")
        if row["swapped"]
    ]
    heads = {"measure": "measure", "labelling": "qrels", "run_id": "run", "value": "value", "place": "place"}
    text = f"Place of each run by {names[0]} and by {names[1]}."
    figure = _figure(plot_orders(orders.scores), text, orders.scores, heads)
    notes = [f"{note}." for note in orders.notes]
    found = [*(words or ["No two runs change places."]), *notes]
    title = "The order of the runs"
    title += "" if anchor == "order" else f": {names[0]} and {names[1]}"
    return Section(anchor, title, found, figures=[figure])


def of_changes(
    old: Side,
    new: Side,
    labels: pd.DataFrame,
    scores: pd.DataFrame,
    agreements: tuple[AgreementSummary | None, AgreementSummary | None],
    *,
    notes: Sequence[str],
) -> Section:
    """Return two states of the labels side by side, what changed, and what cannot be compared.

    Args:
        labels: change, n_pairs; scores: what `score_changes` returns; each empty where nothing is compared.
    """
    tables = [_both_sides(old, new)]
    if len(labels):
        rows = [[row["change"], f"{row['n_pairs']:,}"] for row in labels.to_dict("records")]
        tables.append(Table("Labels by the corrected qrels", ["change", "pairs"], rows))
    if len(scores):
        tables.append(_before_and_after(old, new, scores))
    elif old.scores is not None and len(old.scores):
        tables.append(_not_compared(old, old.scores))
    if any(agreements):
        tables.append(_agreement_of_both(old, new, agreements))
    return Section("since", f"Beside {old.name}", warnings=[f"{note}." for note in notes], tables=tables)


def _both_sides(old: Side, new: Side) -> Table:
    rows = {
        "version of fire-toolkit": [side.tool for side in (old, new)],
        "guideline": [side.guideline[0] for side in (old, new)],
        "queries": [f"{len(side.queries):,}" for side in (old, new)],
        "pairs in the original qrels": [f"{len(side.original):,}" for side in (old, new)],
        "pairs in the corrected qrels": [f"{len(side.corrected):,}" for side in (old, new)],
        "of these relevant": [f"{(side.corrected['relevance'] >= 1).sum():,}" for side in (old, new)],
        "judgments": ["" if side.judgments is None else f"{len(side.judgments):,}" for side in (old, new)],
        "annotators": [_n_annotators(side) for side in (old, new)],
        "runs": [f"{len(side.runs):,}" for side in (old, new)],
    }
    return Table("What each holds", ["", old.name, new.name], [[name, *both] for name, both in rows.items()])


def _not_compared(old: Side, scores: pd.DataFrame) -> Table:
    cells = scores[["run_id", "measure", "value"]].to_numpy().tolist()
    rows = [[run_id, name, f"{_scale(name) * value:.1f}"] for run_id, name, value in cells]
    title = f"Scores as they stand in {old.name}: not compared, and without an interval, which needs each "
    return Table(f"{title}query's value of a run that is here too", ["run", "measure", old.name], rows)


def _n_annotators(side: Side) -> str:
    return "" if side.judgments is None else f"{side.judgments['annotator_id'].nunique():,}"


def _before_and_after(old: Side, new: Side, scores: pd.DataFrame) -> Table:
    rows = []
    for row in scores.to_dict("records"):
        scale = _scale(row["measure"])
        before, after, change, low, high = (
            scale * row[name] for name in ("before", "after", "change", "low", "high")
        )
        cells = [f"{before:.1f}", f"{after:.1f}", _signed(change), _signed_range(low, high)]
        rows.append([row["run_id"], row["measure"], *cells])
    title = (
        "Scores of the same files on the same queries, by the corrected labels of each; shares times 100. "
        "The interval is of the difference, from each query's scores by both labels"
    )
    return Table(title, ["run", "measure", old.name, new.name, "difference", "95%"], rows)


def _signed_range(low: float, high: float) -> str:
    return f"{_signed(low)} to {_signed(high)}" if low == low else "not known"


def _signed(value: float) -> str:
    return "0.0" if round(value, 1) == 0 else f"{value:+.1f}"


def _agreement_of_both(
    old: Side, new: Side, agreements: tuple[AgreementSummary | None, AgreementSummary | None]
) -> Table:
    """Return each side's agreement; of a side without judgments nothing."""
    cells = [
        {row["statistic"]: [f"{row['value']:.3f}", _range(row["low"], row["high"], 3)] for row in each}
        for each in ([] if one is None else one.table.to_dict("records") for one in agreements)
    ]
    rows = [
        [name.replace("_", " "), *(cell for each in cells for cell in each.get(name, ["", ""]))]
        for name in dict.fromkeys([*cells[0], *cells[1]])
    ]
    columns = ["statistic", old.name, "95%", new.name, "95%"]
    return Table("Agreement of first answers in each, with 95% intervals", columns, rows)


def of_overlap(comparisons: pd.DataFrame, notes: Sequence[object]) -> Section:
    """Return how alike the lists of every two runs are: the overlap, and RBO."""
    heads = {"run_a": "a", "run_b": "b", "measure": "measure", "value": "value"}
    names = list(dict.fromkeys(comparisons["measure"]))
    biased = [name for name in names if name.startswith("RBO_ext")]
    figures = []
    for name in [*names[:1], *biased[:1]]:
        own = comparisons[comparisons["measure"] == name]
        text = f"{name}: 1 where two runs return the same list."
        figures.append(_figure(plot_overlap(comparisons, measure=name), text, own, heads))
    return Section("overlap", "How alike the runs are", [f"{note}." for note in notes], figures=figures)


def of_lengths(lengths: pd.DataFrame) -> Section:
    """Return each run's gain by the length of the caption."""
    heads = {"from_chars": "characters from", "to_chars": "below", "run_id": "run", "n_queries": "captions",
             "delta": "gain", "low": "95% from", "high": "to"}  # fmt: skip
    of_runs = lengths[lengths["run_id"] != ""]
    measure = of_runs["measure"].iloc[0]
    text = f"Gain in {measure} by the number of characters in the caption, with 95% intervals."
    figure = _figure(plot_lengths(lengths), text, of_runs, heads)
    return Section("length", "Gains by the length of the caption", figures=[figure])


def of_judged(judged: pd.DataFrame, trusted: Sequence[str]) -> Section:
    """Return how much of each run's top is judged, and which measures that does not support."""
    least = judged.iloc[int(judged["value"].argmin())]
    share = f"{100 * least['value']:.1f}% of its top docs ({least['measure']})"
    words = [f"The least judged run: {least['run_id']}, {share}."]
    heads = {"run_id": "run", "measure": "measure", "value": "share"}
    text = "Share of each run's top docs that is judged, by the depth."
    figure = _figure(plot_judged(judged), text, judged, heads)
    title = "What is judged, and what cannot be trusted"
    return Section("judged-share", title, words, [f"{text}." for text in trusted], figures=[figure])


def _cells(row: Mapping[Any, Any]) -> list[str]:
    """Return a score as A (B + C), its interval, its bounds and the share of the top that is judged."""
    scale = _scale(row["measure"])
    return [
        augmented_cell(*(scale * row[name] for name in ("augmented", "original", "delta"))),
        _range(scale * row["low"], scale * row["high"]) or "not known",
        bounds_cell(scale * row["lower"], scale * row["upper"]),
        f"{100 * row['judged']:.0f}%",
        *([_labelled(row["labelled"], scale)] if "labelled" in row else []),
        *([_estimate(row, scale)] if "estimate" in row else []),
    ]


def _labelled(value: float, scale: int) -> str:
    """Return the score as labelled beside a corrected one."""
    return f"{scale * value:.1f}" if value == value else "same"


def _estimate(row: Mapping[Any, Any], scale: int) -> str:
    """Return an estimate with its interval and its method, or why there is none."""
    if row["estimate"] != row["estimate"]:
        return str(row["estimate_method"])
    interval = _range(scale * row["estimate_low"], scale * row["estimate_high"])
    return f"{scale * row['estimate']:.1f} ({interval}), {row['estimate_method']}"


def _positives_by_query(qrels: Qrels) -> float:
    return float((qrels["relevance"] >= 1).sum() / max(qrels["query_id"].nunique(), 1))


def _scale(measure: str) -> int:
    return 100 if parse_measure(measure).definition.unit == "share" else 1


def _range(low: float, high: float, digits: int = 1) -> str:
    return "" if low != low else f"{low:.{digits}f} to {high:.{digits}f}"


def _figure(plot: Plot, text: str, table: pd.DataFrame, heads: Mapping[str, str]) -> Figure:
    """Return a plot with columns of its table under their headings; nan is empty."""
    rows = [[_cell(value) for value in row] for row in table[list(heads)].itertuples(index=False)]
    return Figure(plot, text, Table(text, list(heads.values()), rows))


def _cell(value: Any) -> str:
    if value != value or value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
