"""`report`: the tables and findings of the FIRE paper for any benchmark, one command each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click
import numpy as np
import pandas as pd

from fire_toolkit.cli.common import (
    FireGroup,
    drawn,
    format_option,
    n_of,
    needed_workspace,
    refuse_untransposed,
    say,
    say_notes,
    transpose_option,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import choice_option, measure_option, reads
from fire_toolkit.cli.printing import Draw, print_table, shown_as
from fire_toolkit.cli.progress_line import Progress, wipe_progress
from fire_toolkit.cli.report_html import html
from fire_toolkit.cli.report_plot import plot
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.collections.similarity import nearest_mean
from fire_toolkit.commands.notes import queries_of_lists
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.trust import describe_labelled
from fire_toolkit.measures.defaults import FIRST, PAPER
from fire_toolkit.pooling.draws import draw_ids
from fire_toolkit.reporting.captions import by_length, by_similarity
from fire_toolkit.reporting.captions import saturation as saturated
from fire_toolkit.reporting.contributions import all_and_new
from fire_toolkit.reporting.data import describe_data
from fire_toolkit.reporting.methods import blanks_of, drawn_paragraph, methods_paragraphs
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.drawn import drawn_scores
from fire_toolkit.tables import Qrels, first_round


@click.group(cls=FireGroup)
def report() -> None:
    """Make the tables and findings of the FIRE paper: text, CSV, JSON, LaTeX or Markdown."""


report.add_command(html)
report.add_command(plot)


@report.command()
@choice_option("--format", ("text", "latex"), "Form of the output.")
def methods(format: str) -> None:  # noqa: A002
    """Write the paragraphs on methods and agreement for a paper, from the workspace's files.

    What a data paper's checklist asks and no file knows stands in [study] of fire.toml: recruitment,
    qualification, pay, consent, ethics. What is missing is printed as a blank with its name.
    """
    from fire_toolkit.cli.methods_facts import workspace_facts

    workspace = needed_workspace(", so nothing is known of the study")
    paragraphs = methods_paragraphs(workspace_facts(workspace, Given({})))
    wipe_progress()
    click.echo("\n\n".join(drawn_paragraph(title, text, format) for title, text in paragraphs))
    blanks = blanks_of(paragraphs)
    if blanks:
        say(f"blanks: {', '.join(blanks)}; [study] in fire.toml has a key for each that no file can know")


def _print(table: pd.DataFrame, given: Given, draw: Draw, *basis: str, notes: Sequence[str] = ()) -> None:
    """Print a table of runs, and say which of them fed no pool."""
    print_table(table, given.form, draw, basis=given.basis(*basis), notes=notes)
    given.say_unpooled()


@report.command()
@reads("runs", "qrels", "augmented", "own_item")
@measure_option
@format_option
@transpose_option
def table1(given: Given, measures: tuple[str, ...], transpose: bool) -> None:
    """Table 1: each run's score with its gain, A (B + C): augmented (original + gain)."""
    with Progress("ranks of judged docs"):
        runs, original, augmented = given.runs_and_qrels
        scores, notes = score_runs(runs, original, measures or PAPER, augmented=augmented)
    say_notes(notes)
    if transpose:
        refuse_untransposed(given.form)
    design = design_if_any(given)
    trusted = describe_labelled(runs, original, augmented, scores, measures or PAPER, design)
    _print(scores, given, partial(drawn_scores, transpose=transpose), notes=trusted)


