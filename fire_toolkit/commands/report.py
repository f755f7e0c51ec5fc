"""`report`: the tables, findings, methods and figures of a paper on corrected labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd

from fire_toolkit.collections.similarity import nearest_mean
from fire_toolkit.commands.command import (
    Part,
    column_of,
    command,
    is_missing,
    of_parts,
    queries_of_lists,
    rests_on,
    unpooled,
)
from fire_toolkit.commands.types import BackgroundOf, FedRuns, Measures, Option, OwnItem, Table
from fire_toolkit.errors import OptionError, UsageError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.guidelines.model import Grades, fitting_level
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.correction import is_by_design
from fire_toolkit.inference.judged_pairs import Tell, silent
from fire_toolkit.inference.trust import describe_labelled
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.measures.defaults import FIRST, PAPER
from fire_toolkit.pooling.draws import draw_ids
from fire_toolkit.reporting.against import Since
from fire_toolkit.reporting.methods import STUDY, blanks_of, drawn_paragraphs, methods_paragraphs
from fire_toolkit.reporting.page import (
    FIGURES,
    ON_PAGE,
    WIDTHS,
    Figure,
    figures_of,
    headline_of,
    render_page,
)
from fire_toolkit.reporting.paper import (
    all_and_new,
    by_length,
    by_similarity,
    describe_data,
    drawn_as,
    drawn_overlaps,
    saturation,
)
from fire_toolkit.reporting.study import TOP, Study, Told
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.resolution.resolve import grades_or_usual
from fire_toolkit.results import Found
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.drawn import drawn_scores
from fire_toolkit.tables import Judgments, Labels, PoolSources, Qrels, Queries, Run
from fire_toolkit.words import n_of

_COMPARED = 8_000  # captions, whose likeness takes some 10 s beside 50,000 training captions
_NEAREST = 5  # training captions, whose likeness counts
_RBO_P = (0.9, 0.98)


# What `report` makes, each of the parameters that count for it.


def _table1(it: Any) -> Found:
    measures = it.measures or PAPER
    scores, notes = score_runs(it.runs, it.qrels, measures, augmented=it.augmented)
    design = it.background.design if it.background else None
    trusted = describe_labelled(it.runs, it.qrels, it.augmented, scores, measures, design)
    if it.background and is_by_design(it.background.labels, it.background):
        trusted.append("scores are as labelled; `score` says what errors of votes do to C@k and P@k")
    return Found(
        {"scores": scores}, [*map(str, notes), *trusted, *unpooled(it.runs, it.fed)], draw=drawn_scores
    )


def _table2(it: Any) -> Found:
    n_later = len(it.judgments) - len(first_round(it.judgments))
    found = describe_data(
        it.judgments,
        grades=dict(grades_or_usual(it.judgments, it.grades)),
        level=it.level or fitting_level(it.grades or {}),
        labels=it.labels,
        sources=it.pool_sources,
        datasets=column_of(it.queries, it.by),
    )
    later = (
        f"labels and agreement rest on first answers, as in `agree`; {n_of(n_later, 'answer')} of later "
        "rounds or unasked for left out (labels are resolved from all rounds)"
    )
    notes = [*([later] if n_later else []), *dict.fromkeys(note for note in found["note"] if note)]
    more = [n_of(len(it.judgments), "judgment"), *(["rule fire"] if it.labels is None else [])]
    return Found({"data": found}, notes, more, draw=drawn_as("table2"))


def _table3(it: Any) -> Found:
    found = compare_runs(it.runs, depth=TOP, rbo_p=_RBO_P)
    more = [queries_of_lists(it.runs), f"top {TOP}", "ties broken"]

    def draw(table: Any, form: str) -> str:
        return drawn_overlaps(table[~table["measure"].str.contains("RBO_min|RBO_res")], form)

    return replace(found, more=more, draw=draw)


def _table4(it: Any) -> Found:
    table = all_and_new(it.runs, it.qrels, it.augmented, it.measures or PAPER[:3], sources=it.pool_sources)
    return Found({"new": table}, unpooled(it.runs, it.fed), draw=drawn_as("table4"))


def _length(it: Any) -> Found:
    table = by_length(it.runs, it.qrels, it.augmented, it.queries, it.measures or (FIRST,))
    return Found({"length": table}, unpooled(it.runs, it.fed), draw=drawn_as("length"))


def _saturation(it: Any) -> Found:
    table = saturation(it.runs, it.qrels, it.augmented, it.measures or PAPER[:3])
    return Found({"saturation": table}, unpooled(it.runs, it.fed), draw=drawn_as("saturation"))


def _similarity(it: Any) -> Found:
    ids = pd.Index(it.qrels["query_id"].unique())
    drawn = ids[np.argsort(draw_ids(ids.tolist(), seed=0), kind="stable")[:_COMPARED]]
    before, after = (Qrels(each[each["query_id"].isin(drawn)]) for each in (it.qrels, it.augmented))
    captions = it.queries[it.queries["query_id"].isin(drawn)]
    if not (captions["text"] != "").any():
        raise UsageError("queries: none has a text to compare with training captions")
    likeness = nearest_mean(captions["text"].tolist(), list(it.train), n_nearest=_NEAREST)
    by_query = pd.Series(likeness, index=captions["query_id"])
    table = by_similarity(it.runs, before, after, by_query, it.measures or (FIRST,))
    some = [f"{len(drawn):,} of {len(ids):,} captions are compared, drawn by their ids"]
    notes = [*(some if len(drawn) < len(ids) else []), *unpooled(it.runs, it.fed)]
    more = [n_of(len(it.train), "training caption")]
    return Found({"similarity": table}, notes, more, draw=drawn_as("similarity"))


def _methods(it: Any) -> Found:
    paragraphs = methods_paragraphs((it.told or Told()).facts)
    blanks = blanks_of(paragraphs)
    own = [name for name in blanks if name in STUDY]
    which = "each" if own == blanks else " and ".join(own)
    keys = f"; [study] in fire.toml has a key for {which}" if own else ""
    said = f"not stated: {', '.join(blanks)}{keys}"
    table = pd.DataFrame(paragraphs, columns=["title", "text"])
    return Found({"methods": table}, draw=drawn_paragraphs, said=[said] if blanks else [])


def _study(it: Any) -> Study:
    """Return the study that the tables of a report make."""
    given = {_FIELDS.get(name, name): each for name, each in vars(it).items() if not is_missing(each)}
    given.pop("figure", None)
    if (pooled := given.get("sources")) is not None:
        given["sources"] = PoolSources(pooled[pooled["query_id"].isin(it.qrels["query_id"])])
    study = Study(**{"background": Background(), "tops": it.runs, **given})
    known = study.background
    if not known.counts.get("include_machine"):  # which honest rows leave out
        return study
    policy, grade = known.policy, known.original_grade
    by_people = augment_qrels(study.original, study.labels, policy=policy, original_grade=grade)
    return replace(study, augmented=by_people.qrels)


def _html(it: Any) -> Found:
    study = _study(it)
    told, figures = study.told, figures_of(study, ON_PAGE)
    own = {name: getattr(it, name) for name in ("runs", "qrels", "labels", "pool_sources")}
    own["augmented"] = study.augmented
    title = f"Corrected labels: {told.name}" if told.name else "Corrected labels"
    alone = _alone(it, study)
    text = render_page(study, figures, title=title, subtitle=rests_on(own, more=alone, **told.said))
    size = f"{len(text.encode()) / 1000:,.0f} kB, {n_of(len(figures), 'figure')}"
    said = [*(text.replace("*", "") for text in headline_of(study)), f"{{out}}: {size}; open it in a browser"]
    return Found(
        {"figures": _texts(figures)},
        alone,
        files={"report.html": text},
        place="report.html",
        words="\n".join(said),
        parameters={"against": study.since.old.name} if study.since else {},
    )


def _alone(it: Any, study: Study) -> list[str]:
    """Return that people's labels alone count, where those of a machine do elsewhere."""
    return [] if study.augmented is it.augmented else ["scores are by people's labels alone"]


