"""What a command's parameters are: the tables it is given, and what its options need beyond a type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pandas as pd

from fire_toolkit.guidelines.model import Grades, Guideline
from fire_toolkit.inference.background import Background
from fire_toolkit.matching.own_items import OwnItems
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.scoring.tifa import Answers, Question
from fire_toolkit.tables import (
    Disputes,
    Items,
    Judgments,
    Labels,
    MachineJudgments,
    Pool,
    PoolSources,
    Qrels,
    Queries,
    QueryDesign,
    Run,
)
from fire_toolkit.tables.evidence import Settled
from fire_toolkit.tables.validity import QueryLabels


@dataclass(frozen=True)
class Table:
    """A table that a command is given: by option a file, else the workspace's.

    read: what reads it, see `cli.given`. takes: its kind in words, where these are not the annotation's.
    option, metavar: how the option is spelled, where it is not the parameter's name and FILE. also: options
    that say how its files are read; in Python it has been read. is_argument: a word of its own, not an
    option. is_several: the option may be repeated. is_told: what files' manifests say, with no option.
    apart, needs: as of `Option`.
    """

    read: str
    takes: str = ""
    option: str = ""
    metavar: str = "FILE"
    also: tuple[str, ...] = ()
    is_argument: bool = False
    is_several: bool = False
    is_told: bool = False
    apart: tuple[str, ...] = ()
    needs: str = ""


@dataclass(frozen=True)
class Option:
    """What an option needs beyond its parameter's type and default.

    names: how it is spelled. setting: section and key of fire.toml, taken where it is not given. least, most:
    the smallest and the largest number; is_above: the smallest itself is none. parse: makes the value of what
    was given. is_argument: a word of its own. apart: the parameters that do not go with it;
    needs: the one that it does nothing without.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    setting: tuple[str, str] | None = None
    least: float | None = None
    most: float | None = None
    is_above: bool = False
    parse: Callable[[tuple[str, ...]], Any] | None = None
    is_argument: bool = False
    apart: tuple[str, ...] = ()
    needs: str = ""


class Before(NamedTuple):
    """What a workspace knows of what was asked before it pools.

    round: of pairs that are new; sources, labels: of the earlier pool; drawn: how the sample was drawn that
    the pool would take the place of; seconds: that people need for a pair; run_hashes: the sha256 of each
    run's file, for which a settled pool holds.
    """

    round: int | None = None
    sources: PoolSources | None = None
    labels: Labels | None = None
    drawn: Mapping[str, Any] | None = None
    seconds: float | None = None
    run_hashes: Mapping[str, str] = {}


class Asked(NamedTuple):
    """What lies beside labels and their pool: how the pairs were chosen and judged.

    disputes: pairs that were judged and have no label. sources: which run pooled which pair, where labels
    hold votes by a design. query_design, undrawn, machine_sample: of a pool that is a sample, as `pool` has
    them. settled: for what all that was asked is settled. highest_grade: of the guideline, where it has
    several. backbone: of the judge whose scores the sample was drawn by.
    """

    disputes: Disputes | None = None
    sources: PoolSources | None = None
    query_design: QueryDesign | None = None
    undrawn: pd.DataFrame | None = None
    machine_sample: pd.DataFrame | None = None
    settled: Settled | None = None
    highest_grade: int | None = None
    backbone: str = ""


