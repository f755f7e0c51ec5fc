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
from fire_toolkit.machines.check import LEAST_LABELS, MachineCheck, check_judge
from fire_toolkit.tables import Judgments, MachineJudgments

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
    if name and (Path(name).is_file() or (Path(name) / "machine.csv").is_file()):
        return Path(name) if Path(name).is_file() else Path(name) / "machine.csv"
    found = judges_here()
    if name in found:
        return found[str(name)]
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    known = (
        f"known are {', '.join(found)}"
        if found
        else "there are none; `machine run` or `machine import` first"
    )
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
@click.option(
    "--least",
    type=click.IntRange(min=20),
    default=LEAST_LABELS,
    show_default=True,
    help="Print nothing for fewer labelled pairs than this.",
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
def check(
    given: Given, judge: str | None, by: str | None, threshold: float | None, least: int, show: str
) -> None:
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
        least=least,
        n_resamples=given.values["resamples"],
        seed=given.values["seed"],
    )
    table = {"statistics": found.statistics, "calibration": found.calibration, "groups": found.groups}[show]
    notes = [*found.notes, *_failed(machine)]
    print_table(table, given.form, shown_as(_COLUMNS[show]), notes=notes)
    if given.values["out"]:
        parameters = {"show": show, "by": by, "threshold": threshold, "least": least}
        given.write_table(given.values["out"], table, "machine check", parameters)
    _say_more(show, found)


def judges_here() -> dict[str, Path]:
    """Return machine.csv of each judge in the workspace, by its name; none without a workspace."""
    workspace = current_workspace()
    found = sorted(workspace.root.glob("machine/*/machine.csv")) if workspace else []
    return {path.parent.name: path for path in found}


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


def _failed(machine: MachineJudgments) -> list[str]:
    failed = machine[machine["status"] != "ok"]
    if failed.empty:
        return []
    often = failed["reason"].str.slice(0, 60).value_counts().index[0]
    return [f"{len(failed):,} of {len(machine):,} answers failed, most often: {often}"]


def _say_more(show: str, found: MachineCheck) -> None:
    if show == "statistics" and len(found.groups) > 1:
        say_next("machine check --show groups")