def _texts(figures: Mapping[str, Figure]) -> pd.DataFrame:
    return pd.DataFrame({"figure": list(figures), "text": [each.text for each in figures.values()]})


def _figures(it: Any) -> Found:
    figure = it.figure
    if it.measures and figure not in (None, "scores", "differences", "order", "length"):
        raise OptionError(f"-m does not go with {figure}; leave one of them out")
    study = _study(it)
    found = figures_of(study, [figure] if figure else FIGURES)
    if not found:
        raise UsageError(f"nothing to draw: the study has no data for {figure or 'any figure'}")
    names = [".svg"] if figure else [f"-{width}mm.{kind}" for width in WIDTHS for kind in ("svg", "pdf")]
    return Found(
        {"figures": _texts(found)},
        _alone(it, study),
        files={f"{name}{end}": each.plot for name, each in found.items() for end in names},
        place=f"figures/{figure}.svg" if figure else "figures",
        words=f"{{out}}: {found[figure].text if figure else n_of(len(found), 'figure')}",
    )


_FIELDS = {"qrels": "original", "pool_sources": "sources", "against": "since"}  # of a study, by parameter
_SCORED, _OF_STUDY = "runs qrels augmented", "runs qrels augmented labels queries"
_BESIDE = "background pool_sources judgments grades tops told tell"
PARTS = {
    "html": Part(_html, _OF_STUDY, f"{_BESIDE} against", writes=True),
    "figures": Part(_figures, _OF_STUDY, f"{_BESIDE} measures figure", writes=True),
    "methods": Part(_methods, "", "told"),
    "table1": Part(_table1, _SCORED, "background fed measures"),
    "table2": Part(_table2, "judgments", "grades level labels pool_sources queries by"),
    "table3": Part(_table3, "runs"),
    "table4": Part(_table4, f"{_SCORED} pool_sources", "fed measures"),
    "length": Part(_length, f"{_SCORED} queries", "fed measures"),
    "saturation": Part(_saturation, _SCORED, "fed measures"),
    "similarity": Part(_similarity, f"{_SCORED} queries train", "fed measures"),
}
_What = Literal[
    "html", "figures", "methods", "table1", "table2", "table3", "table4", "length", "saturation", "similarity"
]
_Figure = Literal[
    "scores", "differences", "order", "flips", "flips-length", "found", "length", "overlap", "rbo", "judged",
    "annotators",
]  # fmt: skip


