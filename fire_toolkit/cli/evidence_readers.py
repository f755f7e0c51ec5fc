"""What reads the tables of `augment`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_scores import answers_of_judge, grades_of_workspace
from fire_toolkit.commands.types import Asked
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.releases import refuse_corrected
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import read_labels, read_query_design
from fire_toolkit.tables import MachineJudgments, Qrels, check_disputes
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.tables.designs import UNDRAWN, check_machine_sample
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.settled import settled_by

Values = Mapping[str, Any]


def _augmentable(given: Given, values: Values) -> Qrels:
    refuse_corrected(given.needed("qrels"))
    return given.original_as_read


def _asked_beside(given: Given, values: Values) -> Asked:
    """Return what lies beside the labels and the pool."""
    disputes, pool = given.needed("labels").with_name("disputes.csv"), given.found("pool")

    def beside_pool(name: str, read: Callable[[Any], Any]) -> Any:
        path = pool.with_name(name) if pool else None
        return read(given.use(path)) if path and path.is_file() else None

    sample = beside_pool("machine_sample.csv", lambda path: check_machine_sample(read_delimited(path)))
    return Asked(
        disputes=check_disputes(read_delimited(given.use(disputes))) if disputes.is_file() else None,
        sources=given.sources_if_any if DESIGN[0] in values["labels"] else None,
        query_design=beside_pool("query_design.csv", read_query_design),
        undrawn=beside_pool("undrawn.csv", lambda path: check_table(UNDRAWN, read_delimited(path))),
        machine_sample=sample,
        settled=settled_by(pool) if pool else None,
        highest_grade=_highest_grade(given),
        backbone="" if sample is None else _backbone(given, str(sample["judge_id"].iloc[0])),
    )


def _highest_grade(given: Given) -> int | None:
    """Return the highest grade of the guideline of the labels; None where it is not known to have several."""
    writer = writer_of(given.needed("labels"))
    grades = writer.parameters.get("grades") if writer else None
    return int(max(grades.values())) if grades else None


def _backbone(given: Given, judge: str) -> str:
    """Return the backbone that a judge's table names; empty where the sample is here and the table is not."""
    try:
        named = answers_of_judge(given, judge)["backbone"].unique().tolist()
    except UsageError:
        return ""
    return str(named[0]) if len(named) == 1 else ""


def _answers_included(given: Given, values: Values) -> MachineJudgments | None:
    judge = values["include_machine"]
    return answers_of_judge(given, judge) if judge else None


READ: Mapping[str, Callable[[Given, Values], Any]] = {
    "augmentable": _augmentable,
    "labels_as_read": lambda given, values: read_labels(given.use(given.needed("labels"))),
    "asked_beside": _asked_beside,
    "answers_included": _answers_included,
    "grades_of_workspace": lambda given, values: grades_of_workspace() if values["include_machine"] else None,
}
