"""The stages of a workspace in their order, and whether each is done, stale or still to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from fire_toolkit.errors import FireError
from fire_toolkit.workspace.config import BY_GUIDELINE, Workspace
from fire_toolkit.workspace.database import STORE, content_sha256
from fire_toolkit.workspace.manifests import Manifest, manifest_path, read_manifest
from fire_toolkit.workspace.rounds import (
    campaign_rounds,
    given_by_round,
    handed_out,
    has_campaign,
    pool_counts,
    rounds_by_hand,
    tasks_file,
)


@dataclass(frozen=True)
class Stage:
    """A stage: its command, where it writes, what it reads (settings `section.key`, or places, with `*`).

    recalls: what it takes into account where it is there, and need not be run again for.
    """

    name: str
    out: str
    is_folder: bool
    needs: tuple[str, ...]
    optional: tuple[str, ...] = ()
    recalls: tuple[str, ...] = ()


_LABELS = "labels/labels.csv"
_JUDGED = ("judgments/judgments.csv", _LABELS)

STAGES = (
    Stage("pool", "pool", True, ("runs.files", "collection.qrels"), recalls=_JUDGED),
    Stage("tasks", "tasks/tasks.json", False, ("pool/pool.csv", "collection.queries"), ("collection.items",)),
    Stage("import", "judgments/judgments.csv", False, ("import.exports",)),
    Stage("agree", "agreement/agreement.csv", False, ("judgments/judgments.csv",)),
    Stage("resolve", "labels", True, ("judgments/judgments.csv",)),
    Stage(
        "augment",
        "augmented/qrels.txt",
        False,
        ("collection.qrels", "labels/labels.csv"),
        ("validity/labels/query_labels.csv",),
    ),
    Stage("score", "scores/scores.csv", False, ("runs.files", "collection.qrels"), ("augmented/qrels.txt",)),
    Stage("compare", "comparison/comparison.csv", False, ("runs.files",)),
)

# What stands in the place of `import` once a campaign has begun.
CAMPAIGN = (
    Stage(
        "push",
        "campaign",
        True,
        (),
        ("tasks/tasks.json", "tasks/round-*/tasks.json"),
    ),
    Stage("pull", "judgments/judgments.csv", False, (), (STORE,)),
)
# The same before it has begun, where a server is known.
BEFORE_PUSH = (
    replace(CAMPAIGN[0], needs=("tasks/tasks.json",)),
    replace(CAMPAIGN[1], needs=(STORE,), optional=()),
)
# What stands beside them, or in their place, where files carry rounds of a campaign.
BY_HAND = Stage("import", "judgments/judgments.csv", False, ("import.exports",), (STORE,))
# What these write follows from files alone; the others ask people, or bring in what they answered.
COMPUTED = ("import", "agree", "resolve", "augment", "score", "compare")
_POOL = "pool/pool.csv"
_OF_PAIRS = {"pool", "augment", "score", "compare"}
NEW, CHANGED, GONE, EDITED = "is new", "has changed", "is gone", "was changed by hand"
_SHOWN = 3
_Hash = Callable[[Path], str]


@dataclass(frozen=True)
class StageState:
    """A stage's state (`done`, `stale`, `ready`, `waiting`) and the reason, in words.

    changed: what has become of the files of a stale stage: of its outputs `GONE` or `EDITED`, of its inputs,
    by their names in its manifest, `NEW`, `CHANGED` or `GONE`; n_reasons: for how many reasons it is stale,
    these among them (the others are settings).
    """

    stage: Stage
    state: str
    reason: str
    changed: Mapping[str, str] = field(default_factory=dict)
    n_reasons: int = 0

    @property
    def age(self) -> str:
        """What has become of its files, in words; empty where they are as they were."""
        return _in_words([f"{name} {what}" for name, what in self.changed.items()])


def stage_states(
    workspace: Workspace,
    *,
    on_server: bool = False,
    is_of_queries: bool = False,
    only: Collection[str] | None = None,
) -> list[StageState]:
    """Return the state of every stage, in their order.

    Args:
        workspace: the workspace.
        on_server: a server is known that would carry a campaign.
        is_of_queries: its guideline shows captions alone, so that it has neither pool nor qrels.
        only: the names of some stages, to leave out the others; None: all.

    `done`: written, and nothing it was made from has changed; `stale`: something has; `ready`: not
    written, and all it needs is there; `waiting`: something it needs is not there.
    """
    stages = stages_of(workspace, on_server=on_server)
    if is_of_queries:
        needs = ("collection.queries",)
        stages = [
            replace(stage, needs=needs, optional=()) if stage.name == "tasks" else stage
            for stage in stages
            if stage.name not in _OF_PAIRS
        ]
    hash_of = cache(content_sha256)  # each file is read once
    asked = [stage for stage in stages if only is None or stage.name in only]
    return [StageState(stage, *_state(stage, workspace, hash_of)) for stage in asked]


def out_of_date(workspace: Workspace, used: Iterable[Path]) -> list[StageState]:
    """Return the stages that wrote some files, or what these were made from, and whose own have changed.

    They stand in their order. A setting that is not what it was is no such change, and a pool is never
    among them: a run that comes after it is no fault of what was judged.

    Args:
        used: files that a command has read, in the workspace or elsewhere.
    """
    folders = {path.resolve().parent for path in used}
    behind = set()
    for stage in reversed(stages_of(workspace)):  # a stage reads what those before it write
        folder = (workspace.root / stage.out).resolve()
        if stage.name in (*COMPUTED, "pull") and (folder if stage.is_folder else folder.parent) in folders:
            behind.add(stage.name)
            made = (need for need in (*stage.needs, *stage.optional) if "/" in need)
            folders |= {(workspace.root / need).resolve().parent for need in made}
    return [state for state in stage_states(workspace, only=behind) if state.changed]


def changed_runs(pool: StageState, workspace: Workspace) -> dict[str, str]:
    """Return the runs among the changed inputs of the pool, with what has become of each."""
    if pool.stage.name != "pool":
        return {}
    now = {path.relative_to(workspace.root).as_posix() for path in workspace.paths("runs", "files")}
    patterns = workspace.setting("runs", "files")
    return {
        name: what
        for name, what in pool.changed.items()
        if name in now or (what == GONE and any(PurePath(name).match(pattern) for pattern in patterns))
    }


def stages_of(workspace: Workspace, *, on_server: bool = False) -> list[Stage]:
    """Return a workspace's stages in their order; in a campaign its carriers bring the judgments."""
    begun, by_hand = (find(workspace.root) for find in (campaign_rounds, rounds_by_hand))
    brought = [*(() if begun and begun == by_hand else CAMPAIGN), *((BY_HAND,) if by_hand else ())]
    if not has_campaign(workspace.root):
        is_by_hand = not on_server or workspace.paths("import", "exports")
        brought = [] if is_by_hand else list(BEFORE_PUSH)
    if not brought:
        return list(STAGES)
    place = next(number for number, stage in enumerate(STAGES) if stage.name == "import")
    return [*STAGES[:place], *brought, *STAGES[place + 1 :]]