@command
@of_parts(PARTS)
def report(
    what: Annotated[_What, Option(is_argument=True, metavar="WHAT")],
    runs: Annotated[Sequence[AnyRun], Table("runs_of_report", takes="Sequence[AnyRun]")] = (),
    *,
    qrels: Annotated[Qrels | None, Table("original")] = None,
    augmented: Annotated[Qrels | None, Table("augmented")] = None,
    labels: Annotated[Labels | None, Table("labels_of_report", is_told=True)] = None,
    judgments: Annotated[Judgments | None, Table("judgments_of_report")] = None,
    grades: Annotated[Grades | None, Table("grades_of_report", takes="Grades | None", is_told=True)] = None,
    level: Annotated[str | None, Table("level", is_told=True)] = None,
    pool_sources: Annotated[PoolSources | None, Table("sources_of_report")] = None,
    queries: Annotated[Queries | None, Table("queries_of_report")] = None,
    own_item: OwnItem = None,
    background: BackgroundOf = None,
    fed: FedRuns = None,
    train: Annotated[Sequence[str] | None, Table("training_captions")] = None,
    tops: Annotated[Sequence[Run] | None, Table("tops", is_told=True)] = None,
    against: Annotated[Since | None, Table("since", option="--against", metavar="OLD")] = None,
    told: Annotated[Told | None, Table("told", is_told=True)] = None,
    measures: Measures = (),
    by: Annotated[str | None, Option(metavar="COLUMN")] = None,
    figure: _Figure | None = None,
    tell: Tell = silent,
) -> Found:
    """Make the tables and findings of the FIRE paper, its methods, its figures, or one page with all of it.

    html: one file for reviewers that loads nothing from elsewhere: plots, tables, methods and manifests.
    Annotators stand in it by numbers. --against also shows what changed since another workspace or a release.

    figures: its plots for papers, as SVG and PDF, 85 and 180 mm wide; with --figure, --out may end in .svg,
    .pdf, .png or .json (the Vega-Lite spec), and is 85 mm wide where its name ends in -85mm. A plot shows the
    first measure.

    methods: the paragraphs on methods and agreement, from the workspace's files and [study] of fire.toml;
    what is missing is a blank with its name.

    table1: original and augmented scores. table2: pairs, labels and agreement, by run and by dataset. table3:
    overlap and rank-biased overlap. table4: each run without the judgments that only it contributed. length,
    saturation, similarity: gains by the length of captions, saturated queries, solved captions by their
    likeness to training captions (of more than 8,000, so many are drawn). docs/report.md explains the
    columns.

    Args:
        what: What is made.
        runs: The runs.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        labels: The labels of judged pairs.
        judgments: The judgments (judgments.csv). A page of files shows no agreement without them.
        grades: The grade of each label; those that labels spell, unless given.
        level: Of table2: the level of measurement that alpha is of, as in `agree`.
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        queries: The queries, with their texts, own items and the column of --by.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        background: What is known of the labels beyond their rows.
        fed: The runs that fed the pool.
        train: Of similarity: training captions (any collection file).
        tops: The first ten docs of each run, where runs are no tables.
        against: Of html: also what changed since another workspace, or a release (a folder or a zip).
        told: What is known of the study that no table holds.
        measures: A measure, such as C@10; may be repeated.
        by: Of table2: also a row for each value of this column of the queries.
        figure: Of figures: this one alone. [default: all, into a folder]

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> pairs = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "relevance": 1})
        >>> both, qrels = check_qrels(pairs), check_qrels(pairs[:1])
        >>> fire.report("saturation", runs, qrels=qrels, augmented=both, measures=["C@1"]).table
          measure     run_id  original  augmented  left
        0     C@1       clip       1.0        1.0   0.0
        1     C@1        ssb       0.0        1.0   0.0
        2     C@1    any run       1.0        1.0   0.0
        3     C@1  every run       0.0        1.0   0.0
    """
    values = dict(locals())
    return PARTS[what](values.pop("what"), values)
