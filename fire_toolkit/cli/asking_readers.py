"""What reads the tables of `plan`, `pool` and `machine check` where that is no property of `Given`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import made_file, setting_or_default
from fire_toolkit.cli.earlier import Earlier, read_earlier
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of
from fire_toolkit.cli.machine_scores import judge_file, scores_of_judge
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.commands.pool import DRAWN
from fire_toolkit.commands.types import Before
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import (
    has_columns,
    read_labels,
    read_machine_judgments,
)
from fire_toolkit.guidelines.grades import choose_grades
from fire_toolkit.pooling.registry import parse_strategy
from fire_toolkit.tables import Labels, MachineJudgments, Run
from fire_toolkit.tables.columns import numbers_of
from fire_toolkit.workspace.manifests import manifest_path, read_manifest

Values = Mapping[str, Any]


def _planned_runs(given: Given, values: Values) -> list[Run]:
    """Return the runs as deep as a plan looks at them when own items are left out."""
    from fire_toolkit.planning.plan import DEPTH  # heavy

    return given.runs_to(DEPTH + 1 if queries_own_items(given) else DEPTH)


def _seconds_so_far(given: Given, values: Values) -> float:
    """Return the median seconds of the workspace's judgments, nan where there are none, or they are given."""
    path = None if values["seconds"] else made_file("judgments/judgments.csv")
    table = read_delimited(given.use(path), only=["duration_s"]) if path else None
    if table is None or "duration_s" not in table.columns:
        return math.nan
    return float(pd.to_numeric(table["duration_s"], errors="coerce").median())


def _grades_of_pilot(given: Given, values: Values) -> Mapping[str, float | None] | None:
    if (pilot := values["pilot"]) is None:
        return None
    grades = grades_of(pilot, None)
    if grades is None:
        found = ", ".join(sorted(pilot["label"].unique())[:5])
        raise UsageError(
            f"{given.values['pilot']}: no grade is known for labels {found}; expected 0 and 1, or a column "
            "guideline"
        )
    return grades


def _machine(given: Given, values: Values) -> MachineJudgments:
    return read_machine_judgments(given.use(judge_file(given.values["machine"])))


def _grades_of_judge(given: Given, values: Values) -> dict[str, float | None]:
    """Return the grades of the labels of the judge and of people, each by how they spell."""
    default = read_guideline(setting_or_default(None, "tasks", "guideline"))
    named = given.values["guideline"]
    rules = read_guideline(named) if named else None
    grades: dict[str, float | None] = {}
    for table in (values["machine"], values["judgments"]):
        labels = [] if table is None else [str(label) for label in table["label"] if label]
        found = choose_grades(labels, guideline=rules, default=default)
        if found is None:
            raise UsageError(f"no grade is known for {sorted(set(labels))[:3]}; name the --guideline")
        grades |= found
    return grades


def _original_if_named(given: Given, values: Values) -> Any:
    path = given.path("qrels")
    return read_qrels(given.use(path)) if path else None


@lru_cache(maxsize=1)
def earlier_of(given: Given) -> Earlier:
    """Return what was asked before a pool is made, as the files given and the workspace know it."""
    return read_earlier(given, given.values.get("judged", ()), given.values.get("previous"))


def _labels_so_far(given: Given, values: Values) -> Labels | None:
    """Return the labels that a strategy reads; refused where the judgments have changed since."""
    if not parse_strategy(values["strategy"]).reads_labels:
        return None
    path = given.found("labels")
    at = manifest_path(path.parent, is_folder=True) if path else None
    made_of = read_manifest(at).inputs if at and at.is_file() else {}
    for name, sha256 in made_of.items():
        if given.hashes.get(name, sha256) != sha256:
            raise UsageError(f"{path}: {name} has changed since; run fire-toolkit resolve, then this again")
    return read_labels(given.use(path)) if path else None


def _scores_of_judge(given: Given, values: Values) -> pd.DataFrame | None:
    chosen = parse_strategy(values["strategy"])
    return scores_of_judge(given, chosen.parameters["judge"]) if chosen.reads_machine else None


def _asked_before(given: Given, values: Values) -> Before:
    """Return what is known of what was asked; only a pool that is written needs all of it."""
    earlier = earlier_of(given)
    found = Before(earlier.next_round, seconds=_seconds_of_pair(earlier))
    if "out" not in given.values:
        return found
    sources, hashes = earlier.sources, given.run_hashes
    withdrawn = set() if sources is None else set(sources["run_id"].unique()) - set(hashes)
    path = made_file("labels/labels.csv") if withdrawn else None
    labels = read_labels(path) if path else None
    drawn = _drawn_before(given.out("pool")) if earlier.pool is not None else None
    return found._replace(sources=sources, labels=labels, drawn=drawn, run_hashes=hashes)


def _drawn_before(folder: Path) -> dict[str, Any] | None:
    """Return the parameters of the sample that was handed out and lies where this pool is written."""
    file = folder / "pool.csv"
    if not file.is_file() or not has_columns(file, DRAWN):
        return None
    at = manifest_path(folder, is_folder=True)
    return {"path": str(file), **(read_manifest(at).parameters if at.is_file() else {})}


def _seconds_of_pair(earlier: Earlier) -> float | None:
    """Return how long people need for a pair: the median judgment, and the share that is judged twice."""
    if earlier.durations is None:
        return None
    seconds, is_number = numbers_of(earlier.durations, "float")
    median = float(pd.Series(seconds[is_number]).median())
    return median * (1 + float(setting_or_default(None, "tasks", "overlap")))


READ: dict[str, Callable[[Given, Values], Any]] = {
    "planned_runs": _planned_runs,
    "pooled_queries": lambda given, values: queries_own_items(given),
    "seconds_so_far": _seconds_so_far,
    "grades_of_pilot": _grades_of_pilot,
    "machine": _machine,
    "grades_of_judge": _grades_of_judge,
    "sources_beside": lambda given, values: given.sources_if_any,
    "queries_if_by": lambda given, values: given.queries if values["by"] else None,
    "original_if_named": _original_if_named,
    "judged_before": lambda given, values: earlier_of(given).judged,
    "previous_pool": lambda given, values: earlier_of(given).pool,
    "labels_so_far": _labels_so_far,
    "scores_of_judge": _scores_of_judge,
    "asked_before": _asked_before,
}