def _state(
    stage: Stage, workspace: Workspace, hash_of: _Hash
) -> tuple[str, str] | tuple[str, str, Mapping[str, str], int]:
    inputs, absent = _inputs(stage, workspace)
    at = manifest_path(workspace.root / stage.out, is_folder=stage.is_folder)
    if stage.name == "tasks":
        at = _latest_tasks(workspace, at, hash_of)
    if not at.is_file():
        return ("waiting", f"needs {', '.join(absent)}") if absent else ("ready", "not done yet")
    try:
        manifest = read_manifest(at)
    except FireError as error:
        return "stale", str(error)
    if stage.name == "tasks" and (told := _tasks_state(manifest, workspace, hash_of)):
        return told
    changed = _changed_outputs(manifest, at, workspace, hash_of)
    changed |= _changed_inputs(manifest, inputs, stage, workspace, hash_of)
    reasons = [f"{name} {what}" for name, what in changed.items()]
    of_settings, kept = _changed_parameters(manifest, stage, workspace)
    reasons += of_settings
    reasons += _awaited_labels(manifest, workspace, hash_of) if stage.name == "pool" else []
    reasons += _unsent(manifest, workspace) if stage.name == "push" else []
    if reasons and stage.name == "tasks" and _has_begun(workspace):
        return "done", f"{_counts(manifest)}; handed out, and since then {_in_words(reasons)}"
    if not reasons and stage.name in ("import", "pull") and (late := _unanswered(manifest, workspace)):
        return "waiting", f"no answer yet to round {late[0]} ({late[1].relative_to(workspace.root)})"
    if reasons:
        return "stale", _in_words(reasons), changed, len(reasons)
    return "done", "; ".join(filter(None, [_counts(manifest), *kept]))


