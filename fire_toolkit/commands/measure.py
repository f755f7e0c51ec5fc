"""`compare` and `difference` of runs, `measures` and what each is, and `tifa`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import pandas as pd

from fire_toolkit.commands.command import command, queries_of_lists
from fire_toolkit.commands.types import (
    AugmentedIfAny,
    BackgroundOf,
    ClusteredQueries,
    Clusters,
    DisputesOf,
    KnownLabels,
    Option,
    Original,
    OwnItem,
    OwnQueries,
    Runs,
    ScoreMeasures,
    Table,
)
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.background import Background, pairs_of_sample
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.correction import (
    CORRECTED,
    correct_for_errors,
    is_by_design,
    join_with_votes,
    with_corrected_differences,
)
from fire_toolkit.inference.differences import score_differences
from fire_toolkit.inference.judged_pairs import Tell, join_runs, silent
from fire_toolkit.matching.ranking import split_runs
from fire_toolkit.measures import list_measures, parse_measure
from fire_toolkit.measures.defaults import SCORE
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.reporting.honest import beside_usable, drawn_beside
from fire_toolkit.reporting.paper import drawn_overlaps
from fire_toolkit.results import Found, drawn_text
from fire_toolkit.scoring.tifa import Answers, Question, check_answers, judge_answers, mean_tifa, score_tifa
from fire_toolkit.tables import Labels, PoolSources, Run
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of


@command
def compare(
    runs: Annotated[Run | Sequence[Run], Table("top_runs")],
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    depth: Annotated[int | Sequence[int], Option(setting=("compare", "depth"), least=1)] = 10,
    rbo_p: Annotated[float | Sequence[float], Option(setting=("compare", "rbo_p"))] = 0.9,
    ties: Literal["broken", "w", "a", "b"] = "broken",
    per_query: bool = False,
) -> Found:
    """Compare the rankings of two runs or more, pair by pair: overlap and rank-biased overlap.

    Values are means over the queries that both runs have, from 0 (disjoint) to 1 (the same). The measures
    are fixed: overlap and average overlap at each --depth, and RBO (truncated, extrapolated, least and
    residual) for each --rbo-p. No qrels are needed; `difference -m` compares the scores of runs.

    Args:
        runs: The runs.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        depth: Compare the docs down to this rank (may be repeated).
        rbo_p: RBO's persistence, between 0 and 1 (may be repeated).
        ties: Docs of equal score: in rank order, or tied (variants of Corsi and Urbano 2024).
        per_query: Also give the value of each query.

    Examples:
        >>> import fire_toolkit as fire
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> found = fire.compare(runs, depth=2)
        >>> found.table[["run_a", "run_b", "measure", "value"]].head(2)
          run_a run_b            measure  value
        0  clip   ssb          overlap@2    1.0
        1  clip   ssb  average_overlap@2    0.5
        >>> found.basis
        '2 runs; 1 query; top 2; ties broken'
    """
    found = compare_runs(runs, depth=depth, rbo_p=rbo_p, ties=ties, per_query=per_query)
    depths = [depth] if isinstance(depth, int) else depth
    longest = max((int(run["rank"].max()) for run in split_runs(runs).values() if len(run)), default=0)
    end = f", where lists end at {longest}" if longest < max(depths) else ""
    more = [queries_of_lists(runs), f"top {', '.join(map(str, depths))}{end}", f"ties {ties}"]
    place = "" if per_query else "comparison/comparison.csv"
    return replace(found, more=more, draw=drawn_overlaps, is_long=per_query, place=place)


@command
def measures(name: Annotated[str | None, Option(is_argument=True)] = None) -> Found:
    """List the measures, or explain one: its definition, source and conventions.

    Args:
        name: A measure, with or without cutoff; all of them where none is named.

    Examples:
        >>> measures("AP@20").table[["measure", "unit"]]
          measure   unit
        0  AP[@k]  share
    """
    if name is None:
        found = [*list_measures()]
    elif name in MEASURES.built_in:
        found = [MEASURES[name]]
    else:
        try:
            found = [parse_measure(name).definition]
        except UsageError:
            shown = {key: item for item in MEASURES.values() for key in (item.pattern, item.key)}
            if name not in shown:
                raise
            found = [shown[name]]
    columns = {
        "measure": [each.pattern for each in found],
        "definition": [each.summary for each in found],
        "source": [each.source for each in found],
        "convention": [each.convention for each in found],
        "unit": [each.unit for each in found],
        "aggregate": [each.aggregate for each in found],
        "larger_is_better": [each.larger_is_better for each in found],
        "example": [each.example for each in found],
    }
    return Found({"measures": pd.DataFrame(columns)}, draw=_listed if name is None else _explained)


def _listed(table: pd.DataFrame, form: str) -> str:
    rows = table[["measure", "definition"]].to_numpy().tolist()
    return drawn_text(rows, ["measure", "definition"], form, align="left")


def _explained(table: pd.DataFrame, form: str) -> str:
    (row,) = table.to_dict("records")
    direction = "larger is better" if row["larger_is_better"] else "smaller is better"
    value = f"a {row['unit']}; {direction}; {row['aggregate']} over queries"
    parts = {"definition": row["definition"], "source": row["source"], "conventions": row["convention"]}
    lines = [f"  {key:<13}{text}\n" for key, text in (parts | {"value": value}).items()]
    example = f" (such as {row['example']})" if row["example"] != row["measure"] else ""
    return f"{row['measure']}{example}\n{''.join(lines)}"


@command
def tifa(
    questions: Annotated[Sequence[Question], Table("questions", metavar="QUESTIONS", is_argument=True)],
    answers: Annotated[
        Answers, Table("answers", takes="pd.DataFrame", metavar="[ANSWERS]", is_argument=True)
    ],
    labels: Annotated[Labels | None, Table("labels_given")] = None,
    *,
    per: Literal["query", "pair", "type", "label"] = "query",
) -> Found:
    """Score pairs by TIFA: the share of questions on the text that a VQA model answers as expected.

    QUESTIONS is TIFA's JSON (id, question, choices, answer, element_type). ANSWERS is CSV, TSV or a JSON list
    with query_id, doc_id, question, answer: an answer to every question of each pair. A result of TIFA's own
    benchmark (question_details) holds both. A question that a text has twice counts twice only with the
    questions' own file. No model is run, and the scores never become labels.

    Args:
        questions: The questions on each text.
        answers: The model's answers.
        labels: The labels: labels.csv, or its folder.
        per: A score for each text, pair, kind of question, or human label (with --labels).

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.scoring.tifa import Question, check_answers
        >>> asked = [Question("q", "is it red?", ("yes", "no"), "yes"), Question("q", "how many?", (), "2")]
        >>> table = pd.DataFrame({"query_id": "q", "doc_id": "d", "question": ["is it red?", "how many?"]})
        >>> fire.tifa(asked, check_answers(table.assign(answer=["Yes", "3"]))).table
          query_id  tifa  n_pairs
        0        q   0.5        1
    """
    if (per == "label") != (labels is not None):
        raise UsageError("--per label and --labels go together")
    judged = judge_answers(questions, check_answers(answers))
    scores = score_tifa(judged)
    by_type = score_tifa(judged, ["element_type"])
    tables = {"query": mean_tifa(scores, "query_id"), "pair": scores, "type": by_type}
    if labels is not None:
        tables["label"] = mean_tifa(scores.merge(labels[[*PAIR, "label"]], on=PAIR), "label")
    said = []
    if len(scores):
        by_text = tables["query"]["tifa"]
        words = f"{n_of(len(scores), 'pair')} of {n_of(len(by_text), 'text')}"
        said = [f"{words}; mean TIFA over texts {100 * by_text.mean():.1f}"]
    return Found(tables, shown=per, draw=_drawn_shares, said=said)


def _drawn_shares(table: pd.DataFrame, form: str) -> str:
    rows = [
        [f"{100 * cell:.1f}" if name == "tifa" else str(cell) for name, cell in row.items()]
        for row in table.to_dict("records")
    ]
    return drawn_text(rows, [str(name) for name in table.columns], form)


@command
def difference(
    runs: Runs,
    qrels: Original,
    augmented: AugmentedIfAny = None,
    labels: KnownLabels = None,
    pool_sources: Annotated[PoolSources | None, Table("sources_if_any", is_told=True)] = None,
    *,
    background: BackgroundOf = None,
    disputes: DisputesOf = None,
    queries: ClusteredQueries = None,
    own_item: OwnItem = None,
    clusters: Clusters = None,
    measures: ScoreMeasures = SCORE,
    tell: Tell = silent,
) -> Found:
    """Test the differences of every two runs: interval, p-value, effect size.

    Interval and p come from one method: the score method for C@k (Tango; McNemar) and where few queries
    differ, else Student's t over queries or clusters. p_holm is corrected for the pairs tested together. A
    note says where a measure reads the runs to different depths. Where a sample or second votes by design
    allow it, the difference is also estimated (est. a - b) or corrected for errors of votes, as in `score
    --honest`.

    Args:
        runs: The runs.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        labels: The labels of judged pairs.
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        background: What else is known of the labels.
        disputes: Of `resolve`; where votes were asked by design, they say how often these differ.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        clusters: Intervals over whole clusters of queries, named by this column of the queries.
        measures: A measure, such as C@10; may be repeated.

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run(rows, name, query_ids=["p", "q"], doc_ids=["x", "y"]) for name, rows in
        ...         {"clip": [[2, 1], [2, 1]], "ssb": [[1, 2], [1, 2]]}.items()]
        >>> pairs = {"query_id": ["p", "q"], "doc_id": "x", "relevance": 1}
        >>> found = fire.difference(runs, check_qrels(pd.DataFrame(pairs)), measures=["C@1"])
        >>> found.table[["run_a", "run_b", "difference", "test"]]
          run_a run_b  difference   test
        0  clip   ssb         1.0  score
    """
    known = background or Background(disputes=disputes)
    design = None if augmented is None else known.design
    options: dict[str, Any] = {"sources": pool_sources, "clusters": clusters, "tell": tell}
    qrels_of_both = [qrels] if augmented is None else [qrels, augmented]
    by_design = labels if augmented is not None and is_by_design(labels, known) else None
    if by_design is None:
        joined = join_runs(runs, *qrels_of_both, *pairs_of_sample(design))
    else:
        joined = join_with_votes(runs, qrels, by_design, known, *qrels_of_both)
    found = score_differences(joined, qrels, measures, augmented=augmented, design=design, **options)
    table, said = found.table, list(found.notes)
    if by_design is not None:
        by: dict[str, Any] = {"sources": pool_sources, "clusters": clusters, "policies": [known.policy]}
        correction = correct_for_errors(joined, qrels, by_design, measures, known, **by)
        table = with_corrected_differences(table, correction)
        said += correction.notes
    if (alone := known.usable_join(joined)) is not None:
        original, corrected = known.usable(qrels, augmented)
        usable = score_differences(alone, original, measures, augmented=corrected, **options)
        table = beside_usable(table, usable.table)
    draw = partial(drawn_beside, draw=_drawn)
    return Found(
        {"differences": table},
        [*said, *known.notes],
        ["Holm over the pairs of runs under one measure and qrels"],
        draw=draw,
    )


def _drawn(table: pd.DataFrame, form: str) -> str:
    corrected = set(table.loc[table["qrels"].isin(CORRECTED.values()), "measure"])
    rows = [_cells(row, corrected) for row in table.to_dict("records")]
    return drawn_text([list(row.values()) for row in rows], list(rows[0]), form)


def _cells(row: Mapping[Any, Any], corrected: set[str]) -> dict[str, str]:
    """Return a difference's cells: shares times 100. corrected: the measures with corrected scores beside."""
    is_labelled = row["measure"] in corrected and row["qrels"] == "augmented"
    labelling = "as labelled" if is_labelled else str(row["qrels"]).replace("_", " ")
    scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
    shown = [f"{scale * row[name]:+.1f}" for name in ("difference", "low", "high") if row[name] == row[name]]
    cells = {
        "qrels": labelling,
        "measure": row["measure"],
        "runs": f"{row['run_a']} & {row['run_b']}",
        "a": f"{scale * row['value_a']:.1f}",
        "b": f"{scale * row['value_b']:.1f}",
        "a - b": shown[0],
        "95%": " to ".join(shown[1:]) or "not known",
        "test": row["test"],
        "p": _p(row["p"]),
        "Holm": _p(row["p_holm"]),
        "effect": "" if row["effect"] != row["effect"] else f"{row['effect']:+.2f}",
        "wins": "" if row["qrels"] in CORRECTED.values() else f"{row['n_better']} : {row['n_worse']}",
    }
    if "estimate" in row:
        value, low, high = (scale * row[name] for name in ("estimate", "estimate_low", "estimate_high"))
        why = "" if row["estimate_method"] != row["estimate_method"] else str(row["estimate_method"])
        is_known = value == value
        cells["est. a - b"] = f"{value:+.1f} ({low:+.1f} to {high:+.1f})" if is_known else why.split(":")[0]
    return cells


def _p(value: float) -> str:
    return "" if value != value else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
