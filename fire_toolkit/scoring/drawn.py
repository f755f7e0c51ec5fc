"""Scores as the table of a paper: measures × runs or runs × measures, the best value of each measure bold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fire_toolkit.measures import parse_measure
from fire_toolkit.results import bold, drawn_text
from fire_toolkit.tables import Scores

SECOND = "corrected_if_independent"


def drawn_scores(scores: Scores, form: str, *, digits: int = 1, transpose: bool = False) -> str:
    """Return the aggregate scores in FIRE's form, augmented (original + gain), shares times 100.

    Args:
        scores: as `score_runs` gives them; values of single queries are left out. Scores by qrels `corrected`
            stand with their 95% limits before those as labelled, `corrected_if_independent` after them.
        form: `table`, `latex`, `markdown` or `html`. All but the first print the best value bold, and all
            that look the same with the digits shown.
        digits: after the point.
        transpose: runs as rows, measures as columns.
    """
    means = scores[scores["query_id"] == "all"]
    run_ids, measures = (list(dict.fromkeys(means[name])) for name in ("run_id", "measure"))
    values: dict[tuple[str, str], dict[str, float]] = {}
    columns = (means[name] for name in ("measure", "run_id", "qrels", "value"))
    for measure, run_id, name, value in zip(*columns, strict=True):
        values.setdefault((measure, run_id), {})[name] = value
    shown: dict[str, list[str]] = {}
    for measure in measures:
        own = [values[measure, run_id] for run_id in run_ids]
        labelled = score_cells(own, measure, digits)
        if any("corrected" in each for each in own):
            shown[measure] = _interval_cells(own, "corrected", digits)
            shown[f"{measure} as labelled"] = labelled
        elif any(SECOND in each for each in own):
            shown[f"{measure} as labelled"] = labelled
            shown[f"{measure} if errors are independent"] = _interval_cells(own, SECOND, digits)
        else:
            shown[measure] = labelled
    if transpose:
        turned = [
            [run_id, *cells] for run_id, cells in zip(run_ids, zip(*shown.values(), strict=True), strict=True)
        ]
        return drawn_text(turned, ["run", *shown], form)
    return drawn_text([[name, *cells] for name, cells in shown.items()], ["measure", *run_ids], form)


def _interval_cells(values: Sequence[Mapping[str, float]], name: str, digits: int) -> list[str]:
    """Return the scores of one labelling with their 95% limits, shares times 100, the best bold."""
    cells = [
        f"{100 * own[name]:.{digits}f} ({100 * own[f'{name}_low']:.{digits}f} to "
        f"{100 * own[f'{name}_high']:.{digits}f})"
        if name in own
        else "not corrected"
        for own in values
    ]
    return _with_best(cells, [round(100 * own.get(name, float("nan")), digits) for own in values])


def score_cells(values: Sequence[Mapping[str, float]], measure: str, digits: int = 1) -> list[str]:
    """Return one measure's cells of several runs, the best bold; each run has values by the qrels' name."""
    definition = parse_measure(measure).definition
    scale = 100 if definition.unit == "share" else 1
    shown = [score_cell({name: scale * value for name, value in own.items()}, digits) for own in values]
    finals = [float(f"{scale * own.get('augmented', own.get('original', 0)):.{digits}f}") for own in values]
    return _with_best(shown, finals, definition.larger_is_better) if definition.is_score else shown


def _with_best(cells: list[str], values: Sequence[float], larger_is_better: bool = True) -> list[str]:
    """Return the cells, of several those of the best value bold; nan: the cell has no value."""
    known = [value for value in values if value == value]
    if len(cells) < 2 or not known:
        return cells
    best = max(known) if larger_is_better else min(known)
    return [bold(cell) if value == best else cell for cell, value in zip(cells, values, strict=True)]


def bounds_cell(lower: float, upper: float) -> str:
    """Return the bounds of a score in words, nan where there is none.

    Examples:
        >>> bounds_cell(20.0, 61.25), bounds_cell(float("nan"), 61.25), bounds_cell(*[float("nan")] * 2)
        ('20.0 to 61.2', 'at most 61.2', 'no bound')
    """
    if upper != upper:
        return "no bound"
    return f"at most {upper:.1f}" if lower != lower else f"{lower:.1f} to {upper:.1f}"


def score_cell(values: Mapping[str, float], digits: int = 1) -> str:
    """Return FIRE's form of one score, augmented (original + gain); one alone where there is no other."""
    if "delta" not in values:
        return f"{next(iter(values.values())):.{digits}f}"
    return augmented_cell(values["augmented"], values["original"], values["delta"], digits)


def augmented_cell(augmented: float, original: float, delta: float, digits: int = 1) -> str:
    """Return FIRE's form: augmented (original + gain)."""
    gain = round(delta, digits)
    sign = "-" if gain < 0 else "+"
    return f"{augmented:.{digits}f} ({original:.{digits}f} {sign} {abs(gain):.{digits}f})"
