"""What reads what a pool goes on from: what was asked and judged before, and what a machine judge said."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.cli.given import TABLES, Given, reads
from fire_toolkit.cli.here import (
    current_workspace,
    made_file,
    own_guideline,
    relative_path,
    setting_or_default,
    workspace_path,
)
from fire_toolkit.commands.pool import DRAWN
from fire_toolkit.commands.types import Before
from fire_toolkit.errors import FormatError, StaleError, UsageError
from fire_toolkit.formats.releases import judged_file
from fire_toolkit.formats.tables.guideline_files import guideline_of, read_guideline
from fire_toolkit.formats.tables.table_files import (
    has_columns,
    judged_pairs,
    read_labels,
    read_machine_judgments,
    read_pool,
    read_pool_sources,
)
from fire_toolkit.guidelines.model import choose_grades
from fire_toolkit.machines.scores import scores_of_answers
from fire_toolkit.pooling.registry import parse_strategy
from fire_toolkit.tables import ALONE, ELSEWHERE, MachineJudgments, Pool, check_pool
from fire_toolkit.tables.columns import numbers_of, pair_rows, texts_of
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.manifests import NONE, checked, manifest_of, writer_of
from fire_toolkit.workspace.rounds import (
    begun_rounds,
    campaign_rounds,
    handed_out,
    pairs_of_rounds,
    planned_rounds,
)
from fire_toolkit.workspace.stages import given_options

TABLES.update(
    # The pairs judged before, and the earlier pool; what the judge named said, and its scores.
    judged_before=lambda given: given.earlier.judged,
    previous_pool=lambda given: given.earlier.pool,
    machine=lambda given: read_machine_judgments(given.use(judge_file(given.values["machine"]))),
    scores_of_judge=lambda given: scores_of_judge(given),
)


class Earlier(NamedTuple):
    """What was asked before: a pool, the file of its sources, judged pairs, the round that new pairs get.

    is_whole: whether all pairs of the pool's file were asked. durations: the seconds of the workspace's
    judgments, as text; None where it has none.
    """

    pool: Pool | None
    sources_file: Path | None
    judged: pd.DataFrame | None
    next_round: int | None
    durations: pd.Series | None
    is_whole: bool = True


@reads
def earlier(given: Given) -> Earlier:
    """What was asked before a pool is made, as the files given and the workspace know it."""
    previous, workspace = given.values.get("previous"), current_workspace()
    own = made_file("judgments/judgments.csv") or made_file("labels/labels.csv")
    named = [judged_file(Path(name)) for name in given.values.get("judged", ())]
    files = {file.absolute(): file for file in [*named, *([own] if own else [])]}
    known = {at: judged_pairs(given.use(file)) for at, file in files.items()}
    pairs = pd.concat([found for found, _ in known.values()], ignore_index=True) if known else None
    durations = known[own.absolute()][1] if own else None
    begun = begun_rounds(workspace.root) if workspace else set()
    rounds = begun | (set(pairs["round"].unique().tolist()) if pairs is not None else set())
    if not rounds and not previous:
        return Earlier(None, None, pairs, None, durations)
    taken = rounds | planned_rounds(workspace.root) if workspace and rounds else rounds
    file = Given({"pool": previous}).path("pool")
    root, is_there = workspace.root if workspace else Path(), rounds and file is not None and file.is_file()
    # The record says what was asked where no such pool is, or one that was changed, or at another site.
    if is_there and file and not previous and campaign_rounds(root):
        try:
            is_there = all(map(checked, filter(Path.is_file, (file, file.with_name("pool_sources.csv")))))
        except StaleError:
            is_there = False
    merged = pairs_of_rounds(root, begun - {*handed_out(root)} if is_there else begun)
    if file is None or not (previous or is_there):
        asked = Pool(merged) if len(merged) else None
        return Earlier(asked, None, pairs, 1 + max(taken) if taken else None, durations)
    found = read_pool(given.use(file, goes_on=True) if previous else checked(file))
    n_pooled = len(found)
    if not previous:  # what was pooled and never asked is as new as the rest
        n_others = (counts := writer_of(own).counts).get(ELSEWHERE)  # which do not tell what was asked here
        are_of_others = bool(n_others) and n_others == counts.get("judgments")
        is_asked: Any = found["round"].isin(begun if are_of_others else rounds)
        is_asked = is_asked if pairs is None else is_asked | (pair_rows(found, pairs) >= 0)
        found = found if is_asked.all() else Pool(found[is_asked])
        is_new = pair_rows(merged, found) < 0
        found = Pool(pd.concat([found, merged[is_new]], ignore_index=True)) if is_new.any() else found
    beside = file.with_name("pool_sources.csv")
    number = 1 + max({*taken, *found["round"].unique().tolist()}, default=0)
    at = beside if beside.is_file() else None
    return Earlier(found, at, pairs, number, durations, is_whole=len(found) == n_pooled)


@reads
def labels_so_far(given: Given) -> Any:
    """The labels that a strategy reads; refused where the judgments have changed since."""
    if not parse_strategy(given.plain["strategy"]).reads_labels:
        return None
    path = given.path("labels", exists=True)
    made = manifest_of(path.parent) if path else NONE
    for name, sha256 in made.inputs.items():
        if given.hashes.get(name, sha256) != sha256:
            raise UsageError(f"{path}: {name} has changed since; run fire-toolkit resolve, then this again")
    return read_labels(given.use(path)) if path else None


def options_of_pool() -> dict[str, Any]:
    """Return the options that the workspace's pool was made with, whatever fire.toml says."""
    given = given_options(writer_of(workspace_path("pool/pool.csv")))
    return {name: value for name, value in given.items() if name in SETTINGS["pool"]}