@report.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@reads("pool_sources", queries="The queries, with the column of --by.")
@click.option("--guideline", metavar="NAME", help="The guideline judged by.")
@click.option(
    "--by", "dataset", metavar="COLUMN", help="Also a row for each value of this column of the queries."
)
@format_option
def table2(given: Given, dataset: str | None) -> None:
    """Table 2: pairs, labels, outcomes and agreement, by run and by dataset.

    `resolved` is the share of pairs with a label, most of them labelled once: the paper calls it
    agreement. `agreeing`, `unanimous` and alpha are of the pairs labelled twice or more. Labels are
    counted as `agree` counts them: the first answers to each pair.
    """
    table, grades = given.judgments, given.grades
    datasets = given.column(dataset)
    n_later = len(table) - len(first_round(table))
    if n_later:
        say(f"note: labels and agreement rest on first answers, as in `agree`; {n_of(n_later, 'answer')} of "
            "later rounds or unasked for left out (labels are resolved from all rounds)")  # fmt: skip
    with Progress(f"resolving {n_of(len(table), 'judgment')}"):
        found = describe_data(table, grades=grades, sources=given.sources_if_any, datasets=datasets)
    say_notes(dict.fromkeys(note for note in found["note"] if note))
    basis = given.basis(n_of(len(table), "judgment"), "rule fire")
    print_table(found, given.form, _DATA, basis=basis)


_DATA = shown_as(
    {
        "group": ("", ""),
        "pairs": ("pairs", ","),
        "labels": ("labels", ","),
        "resolved_share": ("resolved", ".1%"),
        "relevant": ("relevant", ","),
        "relevant_share": ("(share)", ".1%"),
        "irrelevant": ("irrelevant", ","),
        "disagreement": ("disagreement", ","),
        "multiply_labelled": ("labelled twice+", ","),
        "agreeing": ("agreeing", ".3f"),
        "unanimous": ("unanimous", ".3f"),
        "alpha": ("alpha", ".3f"),
    }
)


@report.command()
@reads("runs", "own_item")
@click.option("--depth", type=click.IntRange(min=1), default=10, show_default=True, help="Docs compared.")
@click.option("--rbo-p", multiple=True, type=float, help="RBO's persistence. [default: 0.9 and 0.98]")
@format_option
def table3(given: Given, depth: int, rbo_p: tuple[float, ...]) -> None:
    """Table 3: overlap and rank-biased overlap of the top docs, for every two runs.

    The paper does not say which RBO it prints; the truncated and the extrapolated one, and average
    overlap, stand here under their names.
    """
    runs = given.runs_to(depth)
    long, notes = compare_runs(runs, depth=depth, rbo_p=rbo_p or (0.9, 0.98))
    say_notes(notes)
    more = [queries_of_lists(runs), f"top {depth}", "ties broken"]
    print_table(long, given.form, _drawn_overlaps, basis=given.basis(*more, of={"runs": runs}))


def _drawn_overlaps(long: pd.DataFrame, output_format: str) -> str:
    kept = long[~long["measure"].str.contains("RBO_min|RBO_res")]
    wide = kept.pivot_table(index=["run_a", "run_b"], columns="measure", values="value", sort=False)
    values = zip(wide.index, wide.to_numpy(), strict=True)
    rows = [[" & ".join(pair), *(f"{value:.4f}" for value in row)] for pair, row in values]
    return drawn(rows, ["runs", *wide.columns], output_format)


@report.command()
@reads("runs", "qrels", "augmented", "pool_sources", "own_item")
@measure_option
@format_option
def table4(given: Given, measures: tuple[str, ...]) -> None:
    """Table 4: each run with all judgments, and without those that only it contributed ("New")."""
    with Progress("ranks of judged docs"):
        table = all_and_new(*given.runs_and_qrels, measures or PAPER[:3], sources=given.sources)
    _print(table, given, _NEW)


_NEW = shown_as(
    {
        "run_id": ("run", ""),
        "pooled": ("pooled", ""),
        "measure": ("measure", ""),
        "original": ("original", ".3f"),
        "all": ("all", ".3f"),
        "new": ("new", ".3f"),
        "change": ("change", "+.3f"),
        "n_own": ("own pairs", ","),
        "n_own_relevant": ("own positives", ","),
    }
)