def _latest_tasks(workspace: Workspace, first: Path, hash_of: _Hash) -> Path:
    """Return the manifest of the tasks made last, which are of the workspace's pool where any are."""
    found = {n: manifest_path(path, is_folder=False) for n, path in handed_out(workspace.root).items()}
    there = [found[number] for number in sorted(found, reverse=True) if found[number].is_file()]
    pool = workspace.root / _POOL
    now = hash_of(pool) if pool.is_file() else ""
    return next((at for at in there if _inputs_of(at).get(_POOL) == now), there[0] if there else first)


def _inputs_of(at: Path) -> dict[str, str]:
    try:
        return read_manifest(at).inputs
    except FireError:
        return {}


def _tasks_state(manifest: Manifest, workspace: Workspace, hash_of: _Hash) -> tuple[str, str] | None:
    """Return the state of tasks that were made of an earlier pool: what the present one leaves to ask."""
    pool = workspace.root / _POOL
    if not pool.is_file() or manifest.inputs.get(_POOL) == hash_of(pool):
        return None
    to_ask = pool_counts(workspace.root).get("to_ask")
    if to_ask is None:
        return None
    return ("stale", f"{to_ask:,} pairs to ask") if to_ask else ("done", "nothing new to ask")


def _has_begun(workspace: Workspace) -> bool:
    """Whether people have answered, or a campaign has been pushed: their tasks are not made again."""
    return (workspace.root / "judgments/judgments.csv").is_file() or has_campaign(workspace.root)


def _unanswered(manifest: Manifest, workspace: Workspace) -> tuple[int, Path] | None:
    """Return the first round after those of the judgments whose tasks were handed out, and its tasks."""
    latest = manifest.counts.get("round", 1)
    files = handed_out(workspace.root)
    files |= {n: tasks_file(workspace.root, n).parent for n in rounds_by_hand(workspace.root) - files.keys()}
    later = [(number, files[number]) for number in sorted(files) if number > latest]
    return later[0] if later else None


def _in_words(reasons: list[str]) -> str:
    more = [f"{len(reasons) - _SHOWN} more"] if len(reasons) > _SHOWN else []
    return "; ".join(reasons[:_SHOWN] + more)


def _inputs(stage: Stage, workspace: Workspace) -> tuple[list[Path], list[str]]:
    """Return the files a stage reads now, and what is missing."""
    found: list[Path] = []
    absent: list[str] = []
    for need in (*stage.needs, *stage.optional):
        paths = _resolved(need, workspace)
        if stage.name == "push":
            sent_by_hand = rounds_by_hand(workspace.root)
            paths = [path for path in paths if _round_of(path) not in sent_by_hand]
        found += [path for path in paths if path.is_file()]
        if need in stage.needs:
            absent += [str(path.relative_to(workspace.root)) for path in paths if not path.is_file()]
            if not paths and need in ("runs.files", "import.exports"):
                section, key = need.split(".")
                absent.append(" ".join(workspace.setting(section, key)))
    return found, absent