Runs = Annotated[AnyRun | Sequence[AnyRun], Table("stored_runs", takes="AnyRun | Sequence[AnyRun]")]
TopRuns = Annotated[Run | Sequence[Run], Table("top_runs")]
RunsOrMatrix = Annotated[AnyRun | Sequence[Any], Table("runs_or_matrix", takes="AnyRun | Sequence[AnyRun]")]
Original = Annotated[Qrels, Table("original")]
Augmented = Annotated[Qrels, Table("augmented")]
SettledAugmented = Annotated[Qrels, Table("settled")]
AugmentedIfAny = Annotated[Qrels | None, Table("settled_if_any")]
KnownLabels = Annotated[Labels | None, Table("known_labels", is_told=True)]
BackgroundOf = Annotated[Background | None, Table("known", is_told=True)]
Labellings = Annotated[
    Mapping[str, Qrels], Table("labellings", option="--qrels", metavar="[NAME=]FILE", is_several=True)
]
PoolOf = Annotated[PoolSources, Table("sources")]
SourcesIfAny = Annotated[PoolSources | None, Table("sources_if_any", is_told=True)]
PoolOfHonest = Annotated[PoolSources | None, Table("sources_of_honest", is_told=True)]
Back = Annotated[Qrels | None, Table("back", apart=("augmented",), needs="direction")]
GroupsOf = Annotated[pd.DataFrame | None, Table("groups")]
DocOrder = Annotated[Sequence[str] | None, Table("doc_order", is_told=True)]
FedRuns = Annotated[Collection[str] | None, Table("fed", is_told=True)]
LabelsOf = Annotated[Labels, Table("labels")]
LabelsAsRead = Annotated[Labels, Table("labels_as_read")]
Augmentable = Annotated[Qrels, Table("augmentable")]
ValidityIfAny = Annotated[QueryLabels | None, Table("validity_if_any", takes="pd.DataFrame | None")]
AskedBeside = Annotated[Asked | None, Table("asked_beside", is_told=True)]
AnswersOfJudge = Annotated[MachineJudgments | None, Table("answers_included", is_told=True)]
GradesOfWorkspace = Annotated[
    Grades | None, Table("grades_of_workspace", takes="Grades | None", is_told=True)
]
LabelsIfGiven = Annotated[Labels | None, Table("labels_given")]
EarlierJudgments = Annotated[Judgments | None, Table("earlier_judgments")]
JudgmentsOf = Annotated[Judgments, Table("counted_judgments")]
QueriesOf = Annotated[Queries, Table("queries")]
ItemsIfAny = Annotated[Items | None, Table("items_if_any")]
OriginalAsItStands = Annotated[Qrels | None, Table("original_if_any")]
RunsIfGiven = Annotated[
    Sequence[Run], Table("runs_if_given", metavar="[RUN...]", is_argument=True, is_several=True)
]
MediaHashes = Annotated[pd.DataFrame | None, Table("media_hashes", metavar="DIR")]
TrainingTexts = Annotated[Sequence[str] | None, Table("training_texts")]
ToResolve = Annotated[
    Judgments, Table("to_resolve", metavar="[JUDGMENTS.csv]", is_argument=True, also=("exclude",))
]
AnyJudgments = Annotated[
    Judgments, Table("judgments", metavar="[JUDGMENTS.csv]", is_argument=True, also=("exclude",))
]
Joined = Annotated[Sequence[pd.DataFrame], Table("joined", option="--join", is_several=True)]
GradesInPython = Annotated[Grades | None, Table("", takes="Grades | None", is_told=True)]
GuidelineOf = Annotated[Guideline | None, Table("judged_by", metavar="NAME")]
OriginalIfGiven = Annotated[Qrels | None, Table("original_if_given")]
QueriesToShare = Annotated[Queries | None, Table("queries_to_share")]
ControlsOf = Annotated[pd.DataFrame | None, Table("controls_given")]
DroppedBeside = Annotated[pd.DataFrame | None, Table("dropped", is_told=True)]
DesignOf = Annotated[pd.DataFrame | None, Table("design")]
RoundOf = Annotated[int | None, Table("next_number", is_told=True)]
ShownGuideline = Annotated[str | None, Table("shown_sha256", is_told=True)]
GradesOf = Annotated[Grades | None, Table("grades", takes="Grades | None", is_told=True)]
LevelOf = Annotated[str | None, Table("level", is_told=True)]
OriginalGrade = Annotated[int | None, Table("original_grade", is_told=True)]
HighestGrade = Annotated[int, Table("highest_grade", is_told=True)]
TifaQuestions = Annotated[Sequence[Question], Table("questions", metavar="QUESTIONS", is_argument=True)]
TifaAnswers = Annotated[
    Answers, Table("answers", takes="pd.DataFrame", metavar="[ANSWERS]", is_argument=True)
]
# Which own items there are, and what becomes of them in all tables.
OwnQueries = Annotated[Queries | None, Table("", is_told=True)]
ClusteredQueries = Annotated[Queries | None, Table("")]
NamedQueries = Annotated[Queries | None, Table("named_queries")]
OwnItem = Annotated[Literal["drop", "keep"] | None, Table("", takes="str | None", is_told=True)]
ChosenOwnItem = Annotated[Literal["drop", "keep"] | None, Table("", takes="str | None")]

Measures = Annotated[Sequence[str], Option(("-m", "--measure"), metavar="MEASURE")]
ScoreMeasures = Annotated[
    Sequence[str], Option(("-m", "--measure"), metavar="MEASURE", setting=("score", "measures"))
]
Clusters = Annotated[
    pd.Series | str | None,
    Table("clusters", takes="str | Series | None", option="--cluster", metavar="COLUMN"),
]

# What is asked before anybody judges, and what a machine judge said.
_OWN_ITEMS = "Queries | OwnItems | None"
PlannedRuns = Annotated[Run | Sequence[Run], Table("planned_runs")]
PooledQueries = Annotated[Queries | OwnItems | None, Table("queries_own_items", takes=_OWN_ITEMS)]
SecondsSoFar = Annotated[float, Table("seconds_so_far", is_told=True)]
PilotOf = Annotated[Judgments | None, Table("pilot")]
GradesOfPilot = Annotated[Grades | None, Table("grades_of_pilot", takes="Grades | None", is_told=True)]
MachineOf = Annotated[
    MachineJudgments, Table("machine", metavar="[JUDGE]", is_argument=True, also=("guideline",))
]
GradesOfJudge = Annotated[Grades | None, Table("grades_of_judge", takes="Grades | None", is_told=True)]
VotesIfAny = Annotated[Judgments | None, Table("votes_if_any")]
PoolIfAny = Annotated[Pool | None, Table("pool_if_any")]
SourcesBeside = Annotated[PoolSources | None, Table("sources_if_any", is_told=True)]
OriginalAsRead = Annotated[Qrels | None, Table("original_if_named")]
JudgedBefore = Annotated[pd.DataFrame | None, Table("judged_before", is_several=True)]
PreviousPool = Annotated[Pool | None, Table("previous_pool", metavar="POOL")]
LabelsSoFar = Annotated[Labels | None, Table("labels_so_far")]
ScoresOfJudge = Annotated[pd.DataFrame | None, Table("scores_of_judge", is_told=True)]
AskedBefore = Annotated[Before | None, Table("asked_before", is_told=True)]