@reads
def asked_before(given: Given) -> Before:
    """What is known of what was asked; only a pool that is written needs all of it."""
    found: Earlier = given.earlier
    seconds = None  # of a pair: the median judgment, and the share that is judged twice
    if found.durations is not None:
        numbers, is_number = numbers_of(texts_of(found.durations), "float")
        overlap = float(setting_or_default(None, "tasks", "overlap"))
        seconds = float(pd.Series(numbers[is_number]).median()) * (1 + overlap)
    before = Before(found.next_round, seconds=seconds)
    if "out" not in given.values:
        return before
    hashes, out = given.run_hashes, given.out("pool")
    sources = read_pool_sources(checked(found.sources_file)) if found.sources_file else None
    withdrawn = set() if sources is None else set(sources["run_id"].unique()) - set(hashes)
    path = made_file("labels/labels.csv") if withdrawn else None
    drawn, file = None, out / "pool.csv"
    if found.pool is not None and file.is_file() and has_columns(file, DRAWN):  # a sample that was handed out
        drawn = {"path": str(file), **manifest_of(out).parameters}
    return before._replace(
        sources=sources,
        labels=read_labels(checked(path)) if path else None,
        drawn=drawn,
        run_hashes=hashes,
    )


@reads
def queries_alone(given: Given) -> Pool:
    """Each query of the original qrels, else of the queries, without an item.

    Raises:
        UsageError: this is no workspace for captions alone: their answers would stand among those of pairs.
    """
    workspace, rules = current_workspace(), given.guideline
    own = guideline_of(workspace).name if workspace else rules.name
    if given.values["pool"] or (workspace and own != rules.name):
        own_workspace = f"`fire-toolkit init validity --guideline {rules.name}`"
        raise UsageError(
            f"{rules.name} asks about captions alone, in a workspace of its own: {own_workspace}"
        )
    found = given.queries["query_id"]
    if (original := given.original_if_any) is not None:
        found = found[found.isin(original["query_id"])]
    return check_pool(pd.DataFrame({"query_id": found, "doc_id": ALONE}))


# Machine judges


def judge_file(name: str | None) -> Path:
    """Return machine.csv of a judge: of that name in the workspace, or at that path; the only one if unnamed.

    Raises:
        FormatError: there is none, or several and none named.
    """
    for path in (Path(name), Path(name) / "machine.csv") if name else ():
        if path.is_file():
            return path
    workspace = current_workspace()
    paths = sorted(workspace.root.glob("machine/*/machine.csv")) if workspace else []
    found = {path.parent.name: relative_path(path) for path in paths}
    if name in found or (name is None and len(found) == 1):
        return found[name or next(iter(found))]
    if not found:
        raise FormatError(
            f"{name or 'machine'}: no judge here yet; `machine run` or `machine import` makes one"
        )
    if name is None:
        raise FormatError(f"name one of the judges (for `next-round` with --judge): {', '.join(found)}")
    raise FormatError(f"{name}: no such judge; known are {', '.join(found)}")


@reads
def grades_of_judge(given: Given) -> dict[str, float | None]:
    """The grades of the labels of the judge and of people, each by how they spell."""
    default, named = read_guideline(own_guideline()), given.values["guideline"]
    rules = read_guideline(named) if named else None
    found: dict[str, float | None] = {}
    for table in (given.machine, given.plain["judgments"]):
        labels = [] if table is None else [str(label) for label in table["label"] if label]
        chosen = choose_grades(labels, guideline=rules, default=default)
        if chosen is None:
            raise no_grades(labels, given.values["machine"] or "machine")
        found |= chosen
    return found


def no_grades(labels: Iterable[str], where: object) -> UsageError:
    """Return the error that labels have no grade."""
    named = ", ".join(sorted(set(labels))[:5])
    return UsageError(
        f"{where}: no grade is known for labels {named}; expected 0 and 1, a column guideline, or --guideline"
    )


def answers_of_judge(given: Given, judge: str) -> MachineJudgments:
    """Return what a judge said, from `--machine`, else from the workspace.

    Raises:
        FormatError: there is no such judge.
    """
    found = read_machine_judgments(given.use(file := judge_file(judge)))
    own = MachineJudgments(found[found["judge_id"] == judge].reset_index(drop=True))
    if not len(own):
        others = ", ".join(map(repr, found["judge_id"].unique()[:5])) or "none"
        raise FormatError(f"{file}: no answer of a judge {judge!r}, found {others}")
    return own


def scores_of_judge(given: Given, judge: str = "") -> Any:
    """The score of each pair by a judge, see `scores_of_answers`; by default of a strategy that reads one."""
    if not judge:
        chosen = parse_strategy(given.plain["strategy"])
        if not chosen.reads_machine:
            return None
        judge = chosen.parameters["judge"]
    return scores_of_answers(answers_of_judge(given, judge), read_guideline(own_guideline()).grades)