@report.command()
@reads("runs", "qrels", "augmented", "queries", "own_item")
@click.option("--width", default=10, show_default=True, help="Characters in a bin.")
@measure_option
@format_option
def length(given: Given, width: int, measures: tuple[str, ...]) -> None:
    """Positives per caption, and each run's gain, by the length of the caption."""
    with Progress("ranks of judged docs"):
        tables = (*given.runs_and_qrels, given.queries)
        table = by_length(*tables, measures or (FIRST,), width=width)
    _print(table, given, _LENGTH)


_LENGTH = shown_as(
    {
        "from_chars": ("from", ""),
        "to_chars": ("to", ""),
        "n_queries": ("captions", ","),
        "run_id": ("run", ""),
        "measure": ("measure", ""),
        "original": ("original", ".3f"),
        "augmented": ("augmented", ".3f"),
        "delta": ("gain", "+.3f"),
        "low": ("95% from", "+.3f"),
        "high": ("to", "+.3f"),
    }
)


@report.command()
@reads("runs", "qrels", "augmented", "own_item")
@measure_option
@format_option
def saturation(given: Given, measures: tuple[str, ...]) -> None:
    """The share of queries that are saturated for each run, for any run and for every run."""
    with Progress("ranks of judged docs"):
        table = saturated(*given.runs_and_qrels, measures or PAPER[:3])
    _print(table, given, _SATURATION)


_SATURATION = shown_as(
    {
        "measure": ("measure", ""),
        "run_id": ("run", ""),
        "original": ("original", ".1%"),
        "augmented": ("augmented", ".1%"),
        "left": ("left to win", ".1%"),
    }
)


_COMPARED = 8_000  # captions, whose likeness takes some 10 s beside 50,000 training captions


@report.command()
@reads("runs", "qrels", "augmented", "queries", "own_item")
@click.option("--train", required=True, metavar="FILE", help="Training captions: a table with a column text.")
@click.option("--nearest", default=5, show_default=True, help="How many nearest training captions count.")
@click.option(
    "--depth", "k", default=1, show_default=True, help="A caption is solved with a positive in its top docs."
)
@format_option
def similarity(given: Given, train: str, nearest: int, k: int) -> None:
    """Compare solved and unsolved captions of each run by their similarity to training captions.

    The likeness of a caption is its mean cosine (character n-grams) with its nearest training captions. Of
    more than 8,000 captions so many are drawn.
    """
    runs, *qrels = given.runs_and_qrels
    captions, ids = given.queries, pd.Index(qrels[0]["query_id"].unique())
    drawn = np.argsort(draw_ids(ids.tolist(), seed=0), kind="stable")[:_COMPARED]
    captions = captions[captions["query_id"].isin(ids[drawn])]
    original, augmented = (Qrels(each[each["query_id"].isin(ids[drawn])]) for each in qrels)
    known = read_delimited(given.use(train), required=["text"])["text"].tolist()
    with Progress(f"{n_of(len(captions), 'caption')} beside {n_of(len(known), 'training caption')}"):
        likeness = nearest_mean(captions["text"].tolist(), known, n_nearest=nearest)
        by_query = pd.Series(likeness, index=captions["query_id"])
        table = by_similarity(runs, original, augmented, by_query, k=k)
    some = f"{len(drawn):,} of {len(ids):,} captions, drawn by their ids"
    notes = [some] if len(drawn) < len(ids) else []
    _print(table, given, _SIMILARITY, n_of(len(known), "training caption"), notes=notes)


_SIMILARITY = shown_as(
    {
        "run_id": ("run", ""),
        "qrels": ("qrels", ""),
        "n_solved": ("solved", ","),
        "solved": ("likeness", ".4f"),
        "n_unsolved": ("unsolved", ","),
        "unsolved": ("likeness", ".4f"),
        "difference": ("difference", "+.4f"),
        "low": ("95% from", "+.4f"),
        "high": ("to", "+.4f"),
        "p": ("p", ".4f"),
    }
)
