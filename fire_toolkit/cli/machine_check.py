"""`machine check`: a judge against people's labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from fire_toolkit.cli.common import current_workspace, format_option, say_next, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import judgments_from
from fire_toolkit.cli.options import choice_option, reads
from fire_toolkit.cli.printing import print_table, shown_as
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_machine_judgments, read_pool, read_pool_sources
from fire_toolkit.guidelines.grades import choose_grades
from fire_toolkit.machines.check import check_judge
from fire_toolkit.tables import Judgments, MachineJudgments
from fire_toolkit.tables.machine import OK

Table = TypeVar("Table")

_COLUMNS = {
    "statistics": {
        "statistic": ("statistic", ""),
        "value": ("value", ".3f"),
        "low": ("low", ".3f"),
        "high": ("high", ".3f"),
        "n_pairs": ("pairs", ",d"),
        "n_queries": ("queries", ",d"),
        "note": ("note", ""),
    },
    "calibration": {
        "score_low": ("score from", ".3g"),
        "score_high": ("to", ".3g"),
        "n_pairs": ("pairs", ",d"),
        "mean_score": ("mean score", ".3f"),
        "share_positive": ("relevant", ".3f"),
        "low": ("low", ".3f"),
        "high": ("high", ".3f"),
    },
    "groups": {
        "kind": ("by", ""),
        "group": ("group", ""),
        "n_pairs": ("pairs", ",d"),
        "people": ("people", ".3f"),
        "judge": ("judge", ".3f"),
        "overrating": ("overrating", "+.3f"),
        "low": ("low", "+.3f"),
        "high": ("high", "+.3f"),
        "excess": ("beyond others", "+.3f"),
        "excess_low": ("low", "+.3f"),
        "excess_high": ("high", "+.3f"),
    },
}


def judge_file(name: str | None) -> Path:
    """Return machine.csv of a judge: of that name in the workspace, or at that path; the only one if unnamed.

    Raises:
        UsageError: several judges, and none named.
        FormatError: there is none.
    """
    for path in (Path(name), Path(name) / "machine.csv") if name else ():
        if path.is_file():
            return path
    workspace = current_workspace()
    paths = sorted(workspace.root.glob("machine/*/machine.csv")) if workspace else []
    found = {path.parent.name: path for path in paths}
    if name in found:
        return found[str(name)]
    if name is None and len(found) == 1:
        return paths[0]
    none = "there are none; `machine run` or `machine import` first"
    known = f"known are {', '.join(found)}" if found else none
    if name is None and found:
        raise UsageError(f"JUDGE is needed: {known}")
    raise FormatError(f"{name or 'machine/*/machine.csv'}: no such judge; {known}")


@click.command()
@click.argument("judge", required=False, metavar="JUDGE")
@reads(
    "labels",
    "judgments",
    "pool_sources",
    "queries",
    "guideline",
    pool="The pool, with the chance of each pair.",
)
@click.option("--by", metavar="COLUMN", help="Also by the values of this column of the queries.")
@click.option(
    "--threshold",
    type=float,
    help="Relevant from this score on, for answers without a label. "
    "[default: 0.5 where all scores lie in 0..1]",
)
@click.option("--resamples", default=2000, show_default=True, help="Number of resamples of queries.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same numbers.")
@choice_option(
    "--show",
    list(_COLUMNS),
    "Agreement and AUC; the share of relevant pairs by score; what is overrated by run, rank and query.",
)
@format_option
@click.option("--out", metavar="FILE", help="Also write the table as CSV.")
def check(given: Given, judge: str | None, by: str | None, threshold: float | None, show: str) -> None:
    """Check a judge against people's labels: agreement, AUC, calibration, what it overrates, with intervals.

    JUDGE is a name in machine/, or a machine.csv. Alpha of the judge with people's votes stands beside alpha
    among people. The labels should be a random sample of what the judge has judged; where the pool says by
    which chance each pair was drawn, pairs weigh its inverse. Below 100 labelled pairs nothing is said.
    """
    machine = read_machine_judgments(given.use(judge_file(judge)))
    judgments = _read_if_any(given, "judgments", judgments_from)
    found = check_judge(
        machine,
        given.labels,
        grades=_grades(given, machine, judgments),
        judgments=judgments,
        sources=_read_if_any(given, "pool_sources", read_pool_sources),
        pool=_read_if_any(given, "pool", read_pool),
        groups=given.column(by),
        threshold=threshold,
        n_resamples=given.values["resamples"],
        seed=given.values["seed"],
    )
    table = {"statistics": found.statistics, "calibration": found.calibration, "groups": found.groups}[show]
    failed = machine.loc[machine["status"] != OK, "reason"].str.slice(0, 60).value_counts()
    words = f"{failed.sum():,} of {len(machine):,} answers failed, most often: {next(iter(failed.index), '')}"
    notes = [*found.notes, *([words] if len(failed) else [])]
    print_table(table, given.form, shown_as(_COLUMNS[show]), notes=notes)
    if given.values["out"]:
        parameters = {"show": show, "by": by, "threshold": threshold}
        given.write_table(given.values["out"], table, "machine check", parameters)
    if show == "statistics" and len(found.groups) > 1:
        say_next("machine check --show groups")


def _grades(given: Given, machine: MachineJudgments, judgments: Judgments | None) -> dict[str, float | None]:
    """Return the grades of the labels of the judge and of people, each by how they spell."""
    default = read_guideline(setting_or_default(None, "tasks", "guideline"))
    named = given.values["guideline"]
    rules = read_guideline(named) if named else None
    grades: dict[str, float | None] = {}
    for table in (machine, judgments) if judgments is not None else (machine,):
        labels = [str(label) for label in table["label"] if label]
        found = choose_grades(labels, guideline=rules, default=default)
        if found is None:
            raise UsageError(f"no grade is known for {sorted(set(labels))[:3]}; name the --guideline")
        grades |= found
    return grades


def _read_if_any(given: Given, name: str, read: Callable[[Path], Table]) -> Table | None:
    path = given.found(name)
    return read(given.use(path)) if path else None
