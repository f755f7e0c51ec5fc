"""Scores as the table of a paper: measures × runs or runs × measures, the best value of each measure bold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fire_toolkit.measures import parse_measure
from fire_toolkit.results import bold, drawn_text
from fire_toolkit.tables import Scores

CORRECTED, SECOND = "corrected", "corrected_if_independent"


def drawn_scores(scores: Scores, form: str, *, transpose: bool = False) -> str:
    """Return the aggregate scores in FIRE's form, augmented (original + gain), shares times 100.

    Args:
        scores: as `score_runs` gives them; values of single queries are left out. Scores by qrels `corrected`
            stand with their 95% limits before those as labelled, `corrected_if_independent` after them.
        form: `table`, `latex`, `markdown` or `html`. All but the first print the best value bold, and all
            that look the same with the digits shown.
        transpose: runs as rows, measures as columns.
    """
    means = scores[scores["query_id"] == "all"]
    run_ids = list(dict.fromkeys(means["run_id"]))
    rows = [["run" if transpose else "measure", *run_ids]]
    for measure, of_measure in means.groupby("measure", sort=False):
        by_run = of_measure.groupby("run_id", sort=False)
        values = {run_id: dict(zip(each["qrels"], each["value"], strict=True)) for run_id, each in by_run}
        own = [values[run_id] for run_id in run_ids]
        labelled = score_cells(own, str(measure))
        if any(CORRECTED in each for each in own):
            rows.append([str(measure), *_interval_cells(own, CORRECTED)])
            rows.append([f"{measure} as labelled", *labelled])
        elif any(SECOND in each for each in own):
            rows.append([f"{measure} as labelled", *labelled])
            rows.append([f"{measure} if errors are independent", *_interval_cells(own, SECOND)])
        else:
            rows.append([str(measure), *labelled])
    if transpose:
        rows = [list(row) for row in zip(*rows, strict=True)]
    return drawn_text(rows[1:], rows[0], form)


def over_positives(scores: Scores) -> list[str]:
    """Return the measures of scores that divide by the number of positives."""
    return [name for name in scores["measure"].unique() if parse_measure(name).definition.over_positives]


def _interval_cells(values: Sequence[Mapping[str, float]], name: str) -> list[str]:
    """Return the scores of one labelling with their 95% limits, shares times 100, the best bold."""
    limits = [
        [100 * own.get(f"{name}{end}", float("nan")) for end in ("", "_low", "_high")] for own in values
    ]
    cells = [
        "{:.1f} ({:.1f} to {:.1f})".format(*of_run) if name in own else "not corrected"
        for own, of_run in zip(values, limits, strict=True)
    ]
    return _with_best(cells, [round(value, 1) for value, *_ in limits])


def score_cells(values: Sequence[Mapping[str, float]], measure: str) -> list[str]:
    """Return one measure's cells of several runs, the best bold; each run has values by the qrels' name."""
    definition = parse_measure(measure).definition
    scale = 100 if definition.unit == "share" else 1
    shown = [score_cell({name: scale * value for name, value in own.items()}) for own in values]
    finals = [float(f"{scale * own.get('augmented', own.get('original', 0)):.1f}") for own in values]
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


def score_cell(values: Mapping[str, float]) -> str:
    """Return FIRE's form of one score, augmented (original + gain); one alone where there is no other."""
    if "delta" not in values:
        return f"{next(iter(values.values())):.1f}"
    return augmented_cell(values["augmented"], values["original"], values["delta"])


def augmented_cell(augmented: float, original: float, delta: float) -> str:
    """Return FIRE's form: augmented (original + gain)."""
    gain = round(delta, 1)
    sign = "-" if gain < 0 else "+"
    return f"{augmented:.1f} ({original:.1f} {sign} {abs(gain):.1f})"
