"""`machine check`: a judge against people's labels."""

from typing import Annotated, Literal

from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import LabelsOf, PoolIfAny, Table
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Grades, choose_grades
from fire_toolkit.machines.check import check_judge
from fire_toolkit.reporting.paper import drawn_as
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Judgments, MachineJudgments, PoolSources
from fire_toolkit.tables.further import OK


@command
def machine_check(
    machine: Annotated[
        MachineJudgments, Table("machine", metavar="[JUDGE]", is_argument=True, also=("guideline",))
    ],
    labels: LabelsOf,
    judgments: Annotated[Judgments | None, Table("judgments_if_any")] = None,
    *,
    grades: Annotated[Grades | None, Table("grades_of_judge", takes="Grades | None", is_told=True)] = None,
    pool: PoolIfAny = None,
    pool_sources: Annotated[PoolSources | None, Table("sources_if_any", is_told=True)] = None,
    threshold: float | None = None,
    show: Literal["statistics", "calibration", "groups"] = "statistics",
) -> Found:
    """Check a judge against people's labels: agreement, AUC, calibration, what it overrates, with intervals.

    JUDGE is a name in machine/, or a machine.csv. Alpha of the judge with people's votes stands beside alpha
    among people. The labels should be a random sample of what the judge has judged; where the pool says how
    likely each pair was to be drawn, pairs weigh its inverse. With fewer than 100 labelled pairs nothing is
    said.

    Args:
        machine: What the judge said.
        labels: The labels: labels.csv, or its folder.
        judgments: The judgments (judgments.csv).
        grades: The grade of each label of the judge and of people.
        pool: The pool, with the chance of each pair, and pool_sources.csv beside it.
        pool_sources: Which run pooled which pair, for what is overrated by run and by rank.
        threshold: Relevant from this score on, for answers without a label. [default: 0.5 where all scores
            lie in 0..1]
        show: Agreement and AUC; the share of relevant pairs by score; what is overrated by run and rank.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_labels, check_machine_judgments
        >>> pairs = pd.DataFrame({"query_id": [f"q{n % 20}" for n in range(200)],
        ...                       "doc_id": [f"d{n}" for n in range(200)]})
        >>> labels = check_labels(pairs.assign(label="x", relevance=[1, 0] * 100))
        >>> score = [0.9 if n % 2 == 0 or n % 10 == 1 else 0.2 for n in range(200)]
        >>> machine = check_machine_judgments(pairs.assign(judge_id="j", score=score))
        >>> table = fire.machine_check(machine, labels).table
        >>> table.loc[table["statistic"].isin(["cohen_kappa", "AUC"]), ["statistic", "value"]]
             statistic  value
        1  cohen_kappa    0.8
        4          AUC    0.9
    """
    if grades is None:  # of the labels of the judge and of people, each by how they spell
        grades = {}
        for table in (machine, judgments) if judgments is not None else (machine,):
            spelled = [str(label) for label in table["label"] if label]
            if (own := choose_grades(spelled)) is None:
                raise UsageError(f"no grade is known for {sorted(set(spelled))[:3]}; expected grades of them")
            grades = {**grades, **own}
    tables, notes = check_judge(
        machine,
        labels,
        grades=grades,
        judgments=judgments,
        sources=pool_sources,
        pool=pool,
        threshold=threshold,
    )
    reasons = machine.loc[machine["status"] != OK, "reason"].str.slice(0, 60).value_counts()
    most = f"{reasons.sum():,} of {len(machine):,} answers failed, most often: " if len(reasons) else ""
    failures = [f"{most}{reasons.index[0]}"] if most else []
    has_groups = show == "statistics" and len(tables["groups"]) > 1
    return Found(
        tables,
        [*notes, *failures],
        shown=show,
        draw=drawn_as(show),
        next=Next("machine check --show groups") if has_groups else "",
    )