def _round_of(path: Path) -> int:
    """Return the round whose folder holds a file; 1 where none is named."""
    _, _, number = path.parent.name.partition("round-")
    return int(number) if number.isdigit() else 1


def _resolved(need: str, workspace: Workspace) -> list[Path]:
    if "*" in need:
        return sorted(workspace.root.glob(need))
    if "/" in need or need == STORE:
        return [workspace.root / need]
    section, key = need.split(".")
    if isinstance(workspace.setting(section, key), list):
        return workspace.paths(section, key)
    path = workspace.path(section, key)
    return [path] if path else []


def _changed_outputs(manifest: Manifest, at: Path, workspace: Workspace, hash_of: _Hash) -> dict[str, str]:
    changed = {}
    for name, wanted in manifest.outputs.items():
        path = at.with_name(name)
        if not path.is_file():
            changed[str(path.relative_to(workspace.root))] = GONE
        elif hash_of(path) != wanted:
            changed[str(path.relative_to(workspace.root))] = EDITED
    return changed


def _changed_inputs(
    manifest: Manifest, inputs: list[Path], stage: Stage, workspace: Workspace, hash_of: _Hash
) -> dict[str, str]:
    now = [path.relative_to(workspace.root).as_posix() for path in inputs]
    found = {name: NEW for name in now if name not in manifest.inputs}
    for name, wanted in manifest.inputs.items():
        path = workspace.root / name
        if name in stage.recalls:
            continue
        if not path.is_file():
            found[name] = GONE
        elif hash_of(path) != wanted:
            found[name] = CHANGED
    return found


def given_options(manifest: Manifest) -> dict[str, Any]:
    """Return the parameters that a stage's command was given as options, whatever fire.toml says."""
    options = {str(word).partition("=")[0] for word in manifest.command.get("words", ())}
    return {
        key: value for key, value in manifest.parameters.items() if f"--{key.replace('_', '-')}" in options
    }


def _changed_parameters(
    manifest: Manifest, stage: Stage, workspace: Workspace
) -> tuple[list[str], list[str]]:
    """Return the settings that have changed since, and those that the command was given otherwise."""
    settings, given = workspace.settings.get(stage.name, {}), given_options(manifest)
    others = {
        key: value
        for key, value in manifest.parameters.items()
        if key in settings and settings[key] not in (value, BY_GUIDELINE)
    }
    changed = [
        f"{key} is {settings[key]!r} in fire.toml, was {value!r}: to keep that, write it there"
        for key, value in others.items()
        if key not in given
    ]
    kept = [f"given {key} {others[key]}, {settings[key]} in fire.toml" for key in others if key in given]
    return changed, kept


def _unsent(manifest: Manifest, workspace: Workspace) -> list[str]:
    """Return which rounds have begun, or have changed hands, since tasks were sent the last time."""
    sent = manifest.parameters.get("given", {})
    now = {str(number): n for number, n in given_by_round(workspace.root).items()}
    changed = {number: sent.get(number) for number, n in now.items() if sent.get(number) != n}
    return [
        f"round {n} {'is new' if before is None else 'has changed hands'}" for n, before in changed.items()
    ]


def _awaited_labels(manifest: Manifest, workspace: Workspace, hash_of: _Hash) -> list[str]:
    """Return that labels have come since a pool whose strategy goes on from them, if they have."""
    labels = workspace.root / _LABELS
    if not manifest.counts.get("stopped_waiting") or not labels.is_file():
        return []
    return [] if manifest.inputs.get(_LABELS) == hash_of(labels) else ["there are new labels to go on from"]


def _counts(manifest: Manifest) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in manifest.counts.items() if isinstance(n, int))
