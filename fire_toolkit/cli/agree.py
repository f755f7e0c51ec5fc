"""`agree`: how far annotators agree, of whom, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import click
import pandas as pd

from fire_toolkit.agreement import (
    STATISTICS,
    agreement,
    agreement_intervals,
    annotator_matrix,
    annotator_profiles,
    first_round,
    join_columns,
    leave_one_out,
)
from fire_toolkit.agreement.intervals import METHODS
from fire_toolkit.agreement.votes import LEVELS
from fire_toolkit.cli.common import (
    current_workspace,
    drawn,
    format_option,
    n_of,
    say,
    say_next,
    say_notes,
    setting_or_default,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, with_control_answers
from fire_toolkit.cli.options import choice_option, exclude_options, reads
from fire_toolkit.cli.printing import print_table, resampled
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import typed_judgments
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import Judgments
from fire_toolkit.tables.columns import code_pairs

INCLUSION = "inclusion_probability"
VIEWS = ("agreement", "leave-one-out", "matrix", "profiles")


@dataclass(frozen=True)
class _Question:
    """What is asked of the judgments."""

    level: str
    by: str | None
    statistics: tuple[str, ...]
    intervals: str | None
    cluster: str | None
    n_resamples: int
    seed: int


@click.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@reads("guideline", controls="For --show profiles: qrels or labels of known pairs.")
@click.option("--level", type=click.Choice(LEVELS), help="[default: nominal]")
@click.option("--by", metavar="COLUMN", help="Group by annotator_id, or by the values of another column.")
@click.option(
    "--join",
    "joined",
    multiple=True,
    metavar="FILE",
    help="Add a table's columns by query_id, doc_id, annotator_id, for --by and --cluster: pool.csv (round, "
    "is_original, stratum), pool_sources.csv (run_id), queries (text_words: caption length).",
)
@click.option(
    "-m",
    "--measure",
    "statistics",
    multiple=True,
    metavar="NAME",
    help="Such as cohen_kappa, or `all` (may be repeated). [default: alpha, percent_agreement]",
)
@click.option(
    "--intervals",
    type=click.Choice(METHODS),
    help="Add 95% intervals, and the probability that alpha is below .667 and .8.",
)
@click.option("--cluster", metavar="COLUMN", help="Resample whole clusters of pairs, such as query_id.")
@click.option("--resamples", "n_resamples", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of the bootstrap.", show_default=True
)
@click.option("--all-rounds", is_flag=True, help="Count answers of later rounds too.")
@exclude_options
@choice_option(
    "--show",
    VIEWS,
    "Agreement; alpha without each annotator; every two annotators on the pairs they share; each "
    "annotator beside peers and on --controls.",
)
@format_option
def agree(
    given: Given,
    level: str | None,
    by: str | None,
    joined: tuple[str, ...],
    statistics: tuple[str, ...],
    intervals: str | None,
    cluster: str | None,
    n_resamples: int,
    all_rounds: bool,
    show: str,
) -> None:
    """Measure agreement between annotators: Krippendorff's alpha, percent agreement and related statistics.

    Only pairs with two judgments or more (n_pairable) count; an undefined value is nan,
    with the reason in its note. Where judgments say their round, only the first answers to each pair
    count: later ones were asked because of them. A column inclusion_probability (the chance with which
    a pair was chosen for a second judgment) weighs pairs by its inverse.
    """
    if given.values["controls"] and show != "profiles":
        raise click.UsageError("--controls needs --show profiles")
    if cluster and not intervals:
        raise click.UsageError("--cluster needs --intervals")
    grades = grades_of(given.judgments, given.values["guideline"])
    table = _designed(given.judgments, all_rounds=all_rounds)
    for file in joined:
        table = _joined(table, given.use(file), by)
    level = str(setting_or_default(level, "agree", "level"))
    seed = given.values["seed"]
    question = _Question(level, by, _named(statistics), intervals, cluster, n_resamples, seed)
    if show != "agreement":
        measured = _seen(show, table, grades, question, given)
    else:
        measured = _measured(table, grades, question)
    print_table(measured, given.form, partial(_drawn, by=by), basis=_basis(table, question))
    is_usual = given.values["judgments"] is None
    if is_usual and by is None and show == "agreement":
        parameters = _parameters(question) | ({"excluded": given.excluded} if given.excluded else {})
        given.keep(measured, "agree", parameters, place="agreement/agreement.csv")
    own = is_usual and current_workspace()
    say_next("resolve" if own else f"resolve {quote(str(given.needed('judgments')))} --out labels")


def _named(statistics: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name for text in statistics for name in text.split(",") if name)
    if not names:
        return ("alpha", "percent_agreement")
    return tuple(STATISTICS) if "all" in names else tuple(dict.fromkeys(names))


def _designed(judgments: Judgments, *, all_rounds: bool) -> Judgments:
    """Return the judgments that agreement is of, and say what is left out or should be."""
    first = first_round(judgments)
    n_later = len(judgments) - len(first)
    if not n_later:
        return judgments
    if all_rounds:
        say(
            f"warning: {n_of(n_later, 'answer')} of later rounds or unasked for count too; pairs are asked "
            "again because of what was said of them, so this is not how far annotators agree"
        )
        return judgments
    say(
        f"note: only first answers to each pair count; {n_of(n_later, 'answer')} of later rounds or unasked "
        "for left out (--all-rounds counts them)"
    )
    return first


def _joined(judgments: Judgments, file: Path, by: str | None) -> Judgments:
    return typed_judgments(join_columns(judgments, read_delimited(file), by=by), where=str(file))


def _measured(judgments: Judgments, grades: Grades | None, question: _Question) -> pd.DataFrame:
    weighted = INCLUSION in judgments.columns and judgments[INCLUSION].notna().any()
    if weighted:
        say(f"note: pairs weigh the inverse of their {INCLUSION}")
    common: dict[str, Any] = {
        "grades": grades,
        "level": question.level,
        "by": question.by,
        "statistics": question.statistics,
        "inclusion": INCLUSION if weighted else None,
        "all_rounds": True,  # those that do not count were left out before columns were joined
    }
    if question.intervals is None:
        return agreement(judgments, **common)
    return agreement_intervals(
        judgments,
        **common,
        cluster=question.cluster,
        method=question.intervals,
        n_resamples=question.n_resamples,
        seed=question.seed,
    )


def _seen(
    view: str, judgments: Judgments, grades: Grades | None, question: _Question, given: Given
) -> pd.DataFrame:
    controls = given.controls(grades)
    if controls is not None:
        judgments = with_control_answers(judgments, given, controls, grades)
    if question.by or question.statistics != _named(()) or question.intervals:
        raise click.UsageError(f"--show {view} is a table of its own: without --by, --measure, --intervals")
    if view == "leave-one-out":
        return leave_one_out(judgments, grades=grades, level=question.level, all_rounds=True)
    if view == "matrix":
        return annotator_matrix(judgments, grades=grades, all_rounds=True)
    return annotator_profiles(judgments, grades=grades, controls=controls, all_rounds=True)


def _drawn(measured: pd.DataFrame, output_format: str, by: str | None) -> str:
    """Return the rows as a table; what their notes say is said beside it, each note once."""
    for name in ("note", "interval_note"):
        if name in measured.columns:
            say_notes(_notes(measured, name))
            measured = measured.drop(columns=name)
    if "statistic" in measured.columns:
        measured = _for_people(measured, by)
    rows = [[_cell(value) for value in row] for row in measured.itertuples(index=False)]
    return drawn(rows, list(measured.columns), output_format)


def _notes(measured: pd.DataFrame, column: str) -> list[str]:
    """Return each note of the column once, behind the rows that it is of where it is not of all."""
    keys = [name for name in measured.columns if name in ("group", "statistic") or "annotator_" in name]
    notes = []
    for note, own in measured[measured[column] != ""].groupby(column, sort=False):
        by = [key for key in keys if len(own) == measured[key].isin(own[key]).sum()][-1:] or keys
        names = [" ".join(map(str, row)).removeprefix("all ") for row in own[by].drop_duplicates().to_numpy()]
        notes.append(str(note) if len(own) == len(measured) else f"{', '.join(names)}: {note}")
    return notes


def _for_people(measured: pd.DataFrame, by: str | None) -> pd.DataFrame:
    """Return the statistics with headings in words, and an interval in one column."""
    names = {"group": by or "group", "statistic": "measure", "n_units": "pairs",
             "n_pairable": "judged twice+", "n_annotators": "annotators", "below_667": "P(< .667)",
             "below_800": "P(< .8)", "n_resampled": "resampled"}  # fmt: skip
    shown = measured.drop(columns=[] if by else "group")
    if "low" in shown.columns:
        limits = zip(shown["low"], shown["high"], strict=True)
        interval = [f"{low:.4f} to {high:.4f}" if low == low else "nan" for low, high in limits]
        shown.insert(list(shown.columns).index("value") + 1, "95%", interval)
        shown = shown.drop(columns=["low", "high"])
    return shown.rename(columns=names)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return value if isinstance(value, str) else f"{value:,}"


def _basis(judgments: Judgments, question: _Question) -> str:
    """Return what the table rests on, in words."""
    n_pairs = len(code_pairs(judgments)[1])
    n_annotators = judgments["annotator_id"].nunique()
    parts = [
        f"{n_of(len(judgments), 'judgment')} of {n_of(n_pairs, 'pair')} by {n_of(n_annotators, 'annotator')}"
    ]
    if question.intervals == "bootstrap":
        units = f"clusters ({question.cluster})" if question.cluster else "pairs"
        parts.append(resampled(question.n_resamples, question.seed, units))
    elif question.intervals:
        parts.append(f"jackknife of {question.cluster or 'pairs'}")
    return "; ".join(parts)


def _parameters(question: _Question) -> dict[str, Any]:
    names = ["level", "statistics"]
    names += ["intervals", "cluster", "n_resamples", "seed"] if question.intervals else []
    return {name: getattr(question, name) for name in names}
