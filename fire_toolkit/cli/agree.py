"""`agree`: how far annotators agree, of whom, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import click
import pandas as pd

from fire_toolkit.agreement.groups import join_columns
from fire_toolkit.agreement.pages import alike, page_effects
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.agreement.summary import UNITS, AgreementSummary, agreement_summary
from fire_toolkit.agreement.table import agreement, agreement_intervals
from fire_toolkit.agreement.votes import LEVELS
from fire_toolkit.cli.agreement_text import draw_agreement
from fire_toolkit.cli.common import current_workspace, format_option, n_of, say, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, level_of
from fire_toolkit.cli.options import exclude_options, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import typed_judgments
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.tables.columns import code_pairs
from fire_toolkit.words import pairs_by_votes

INCLUSION = "inclusion_probability"
_EFFECTS = ("mean place of positives", "neighbours both positive")


@dataclass(frozen=True)
class _Question:
    level: str
    by: str | None
    statistics: tuple[str, ...]
    intervals: bool | None
    cluster: str | None

    @property
    def is_plain(self) -> bool:
        """Whether neither groups nor a way to have intervals is asked for."""
        return self.by is None and self.intervals is None


@click.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@reads("guideline")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    help="[default: ordinal for a guideline of three grades or more, else nominal]",
)
@click.option(
    "--by",
    metavar="COLUMN",
    help="Group by annotator_id, or by the values of another column.",
)
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
    help="Such as cohen_kappa, or `all` (may be repeated). [default: alpha, percent_agreement, "
    "positive_agreement, prevalence]",
)
@click.option(
    "--intervals/--no-intervals",
    default=None,
    help="95% intervals, and the probability that alpha is below .667 and .8. [default: with intervals, by "
    "caption where captions have two pairs or more; without with --by or --measure]",
)
@click.option("--cluster", metavar="COLUMN", help="Draw whole clusters of pairs, such as query_id.")
@click.option("--all-rounds", is_flag=True, help="Count answers of later rounds too.")
@exclude_options
@format_option
def agree(
    given: Given,
    level: str | None,
    by: str | None,
    joined: tuple[str, ...],
    statistics: tuple[str, ...],
    intervals: bool | None,
    cluster: str | None,
    all_rounds: bool,
) -> None:
    """Measure agreement between annotators: Krippendorff's alpha, percent agreement and related statistics.

    Only pairs with two judgments or more (n_pairable) count; an undefined value is nan,
    with the reason in its note. Where judgments say their round, only the first answers to each pair
    count: later ones were asked because of them. A column inclusion_probability (the chance with which
    a pair was chosen for a second judgment) weighs pairs by its inverse.
    """
    if cluster and not intervals:
        raise click.UsageError("--cluster needs --intervals")
    grades = grades_of(given.judgments, given.values["guideline"])
    table = _designed(given.judgments, all_rounds=all_rounds)
    for file in joined:
        table = _joined(table, given.use(file), by)
    _say_pages(table, grades)
    level = level_of(level, given.judgments, given.values["guideline"])
    if INCLUSION in table.columns and table[INCLUSION].notna().any():
        say(f"note: pairs weigh the inverse of their {INCLUSION}")
    question = _Question(level, by, _named(statistics), intervals, cluster)
    summary = None
    if question.is_plain and not statistics:
        summary = agreement_summary(table, grades=grades, level=level, all_rounds=True)
        measured = summary.table
    else:
        measured = _measured(table, grades, question)
    draw = partial(draw_agreement, by=by, is_summary=summary is not None)
    print_table(measured, given.form, draw, basis=_basis(table, question, summary))
    is_usual = given.values["judgments"] is None
    if is_usual and by is None:
        parameters = _parameters(question, summary) | {"all_rounds": all_rounds}
        parameters |= {"excluded": given.excluded} if given.excluded else {}
        given.keep(measured, "agree", parameters, place="agreement/agreement.csv")
    own = is_usual and current_workspace()
    say_next("resolve" if own else f"resolve {quote(str(given.needed('judgments')))} --out labels")


def _p_words(p_value: float) -> str:
    return "p < .001" if p_value < 0.001 else f"p {p_value:.3f}"


def _say_pages(judgments: Judgments, grades: Grades | None) -> None:
    """Say that answers of one page are not independent, and what order and neighbours did to them."""
    effects = page_effects(judgments, grades=grades)
    if effects.empty:
        return
    unit = UNITS[alike(judgments)]
    words = [
        f"{words} {observed:.3f}, {expected:.3f} by chance ({_p_words(p_value)})"
        for words, observed, expected, p_value in zip(
            _EFFECTS, *(effects[name].tolist() for name in ("observed", "expected", "p_value")), strict=True
        )
    ]
    say(
        f"note: several captions were judged on one page ({n_of(int(effects['n_pages'].iloc[0]), 'page')}); "
        f"such answers are not independent, so intervals draw {unit} whole; {'; '.join(words)}"
    )


def _named(statistics: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name for text in statistics for name in text.split(",") if name)
    if not names:
        return DEFAULTS
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
    common: dict[str, Any] = {
        "grades": grades,
        "level": question.level,
        "by": question.by,
        "statistics": question.statistics,
        "all_rounds": True,  # those that do not count were left out before columns were joined
    }
    if not question.intervals:
        return agreement(judgments, **common)
    return agreement_intervals(judgments, **common, cluster=question.cluster)


def _basis(judgments: Judgments, question: _Question, summary: AgreementSummary | None) -> str:
    """Return what the table rests on, in words."""
    n_pairs = len(code_pairs(judgments)[1]) if summary is None else sum(summary.n_pairs_by_votes)
    n_annotators = judgments["annotator_id"].nunique()
    parts = [
        f"{n_of(len(judgments), 'judgment')} of {n_of(n_pairs, 'pair')} by {n_of(n_annotators, 'annotator')}"
    ]
    if question.level != "nominal":
        parts.append(f"alpha at the {question.level} level")
    if summary is not None:
        parts.append(f"votes: {pairs_by_votes(summary.n_pairs_by_votes)}")
        parts.append(f"intervals by {UNITS[summary.cluster][:-1]}")
        if summary.design_effect == summary.design_effect:
            parts.append(f"design effect of {UNITS[summary.cluster]} on alpha {summary.design_effect:.2f}")
    elif question.intervals:
        parts.append(f"intervals by {question.cluster or 'pair'}")
    return "; ".join(parts)


def _parameters(question: _Question, summary: AgreementSummary | None) -> dict[str, Any]:
    """Return what the numbers depend on; intervals are the ones that were made, asked for or not."""
    parameters: dict[str, Any] = {"level": question.level, "statistics": question.statistics}
    if summary is not None:
        return parameters | {"intervals": True, "cluster": summary.cluster or None}
    return parameters | {"intervals": bool(question.intervals), "cluster": question.cluster}
