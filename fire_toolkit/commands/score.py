"""`score`: runs under qrels."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import pandas as pd

from fire_toolkit.commands.command import command, unpooled
from fire_toolkit.commands.types import (
    AugmentedIfAny,
    BackgroundOf,
    Clusters,
    DisputesOf,
    FedRuns,
    KnownLabels,
    Option,
    Original,
    ScoreMeasures,
    Table,
)
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.correction import correct_for_errors, is_by_design, with_corrected_scores
from fire_toolkit.inference.honest import scores_with_uncertainty
from fire_toolkit.inference.judged_pairs import Tell, silent
from fire_toolkit.inference.trust import describe_labelled
from fire_toolkit.inference.votes import words_of_errors
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.matching.own_items import own_items_of
from fire_toolkit.measures import count_missing_members, parse_measure, restrict_to_groups
from fire_toolkit.measures.defaults import BY_RANK, SCORE
from fire_toolkit.reporting.honest import USABLE, drawn_beside, show_honest, usable_scores
from fire_toolkit.results import Found, Next, drawn_text
from fire_toolkit.scoring import score_curves, score_runs
from fire_toolkit.scoring.bidirectional import drawn_directions, score_both_ways
from fire_toolkit.scoring.drawn import drawn_scores, score_cells
from fire_toolkit.scoring.score import BreakdownScores, score_breakdown
from fire_toolkit.tables import PoolSources, Qrels, Queries, Scores
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of

_OF_CURVES = [f"{curve}@{rank}" for rank in (10, 100) for curve in BY_RANK]  # which notes on them name
_OF_SCORES = ("ties", "groups", "by", "per_query", "curves")
_DRAWN = partial(drawn_beside, draw=drawn_scores, column="query_id")
Policies = Annotated[Sequence[Literal["union", "override", "drop"]], Option(("--policy",), needs="honest")]


@command
def score(
    runs: Annotated[AnyRun | Sequence[Any], Table("runs_or_matrix", takes="AnyRun | Sequence[AnyRun]")],
    qrels: Original,
    augmented: AugmentedIfAny = None,
    labels: KnownLabels = None,
    pool_sources: Annotated[PoolSources | None, Table("sources_of_honest", is_told=True)] = None,
    back: Annotated[Qrels | None, Table("back", apart=("augmented",), needs="direction")] = None,
    groups: Annotated[pd.DataFrame | None, Table("groups")] = None,
    *,
    background: BackgroundOf = None,
    disputes: DisputesOf = None,
    fed: FedRuns = None,
    doc_order: Annotated[Sequence[str] | None, Table("doc_order", is_told=True)] = None,
    queries: Annotated[Queries | None, Table("named_queries")] = None,
    own_item: Annotated[Literal["drop", "keep"] | None, Table("", takes="str | None")] = None,
    clusters: Clusters = None,
    measures: ScoreMeasures = SCORE,
    ties: Literal["doc-desc", "index", "average", "optimistic", "pessimistic", "expected"] = "doc-desc",
    by: Annotated[str | None, Option(metavar="COLUMN")] = None,
    per_query: Annotated[bool, Option(apart=("by",))] = False,
    honest: Annotated[bool, Option(apart=_OF_SCORES)] = False,
    policies: Policies = (),
    curves: Annotated[bool, Option(apart=("ties", "by", "per_query"))] = False,
    direction: Annotated[Literal["both"] | None, Option(apart=("honest", "own_item", *_OF_SCORES))] = None,
    folds: Annotated[int | None, Option(least=1, needs="direction")] = None,
    tell: Tell = silent,
) -> Found:
    """Score runs by the original qrels and, if given, by the augmented ones.

    The table shows augmented (original + gain), shares times 100. The formats csv, tsv and json are long:
    run_id, qrels (original, augmented, delta), query_id (`all` for the mean), measure, value. In a workspace
    `score` and `score --honest` keep their tables in scores/; other options write nothing but --out.

    Where pairs got second votes by design, C@k and P@k are also given as corrected for errors of votes, with
    a 95% interval (docs/noise.md). A note says for how many queries docs of equal score matter; --ties takes
    another rule for them.

    --honest adds intervals of scores and gains, bounds over unjudged docs, condensed scores, the share
    judged, and the score without the judgments that only this run contributed; where a sample was judged,
    also estimates (docs/comparison.md). In Python it needs labels. Where queries are flagged as unusable, a
    second table is over the usable ones.

    --groups gives CIRR's Recall_subset@k as C@k; the column reference of the queries says which doc is no
    answer. --by adds the columns aspect and n_queries; a query with several values, joined by `;`, counts in
    each.

    --direction both takes one matrix of texts × items, or two runs, texts to items and items to texts. It
    gives R@1, 5, 10 (whether any positive is in the top k), MedR and MnR of each direction, R@Sum and mR.
    Items are scored by the same qrels, in which every ranked text must be a query, or by those of --back.

    Args:
        runs: The runs; with `direction`, one matrix or two runs.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        labels: The labels of judged pairs, for `honest` and for scores corrected for errors of votes.
        pool_sources: Marks runs that fed no pool; for `honest`, who found what.
        back: Items and their texts, where these are not the qrels the other way round (ECCV Caption).
        groups: Rank the docs of each query's group alone, without the query's reference: groups.tsv.
        background: What else is known of the labels.
        disputes: Of `resolve`; where votes were asked by design, they say how often these differ.
        fed: The runs that fed the pool.
        doc_order: The collection's docs in their order.
        queries: The queries, with own items and the columns that other options name.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        clusters: Intervals over whole clusters of queries, named by this column of the queries.
        measures: A measure, such as C@10; may be repeated.
        ties: Docs of equal score: by doc id descending, in the order of doc_ids, at their mean rank, with
            positives first or last, or the mean over all their orders.
        by: Give a score for each value of a column of the queries.
        per_query: Also give the value of each query.
        honest: Show each score with intervals, bounds, Judged@k and more.
        policies: For --honest: what becomes of rejected originals (may be repeated). [default: as in
            `augment`]
        curves: Give curves instead, whatever -m names: precision at eleven levels of recall, and P, R, CG,
            nCG, DCG, nDCG, DCG_J and nDCG_J at the ranks 1 to 100.
        direction: Score from texts to items and from items to texts.
        folds: Average over so many folds of consecutive items (COCO 1K: 5), in the order of the matrix, or
            of doc_ids for two runs.

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> run = fire.run([[1, 2]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["x"], "relevance": 1}))
        >>> fire.score([run], qrels, measures=["C@1", "RR"]).table
          run_id     qrels query_id measure  value
        0   clip  original      all     C@1    0.0
        1   clip  original      all      RR    0.5
    """
    known = background or Background(disputes=disputes)
    if direction:
        of_both: Any = {"back": back, "folds": folds, "docs": doc_order, "queries": queries}
        table, notes = score_both_ways(runs, qrels, augmented, **of_both)
        return Found({"scores": table}, notes, draw=drawn_directions)
    by_votes: Any = {"sources": pool_sources, "clusters": clusters, "policies": policies or [known.policy]}
    if honest:
        rows = scores_with_uncertainty(runs, qrels, labels, measures, known, **by_votes, tell=tell)
        return show_honest(rows, place="" if policies else "scores/honest.csv")
    runs, qrels, augmented, notes = _restricted(runs, groups, qrels, augmented, queries, own_item)
    fed = set(pool_sources["run_id"]) if fed is None and pool_sources is not None else fed
    basis = [*unpooled(runs, fed), *known.notes]
    ordered: Any = {"ties": ties, "doc_order": doc_order}
    measures, left_out = _with_expectation(_OF_CURVES if curves else measures, ties)
    each = per_query or bool(by)
    scores, own = score_runs(runs, qrels, measures, augmented=augmented, per_query=each, **ordered)
    is_plain = not (curves or each) and groups is None and ties == "doc-desc"
    notes += [*left_out, *own, *_as_labelled(is_plain, augmented, labels, known)]
    if groups is None and augmented is not None:  # a group's docs are few, and its positives known
        notes += describe_labelled(runs, qrels, augmented, scores, measures, known.design)
    if curves:
        return Found({"curves": score_curves(runs, qrels, augmented=augmented)}, notes + basis, is_long=True)
    errors = {} if augmented is None else known.counts.get("label_errors", {})
    said = [words_of_errors(errors)] if "wrong_share" in errors else []
    if is_plain and augmented is not None and is_by_design(labels, known):
        correction = correct_for_errors(runs, qrels, labels, measures, known, **by_votes)
        scores, said = with_corrected_scores(scores, correction), []
        notes += correction.notes
    if by is None and known.unusable is not None:
        usable = usable_scores(known.unusable, runs, qrels, augmented, measures, **ordered)
        scores = scores if usable is None else Scores(pd.concat([scores, usable]))
    return _shown(scores, [*notes, *basis], said, queries, by=by, is_long=per_query, is_plain=is_plain)


def _as_labelled(is_plain: bool, augmented: Qrels | None, labels: Any, known: Background) -> list[str]:
    """Return that scores are as labelled where plain ones would be corrected for errors."""
    if is_plain or augmented is None or not is_by_design(labels, known):
        return []
    return [
        "as labelled: curves and scores within groups, of single queries, of a column's values and by "
        "another rule of ties are not corrected for errors of labels; plain `score` is"
    ]


def _shown(
    scores: Scores,
    notes: list[str],
    said: list[str],
    queries: Queries | None,
    *,
    by: str | None,
    is_long: bool,
    is_plain: bool,
) -> Found:
    """Return scores as a result, whole or for each value of a column of the queries."""
    if is_long and scores.duplicated(["run_id", "qrels", "query_id", "measure"]).any():
        raise JoinError(f"a query has the id {USABLE!r}, which stands for a mean; leave out values per query")
    goes_on = Next("compare {SAME_RUNS}") if scores["run_id"].nunique() > 1 else ""
    if by is None:
        place = "scores/scores.csv" if is_plain else ""
        beside: Any = {"said": said, "draw": _DRAWN, "is_long": is_long, "place": place, "next": goes_on}
        return Found({"scores": scores}, notes, **beside)
    if queries is None:
        raise UsageError(f"by {by!r} names a column of the queries; give queries too")
    aspects = score_breakdown(scores, queries, column=by)
    draw = partial(_drawn_breakdown, column=by)
    return Found({"aspects": aspects}, notes, said=said, draw=draw, next=goes_on)


def _with_expectation(measures: Sequence[str], ties: str) -> tuple[Sequence[str], list[str]]:
    """Return measures; of the default ones for expected ties those with an expectation, and a note."""
    if ties != "expected" or tuple(measures) != SCORE:
        return measures, []
    kept = [name for name in SCORE if parse_measure(name).definition.is_linear]
    left_out = ", ".join(name for name in SCORE if name not in kept)
    words = f"left out of the default measures: {left_out}; --ties expected has no closed form for it"
    return kept, [words]


def _restricted(
    runs: Any, groups: Any, qrels: Any, augmented: Any, queries: Queries | None, own_item: str | None
) -> tuple[Any, Any, Any, list[str]]:
    """Return runs and qrels with the group of each query alone, where there are any, and what lists lack.

    A query whose rows all lie outside keeps them, as not relevant.
    """
    if groups is None:
        return runs, qrels, augmented, []
    is_kept = queries is None or own_item == "keep"
    references = {} if is_kept else own_items_of(queries)
    no_reference = "the queries have no column reference; no doc of a group is left out"
    notes = [] if references or is_kept else [no_reference]
    members = groups[groups["query_id"].isin(set(qrels["query_id"]))]
    whole: Sequence[Any] = [runs] if isinstance(runs, pd.DataFrame) else runs
    restricted = [restrict_to_groups(run, groups, references) for run in whole]
    for run in restricted:
        if n := count_missing_members(run, members, references):
            name = run["run_id"].cat.categories[0] if len(run) else "a run"
            notes.append(
                f"{name}: {n_of(n, 'query')} whose list lacks a member of the group; ranks there are those "
                "among the members it has"
            )
    within: list[Any] = [None, None]
    for n, which in enumerate((qrels, augmented)):
        if which is not None:
            is_within = pair_rows(which[PAIR], groups) >= 0
            is_kept = is_within | ~which["query_id"].isin(which["query_id"][is_within])
            within[n] = which.assign(relevance=which["relevance"].where(is_within, 0))[is_kept]
    return restricted, *within, notes


def _drawn_breakdown(scores: BreakdownScores, form: str, *, column: str) -> str:
    """Return a breakdown, aspects and measures × runs."""
    ids = list(dict.fromkeys(scores["run_id"]))
    rows = []
    for (aspect, n_queries, measure), own in scores.groupby(["aspect", "n_queries", "measure"], sort=False):
        of_runs = [own[own["run_id"] == run_id].set_index("qrels")["value"] for run_id in ids]
        cells = score_cells([values.to_dict() for values in of_runs], str(measure))
        rows.append([str(aspect) or "(none)", f"{n_queries:,}", str(measure), *cells])
    return drawn_text(rows, [column, "queries", "measure", *ids], form)
