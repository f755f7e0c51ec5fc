"""`score`: runs under qrels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.as_augmented import policy_of, say_shared
from fire_toolkit.cli.common import (
    DRAWN,
    drawn,
    format_option,
    formatted,
    n_of,
    refuse_untransposed,
    say,
    say_next,
    say_notes,
    setting_or_default,
    transpose_option,
)
from fire_toolkit.cli.correction import Correction, augmented_by_design, corrected_long, correction_by_design
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.hints import runs_named
from fire_toolkit.cli.honest import show_honest
from fire_toolkit.cli.noise import join_with_votes, say_errors_of_augmented
from fire_toolkit.cli.options import (
    accept_unpooled_option,
    choice_option,
    cluster_options,
    measure_option,
    out_option,
    reads,
)
from fire_toolkit.cli.printing import print_text
from fire_toolkit.cli.sampled_qrels import check_settled
from fire_toolkit.cli.trust import trust_notes
from fire_toolkit.cli.unusable import heading_of_usable, usable_alone
from fire_toolkit.evidence.qrels import POLICIES
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.matching.own_items import own_items_of
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import count_missing_members, parse_measure, restrict_to_groups
from fire_toolkit.scoring import Scoring, score_curves, score_runs
from fire_toolkit.scoring.breakdown import BreakdownScores, score_breakdown
from fire_toolkit.scoring.drawn import drawn_scores, score_cells
from fire_toolkit.tables import Run, Scores
from fire_toolkit.tables.columns import PAIR


@click.command()
@reads(
    *("runs", "qrels", "augmented", "own_item"),
    labels="labels.csv, or its folder: for --honest, and for scores corrected for errors of votes.",
    pool_sources="pool_sources.csv, or the pool's folder: marks runs that fed no pool; for --honest, who "
    "found what.",
)
@measure_option
@accept_unpooled_option
@choice_option(
    "--ties",
    TIE_RULES,
    "Docs of equal score: by doc id descending, in the order of --doc-ids, at their mean rank, with "
    "positives first or last, or the mean over all their orders.",
)
@click.option(
    "--groups",
    metavar="FILE",
    help="Rank the docs of each query's group alone, without the query's reference: groups.tsv.",
)
@click.option("--by", metavar="COLUMN", help="Give a score for each value of a column of the queries.")
@click.option("--per-query", is_flag=True, help="Also give the value of each query.")
@click.option("--honest", is_flag=True, help="Show each score with intervals, bounds, Judged@k and more.")
@click.option(
    "--policy",
    "policies",
    type=click.Choice(POLICIES),
    multiple=True,
    help="For --honest: what becomes of rejected originals (may be repeated). [default: as in `augment`]",
)
@cluster_options
@format_option
@transpose_option
@out_option
@click.option(
    "--curves",
    metavar="FILE",
    help="Also write curves as CSV, whatever -m names: precision at eleven levels of recall, and P, R, CG, "
    "nCG, DCG, nDCG, DCG_J and nDCG_J at the ranks 1 to 100.",
)
def score(
    given: Given,
    measures: tuple[str, ...],
    accept_unpooled: bool,
    ties: str,
    groups: str | None,
    by: str | None,
    per_query: bool,
    honest: bool,
    policies: tuple[str, ...],
    transpose: bool,
    curves: str | None,
) -> None:
    """Score runs by the original qrels and, if given, by the augmented ones.

    The table shows augmented (original + gain), shares times 100; LaTeX and Markdown print the best value
    of each measure bold. The other formats are long:
    run_id, qrels (original, augmented, delta), query_id (`all` for the mean), measure, value.

    Where labels say by which design votes were doubled, C@k and P@k are corrected for errors of votes. The
    corrected score, with a 95% interval that holds the queries drawn and the errors of votes, comes first
    once fourth votes show that votes err independently; the score as labelled stands beside it. In the long
    formats these are the qrels corrected, corrected_low and corrected_high (corrected_if_independent until
    that is known).

    Where docs of equal score could change a query, a note says how many, and the scores with positives
    last and first. --ties takes another rule for them; pools always take doc ids descending.

    --groups gives CIRR's Recall_subset@1, 2, 3 as C@1, C@2, C@3; the column reference of the queries says
    which doc is not an answer. --by adds the columns aspect and n_queries; a query whose value is several,
    joined by `;`, counts in each.

    --honest takes labels in the place of augmented qrels. Beside each score it shows the 95% interval of
    the score and of its gain, the score with unjudged docs left out (condensed), what it could be
    whatever the unjudged docs are, how much of what it reads was judged, and the score without the
    judgments that only this run contributed. --cluster is for intervals.
    Where a sample of queries was judged deep (pool --deep-queries), or pairs were drawn in strata, it also
    shows what the score is estimated to be, and how many positives were never judged. Where queries are
    flagged as unusable, a second table is over the usable ones; in csv and json the column queries says
    which.
    """
    names = measures or _with_expectation(tuple(setting_or_default((), "score", "measures")), ties)
    given.orders_docs = ties == "index"
    if transpose:
        refuse_untransposed(given.form)
        _refuse({"--honest": honest, "--by": bool(by), "--per-query": per_query}, beside="--transpose")
    is_usual = not any(given.values[name] for name in ("runs", "qrels", "own_item"))
    if honest:
        others = {"--ties": ties != "doc-desc", "--groups": bool(groups), "--by": bool(by)}
        _refuse(others | {"--curves": bool(curves)}, beside="--honest")
        policies = policies or (policy_of(given),)
        check_settled(given, names, accept=accept_unpooled)
        place = "scores/honest.csv" if is_usual else None
        show_honest(given, names, policies=policies, place=place)
        return
    _refuse({"--by": bool(per_query and by)}, beside="--per-query")
    runs_scored = _restricted(given, groups) if groups else given.stored_runs
    ordered: dict[str, Any] = {"ties": ties, "doc_order": _doc_order(given) if ties == "index" else None}
    scoring = score_runs(
        runs_scored,
        given.original,
        names,
        augmented=given.augmented_if_any,
        per_query=per_query or by is not None,
        **ordered,
    )
    check_settled(given, names, accept=accept_unpooled)
    divided = () if groups else names  # a group's docs are few, and its positives known
    qrels = (given.original, given.augmented_if_any)
    usable = None if by else usable_alone(given.unusable, runs_scored, *qrels, names, **ordered)
    is_plain = not (groups or by or per_query or ties != "doc-desc")
    correction = _correction(given, names) if is_plain else None
    table = _show(scoring, by, given, divided, usable, correction, per_query=per_query, transpose=transpose)
    parameters = {"measures": list(names), "ties": ties} | ({"by": by} if by else {})
    given.keep(table, "score", parameters, place="scores/scores.csv" if is_usual and is_plain else None)
    if curves:
        points = score_curves(runs_scored, given.original, augmented=given.augmented_if_any)
        own = {"depth": 100} | given.own.parameters
        given.write_table(curves, points, "score", own)
    given.say_unpooled()
    say_shared(given)
    _name_next(given)


def _correction(given: Given, names: tuple[str, ...]) -> Correction | None:
    """Return C@k and P@k corrected for errors of votes; None where no design says which votes there are."""
    if not augmented_by_design(given):
        return None
    return correction_by_design(given, names, join_with_votes(given, names))


def _name_next(given: Given) -> None:
    """Name the command that compares the runs, where there are several."""
    runs = given.values["runs"]
    if not runs or len(runs) > 1:
        ids = (("--query-ids", "query_ids"), ("--doc-ids", "doc_ids"))
        words = [f"{option} {given.values[key]}" for option, key in ids if given.values[key]]
        say_next(" ".join(["compare", *([runs_named(runs), *words] if runs else [])]))


def _show(
    scoring: Scoring,
    by: str | None,
    given: Given,
    measures: tuple[str, ...],
    usable: Scores | None,
    correction: Correction | None,
    *,
    per_query: bool,
    transpose: bool,
) -> pd.DataFrame:
    """Print the notes and the scores, drawn or in their long form, and return the long form."""
    say_notes(scoring.notes)
    if correction is not None:
        scoring = scoring._replace(scores=Scores(pd.concat([scoring.scores, corrected_long(correction)])))
    is_drawn = given.form in DRAWN and not per_query
    if by is None:
        table: pd.DataFrame = scoring.scores if usable is None else pd.concat([scoring.scores, usable])
        text = drawn_scores(scoring.scores, given.form, transpose=transpose) if is_drawn else ""
    else:
        table = aspects = score_breakdown(scoring.scores, given.queries, column=by)
        text = _drawn_breakdown(aspects, by, given.form) if is_drawn else ""
    if text and usable is not None:
        alone = Scores(usable.assign(query_id="all"))
        text += heading_of_usable(given.form) + drawn_scores(alone, given.form, transpose=transpose)
    text = text or formatted(table, "csv" if given.form == "table" else given.form)
    trusted = trust_notes(given, measures, scoring.scores) if measures else []
    trusted += correction.notes if correction is not None else []
    print_text(text, given.form if is_drawn else "csv", basis=given.basis(), notes=trusted)
    if correction is None:
        say_errors_of_augmented(given)
    return table


def _drawn_breakdown(scores: BreakdownScores, column: str, output_format: str) -> str:
    """Return a breakdown, aspects and measures × runs."""
    run_ids = list(dict.fromkeys(scores["run_id"]))
    rows = []
    for (aspect, n_queries, measure), own in scores.groupby(["aspect", "n_queries", "measure"], sort=False):
        of_runs = [own[own["run_id"] == run_id].set_index("qrels")["value"] for run_id in run_ids]
        cells = score_cells([values.to_dict() for values in of_runs], str(measure))
        rows.append([str(aspect) or "(none)", f"{n_queries:,}", str(measure), *cells])
    return drawn(rows, [column, "queries", "measure", *run_ids], output_format)


def _with_expectation(names: tuple[str, ...], ties: str) -> tuple[str, ...]:
    """Return default measures without those that the tie rule cannot score, and say which these are."""
    if ties != "expected":
        return names
    kept = tuple(name for name in names if parse_measure(name).definition.expected is not None)
    if kept and len(kept) < len(names):
        left_out = ", ".join(name for name in names if name not in kept)
        say(f"note: left out of the default measures: {left_out}; --ties expected has no closed form for it")
    return kept or names


def _restricted(given: Given, groups: str) -> list[Run]:
    """Return the runs with each query's group alone, and say what the lists lack."""
    members = read_delimited(given.use(groups), required=PAIR)
    references = own_items_of(given.queries)
    if not references:
        say("note: the queries have no column reference; no doc of a group is left out")
    if given.values["own_item"] == "keep":
        references = {}
    counted = members[members["query_id"].isin(set(given.original["query_id"]))]
    restricted = [restrict_to_groups(run, members, references) for run in given.runs]
    for run in restricted:
        n = count_missing_members(run, counted, references)
        if n:
            name = run["run_id"].cat.categories[0] if len(run) else "a run"
            say(f"note: {name}: {n_of(n, 'query')} whose list lacks a member of the group; ranks there are "
                "those among the members it has")  # fmt: skip
    return restricted


def _refuse(given: Mapping[str, bool], *, beside: str) -> None:
    for option, is_given in given.items():
        if is_given:
            raise click.UsageError(f"{option} does not go with {beside}; leave one of them out")


def _doc_order(given: Given) -> list[str]:
    """Return the docs in the order of the file given, else of the workspace's matrices."""
    path = given.path("doc_ids")
    if path is None:
        raise click.UsageError(
            "--ties index needs the collection's docs in their order: give --doc-ids FILE, a line each, "
            "as the matrices have them"
        )
    return read_ids(given.use(path), "doc_id")
