"""What a command's parameters are: the tables it is given, and what its options need beyond a type."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pandas as pd

from fire_toolkit.evidence.facts import Settled
from fire_toolkit.guidelines.model import Grades, Guideline
from fire_toolkit.inference.background import Background
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.matching.own_items import OwnItems
from fire_toolkit.tables import Disputes, Labels, Pool, PoolSources, Qrels, Queries, QueryDesign


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
Original = Annotated[Qrels, Table("original")]
Augmented = Annotated[Qrels, Table("augmented")]
AugmentedIfAny = Annotated[Qrels | None, Table("settled_if_any")]
KnownLabels = Annotated[Labels | None, Table("known_labels", is_told=True)]
# Read from the evidence where that is a file's; with labels of Python they are given.
DisputesOf = Annotated[Disputes | None, Table("", is_told=True)]
BackgroundOf = Annotated[Background | None, Table("known", is_told=True)]
PoolOf = Annotated[PoolSources, Table("sources")]
FedRuns = Annotated[Collection[str] | None, Table("fed", is_told=True)]
LabelsOf = Annotated[Labels, Table("labels")]
GuidelineOf = Annotated[Guideline | None, Table("judged_by", metavar="NAME")]
GradesOf = Annotated[Grades | None, Table("grades", takes="Grades | None", is_told=True)]
# Which own items there are, and what becomes of them in all tables.
OwnQueries = Annotated[Queries | None, Table("", is_told=True)]
ClusteredQueries = Annotated[Queries | None, Table("")]
OwnItem = Annotated[Literal["drop", "keep"] | None, Table("", takes="str | None", is_told=True)]

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
PooledQueries = Annotated[Queries | OwnItems | None, Table("queries_own_items", takes=_OWN_ITEMS)]
PoolIfAny = Annotated[Pool | None, Table("pool_if_any")]
