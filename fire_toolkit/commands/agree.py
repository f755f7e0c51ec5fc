"""`agree`: how far annotators agree, of whom, and how certain that is."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import pandas as pd

from fire_toolkit.agreement.intervals import N_RESAMPLES
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.agreement.table import (
    UNITS,
    AgreementSummary,
    agreement,
    agreement_summary,
    draw_agreement,
    join_columns,
    notes_of_rows,
    words_of_differing_votes,
    words_of_pages,
    words_of_uneven_rounds,
)
from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import GuidelineOf, Option, Table
from fire_toolkit.guidelines.model import choose_grades, fitting_level
from fire_toolkit.resolution.judgments import first_round, typed_judgments
from fire_toolkit.resolution.votes import INCLUSION, Grades, pairs_by_votes
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Judgments
from fire_toolkit.tables.columns import code_pairs
from fire_toolkit.words import n_of


@command
def agree(
    judgments: Annotated[
        Judgments, Table("judgments", metavar="[JUDGMENTS.csv]", is_argument=True, also=("exclude",))
    ],
    joined: Annotated[Sequence[pd.DataFrame], Table("joined", option="--join", is_several=True)] = (),
    *,
    guideline: GuidelineOf = None,
    grades: Annotated[Grades | None, Table("", takes="Grades | None", is_told=True)] = None,
    level: Annotated[
        Literal["guideline", "nominal", "ordinal", "interval", "ratio"], Option(setting=("agree", "level"))
    ] = "guideline",
    by: Annotated[str | None, Option(metavar="COLUMN")] = None,
    statistics: Annotated[Sequence[str], Option(("-m", "--measure"), metavar="NAME")] = (),
    intervals: bool = False,
    cluster: Annotated[str | None, Option(metavar="COLUMN")] = None,
    all_rounds: bool = False,
) -> Found:
    """Measure agreement between annotators: Krippendorff's alpha, percent agreement and related statistics.

    Only pairs with two judgments or more (n_pairable) count; an undefined value is nan, with the reason in
    its note. Only the first answers to each pair count, since later rounds ask because of them. A column
    inclusion_probability (the chance that a pair was chosen for a second judgment) weighs pairs by its
    inverse. The default statistics have 95% intervals, by query where queries have two pairs or more.

    Args:
        judgments: The judgments (judgments.csv).
        joined: Add a table's columns by query_id, doc_id, annotator_id, for --by and --cluster: pool.csv
            (round, is_original, stratum), pool_sources.csv (run_id), queries (text_words: caption length).
        guideline: The guideline judged by. Without it: the default's labels, or numbers as their own grades.
        grades: The grade of each label, where no guideline says it.
        level: The level of measurement; by guideline, ordinal for three grades or more, else nominal.
        by: Group by annotator_id, or by the values of another column.
        statistics: Such as cohen_kappa, or `all` (may be repeated). [default: alpha, percent_agreement,
            positive_agreement, prevalence]
        intervals: Give 95% intervals with --by and --measure too, and the probability that alpha is below
            .667 and .8.
        cluster: Draw whole clusters of pairs for the intervals, such as query_id.
        all_rounds: Count answers of later rounds too.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "a", "b", "b", "c", "c"],
        ...     "annotator_id": ["u", "v"] * 3, "label": ["1", "1", "0", "0", "1", "0"]}))
        >>> fire.agree(judgments).table[["statistic", "value", "n_pairable"]].round(4)
                    statistic   value  n_pairable
        0               alpha  0.4444           3
        1   percent_agreement  0.6667           3
        2  positive_agreement  0.6667           3
        3          prevalence  0.5000           3
    """
    if grades is None and guideline is not None:
        grades = choose_grades(judgments["label"], guideline=guideline)
    at = level if level != "guideline" else guideline.level if guideline else fitting_level(grades or {})
    counted, notes, said = _first_answers(judgments, all_rounds=all_rounds)
    notes += [] if by or all_rounds or INCLUSION in counted else words_of_uneven_rounds(counted)
    for table in joined:
        counted = typed_judgments(join_columns(counted, table, by=by), where="joined table")
    notes += words_of_pages(counted, grades)
    if INCLUSION in counted.columns and counted[INCLUSION].notna().any():
        notes.append(f"pairs weigh the inverse of their {INCLUSION}")
    has_intervals, summary = intervals or cluster is not None, None
    names = DEFAULTS if not statistics else tuple(STATISTICS) if "all" in statistics else (*statistics,)
    names = tuple(dict.fromkeys(names))
    if not (by or has_intervals or statistics):
        summary = agreement_summary(counted, grades=grades, level=at)
        measured = summary.table
    else:
        n_resamples = N_RESAMPLES if has_intervals else None
        options = {"grades": grades, "level": at, "by": by, "statistics": names, "cluster": cluster}
        measured = agreement(counted, n_resamples=n_resamples, **options)  # type: ignore[arg-type]
    drawn_by = summary.cluster or None if summary else cluster
    return Found(
        {"agreement": measured},
        [*notes, *notes_of_rows(measured)],
        _basis(counted, at, summary, (cluster or "pair") if has_intervals else None),
        said=said,
        draw=partial(draw_agreement, by=by, is_summary=summary is not None),
        parameters={
            **{"level": at, "statistics": list(names), "all_rounds": all_rounds},
            **{"intervals": has_intervals or summary is not None, "cluster": drawn_by},
        },
        place="" if by else "agreement/agreement.csv",
        next=Next("resolve {JUDGMENTS}", "--out labels"),
    )


def _first_answers(judgments: Judgments, *, all_rounds: bool) -> tuple[Judgments, list[str], list[str]]:
    """Return the judgments that agreement is of, a note on what is left out, and a warning on what counts."""
    first = first_round(judgments)
    n_later = n_of(len(judgments) - len(first), "answer")
    if len(first) == len(judgments):
        return judgments, words_of_differing_votes(judgments), []
    if all_rounds:
        warning = (
            f"warning: {n_later} of later rounds or unasked for count too; pairs are asked again because of "
            "what was said of them, so this is not how far annotators agree"
        )
        return judgments, [], [warning]
    note = f"only first answers to each pair count; {n_later} of later rounds or unasked for left out"
    return first, [f"{note} (--all-rounds counts them)"], []


def _basis(
    judgments: Judgments, level: str, summary: AgreementSummary | None, drawn: str | None
) -> list[str]:
    """Return what the table rests on, in words; drawn: what intervals draw, where they were asked for."""
    n_pairs = len(code_pairs(judgments)[1]) if summary is None else sum(summary.n_pairs_by_votes)
    by_whom = n_of(judgments["annotator_id"].nunique(), "annotator")
    parts = [f"{n_of(len(judgments), 'judgment')} of {n_of(n_pairs, 'pair')} by {by_whom}"]
    parts += [f"alpha at the {level} level"] if level != "nominal" else []
    if summary is None:
        return [*parts, *([f"intervals by {drawn}"] if drawn else [])]
    unit, units = UNITS[summary.cluster]
    parts += [f"votes: {pairs_by_votes(summary.n_pairs_by_votes)}", f"intervals by {unit}"]
    has_effect = summary.design_effect == summary.design_effect
    return parts + ([f"design effect of {units} on alpha {summary.design_effect:.2f}"] if has_effect else [])
