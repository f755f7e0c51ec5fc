"""The stages of a workspace in their order, and whether each is done, stale or still to do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError
from fire_toolkit.workspace.config import BY_GUIDELINE, Workspace
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.hashes import kept_hashes
from fire_toolkit.workspace.manifests import Manifest, checked, manifest_at, manifest_path, writer_of
from fire_toolkit.workspace.rounds import (
    campaign_rounds,
    given_by_round,
    handed_out,
    has_campaign,
    pool_counts,
    tasks_file,
)


@dataclass(frozen=True)
class Stage:
    """A stage: its command, where it writes, what it reads (settings `section.key`, or places, with `*`).

    out: a file in a folder, or a folder, whose chief file bears its name. recalls: what it takes into account
    where it is there, and need not be run again for.
    """

    name: str
    out: str
    needs: tuple[str, ...]
    optional: tuple[str, ...] = ()
    recalls: tuple[str, ...] = ()


_POOL, _JUDGMENTS, _LABELS = "pool/pool.csv", "judgments/judgments.csv", "labels/labels.csv"
_SCORED = ("runs.files", "collection.qrels")
_LABELED, _VALIDITY = ("collection.qrels", _LABELS), ("validity/labels/query_labels.csv",)

STAGES = (
    Stage("pool", "pool", _SCORED, recalls=(_JUDGMENTS, _LABELS)),
    Stage("tasks", "tasks/tasks.json", (_POOL, "collection.queries"), ("collection.items",)),
    Stage("import", _JUDGMENTS, ("import.exports",)),
    Stage("agree", "agreement/agreement.csv", (_JUDGMENTS,)),
    Stage("resolve", "labels", (_JUDGMENTS,)),
    Stage("augment", "augmented/qrels.txt", _LABELED, _VALIDITY),
    Stage("score", "scores/scores.csv", _SCORED, ("augmented/qrels.txt", "audit/labels/answers.csv")),
    Stage("compare", "comparison/comparison.csv", ("runs.files",)),
)

# What stands in the place of `import` once a campaign has begun; before it, where a server is known; and
# beside these, or in their place, where files carry rounds of a campaign.
CAMPAIGN = (
    Stage("push", "campaign", (), ("tasks/tasks.json", "tasks/round-*/tasks.json")),
    Stage("pull", _JUDGMENTS, (), (STORE,)),
)
BEFORE_PUSH = (
    replace(CAMPAIGN[0], needs=("tasks/tasks.json",)),
    replace(CAMPAIGN[1], needs=(STORE,), optional=()),
)
BY_HAND = Stage("import", _JUDGMENTS, ("import.exports",), (STORE,))
# What these write follows from files alone; the others ask people, or bring in what they answered.
COMPUTED = ("import", "agree", "resolve", "augment", "score", "compare")
_OF_PAIRS = {"pool", "augment", "score", "compare"}
NEW, CHANGED, GONE, EDITED = "is new", "has changed", "is gone", "was changed by hand"
_SHOWN = 3


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
        alone = replace(STAGES[1], needs=("collection.queries",), optional=())
        kept = [stage for stage in stages if stage.name not in _OF_PAIRS]
        stages = [alone if stage.name == "tasks" else stage for stage in kept]
    with kept_hashes(workspace.root) as hash_of:
        look = _Look(workspace, hash_of)
        return [look.state(stage) for stage in stages if only is None or stage.name in only]


def out_of_date(workspace: Workspace, used: Iterable[Path]) -> list[StageState]:
    """Return the stages that wrote some files, or what these were made from, and whose own have changed.

    They stand in their order. A setting that is not what it was is no such change; of a pool only a run that
    is another one now is: one that comes after it is no fault of what was judged.

    Args:
        used: files that a command has read, in the workspace or elsewhere.
    """
    folders = {path.resolve().parent for path in used}
    behind = set()
    for stage in reversed(stages_of(workspace)):  # a stage reads what those before it write
        out = (workspace.root / stage.out).resolve()
        if stage.name in (*COMPUTED, "pool", "pull") and (out.parent if "/" in stage.out else out) in folders:
            behind.add(stage.name)
            made = (need for need in (*stage.needs, *stage.optional) if "/" in need)
            folders |= {(workspace.root / need).resolve().parent for need in made}
    states = stage_states(workspace, only=behind - {"pool"})
    with suppress(FireError), kept_hashes(workspace.root) as hash_of:  # a damaged manifest tells nothing
        made_from = writer_of(workspace.root / _POOL).inputs if "pool" in behind else {}
        files = {path.resolve() for path in workspace.paths("runs", "files")}
        runs = [name for name in made_from if (workspace.root / name).resolve() in files]
        others = [name for name in runs if hash_of(workspace.root / name) != made_from[name]]
        states.insert(0, StageState(STAGES[0], "stale", "", dict.fromkeys(others, CHANGED), len(others)))
    return [state for state in states if state.changed]


def stages_of(workspace: Workspace, *, on_server: bool = False) -> list[Stage]:
    """Return a workspace's stages in their order; in a campaign its carriers bring the judgments."""
    carriers = {*campaign_rounds(workspace.root).values()}
    brought = [*(() if carriers == {"folder"} else CAMPAIGN), *((BY_HAND,) if "folder" in carriers else ())]
    if not (carriers or has_campaign(workspace.root)):
        is_by_hand = not on_server or workspace.paths("import", "exports")
        brought = [STAGES[2]] if is_by_hand else [*BEFORE_PUSH]
    return [*STAGES[:2], *brought, *STAGES[3:]]


def given_options(manifest: Manifest) -> dict[str, Any]:
    """Return the parameters that a stage's command was given as options, whatever fire.toml says."""
    options, given = _options(manifest), manifest.parameters.items()
    return {key: value for key, value in given if f"--{key.replace('_', '-')}" in options}


def _options(manifest: Manifest) -> set[str]:
    return {str(word).partition("=")[0] for word in manifest.command.get("words", ())}


def _in_words(reasons: list[str]) -> str:
    more = [f"{len(reasons) - _SHOWN} more"] if len(reasons) > _SHOWN else []
    return "; ".join(reasons[:_SHOWN] + more)


@dataclass(frozen=True)
class _Look:
    """A look at a workspace: what its manifests say, and what is there now."""

    workspace: Workspace
    hash_of: Callable[[Path], str]

    @property
    def root(self) -> Path:
        return self.workspace.root

    def named(self, path: Path) -> str:
        """Return a path as manifests name it."""
        return path.as_posix().removeprefix(f"{self.root.as_posix()}/")

    def state(self, stage: Stage) -> StageState:
        inputs, absent = self.inputs(stage)
        if stage.name == "compare" and len(inputs) == 1:
            return StageState(stage, "done", "nothing to compare: one run")
        out = self.root / stage.out
        at = self.latest_tasks() if stage.name == "tasks" else manifest_path(out)
        own = out if "/" in stage.out else out / f"{stage.out}.csv"
        try:
            if own.is_file() and not at.is_file():
                checked(own)  # which ends what a kill left half named
            manifest = manifest_at(at)
        except FireError as error:
            return StageState(stage, "stale", str(error))
        if not manifest:
            if own.is_file() and not (stage.out == _JUDGMENTS and has_campaign(self.root)):
                words = f"{self.named(own)} is your own file, which `{stage.name}` leaves as it is"
                return StageState(stage, "done", words)
            missing = f"needs {', '.join(absent)}" if absent else "not done yet"
            return StageState(stage, "waiting" if absent else "ready", missing)
        counts = ", ".join(f"{name} {n:,}" for name, n in manifest.counts.items() if isinstance(n, int))
        to_ask = pool_counts(self.root).get("to_ask")
        if stage.name == "tasks" and to_ask is not None and self.is_newer(manifest, _POOL):
            reason = f"{to_ask:,} pairs to ask" if to_ask else "nothing new to ask"
            return StageState(stage, "stale" if to_ask else "done", reason)
        changed = self.changed(stage, manifest, at, inputs)
        reasons, kept = self.changed_parameters(manifest, stage)
        reasons[:0] = [f"{name} {what}" for name, what in changed.items()]
        kept += [f"{name} was not read, as another was named" for name in self.unread(stage, manifest)]
        if manifest.counts.get("stopped_waiting") and self.is_newer(manifest, _LABELS):  # of the pool alone
            reasons.append("there are new labels to go on from")
        reasons += self.unsent(manifest) if stage.name == "push" else []
        if not reasons:
            if stage.name in ("import", "pull") and (late := self.unanswered(manifest)):
                words = f"no answer yet to round {late[0]} ({self.named(late[1])})"
                return StageState(stage, "waiting", words)
            return StageState(stage, "done", "; ".join(filter(None, [counts, *kept])))
        # Tasks are not made again once people have answered, or a campaign has been pushed.
        if stage.name == "tasks" and ((self.root / _JUDGMENTS).is_file() or has_campaign(self.root)):
            return StageState(stage, "done", f"{counts}; handed out, and since then {_in_words(reasons)}")
        return StageState(stage, "stale", _in_words(reasons), changed, len(reasons))

    def inputs(self, stage: Stage) -> tuple[list[Path], list[str]]:
        """Return the files a stage reads now, and what is missing."""
        found, absent, settled = list[Path](), list[str](), set[Path]()
        if stage.name == "push":  # some carriers are not sent changed tasks
            carriers = campaign_rounds(self.root).items()
            settled = {tasks_file(self.root, n) for n, by in carriers if by not in ("labelstudio", "page")}
        for need in (*stage.needs, *stage.optional):
            section, _, key = need.partition(".")
            if "*" in need:
                paths = sorted(self.root.glob(need))
            elif "/" in need or need == STORE:
                paths = [self.root / need]
            elif isinstance(patterns := self.workspace.settings[section][key], list):
                paths = self.workspace.paths(section, key)
                absent += [] if paths else [" ".join(patterns)]
            else:
                paths = [path for path in (self.workspace.path(section, key),) if path]
            found += [path for path in paths if path.is_file() and path not in settled]
            if need in stage.needs:
                absent += [self.named(path) for path in paths if not path.is_file()]
        return found, absent

    def is_newer(self, manifest: Manifest, name: str) -> bool:
        """Whether a file is there that is not what a stage was made from."""
        path = self.root / name
        return path.is_file() and manifest.inputs.get(name) != self.hash_of(path)

    def latest_tasks(self) -> Path:
        """Return the manifest of the tasks made last, which are of the workspace's pool where any are."""
        files = [path for _, path in sorted(handed_out(self.root).items(), reverse=True)]
        there = [at for at in map(manifest_path, files) if at.is_file()]
        for at in there if (self.root / _POOL).is_file() else ():
            with suppress(FireError):
                if not self.is_newer(manifest_at(at), _POOL):
                    return at
        return there[0] if there else manifest_path(tasks_file(self.root, 1))

    def unanswered(self, manifest: Manifest) -> tuple[int, Path] | None:
        """Return the first round after those of the judgments whose tasks were handed out, and its tasks."""
        carriers = campaign_rounds(self.root).items()
        files = {n: tasks_file(self.root, n).parent for n, by in carriers if by == "folder"}
        files |= handed_out(self.root)
        later = [number for number in sorted(files) if number > manifest.counts.get("round", 1)]
        return (later[0], files[later[0]]) if later else None

    def changed(self, stage: Stage, manifest: Manifest, at: Path, inputs: list[Path]) -> dict[str, str]:
        """Return what has become of the files of a stage, by name: of its outputs, then of its inputs."""
        written = manifest.outputs.items()
        files = {self.named(at.parent / name): (sha256, EDITED) for name, sha256 in written}
        now = [*map(self.named, inputs)]
        files |= dict.fromkeys({*now} - {*manifest.inputs, *self.unread(stage, manifest)}, ("", NEW))
        was = {name: sha256 for name, sha256 in manifest.inputs.items() if name not in stage.recalls}
        if stage.name == "push":  # what was drawn from other files stays
            was = {name: was[name] for name in was if name in now}
        if stage.out == _JUDGMENTS and STORE in was:  # which has the answers of files that are gone
            was = {name: was[name] for name in was if name == STORE or (self.root / name).is_file()}
        files |= {name: (sha256, CHANGED) for name, sha256 in was.items()}
        found = {}
        for name, (sha256, what) in files.items():
            is_there = (self.root / name).is_file()
            if not is_there or self.hash_of(self.root / name) != sha256:
                found[name] = what if is_there else GONE
        return found

    def unread(self, stage: Stage, manifest: Manifest) -> list[str]:
        """Return the files that a stage needs and did not read, as its command named others."""
        options, paths = _options(manifest), list[Path | None]()
        for need in stage.needs if stage.name in COMPUTED else ():
            section, _, key = need.partition(".")
            paths += [self.root / need] if "/" in need else []
            paths += [self.workspace.path(section, key)] if f"--{key}" in options else []
        found = [self.named(path) for path in paths if path and path.is_file()]
        return [name for name in found if name not in manifest.inputs]

    def changed_parameters(self, manifest: Manifest, stage: Stage) -> tuple[list[str], list[str]]:
        """Return the settings that have changed since, and those that the command was given otherwise."""
        settings, given = self.workspace.settings.get(stage.name, {}), given_options(manifest)
        changed, kept = [], []
        for key, value in manifest.parameters.items():
            if key not in settings or settings[key] in (value, BY_GUIDELINE):
                continue
            if key in given:
                kept.append(f"given {key} {value}, {settings[key]} in fire.toml")
            else:
                now = f"{key} is {settings[key]!r} in fire.toml"
                changed.append(f"{now}, was {value!r}: to keep that, write it there")
        if was := manifest.parameters.get("own_item"):
            writers = [writer_of(self.workspace.path("collection", name)) for name in ("queries", "qrels")]
            rule = next((made.parameters.get("own_item") for made in writers if made), None) or "keep"
            changed += [f"own_item is {rule!r} in the collection, was {was!r}"] * (rule != was)
        return changed, kept

    def unsent(self, manifest: Manifest) -> list[str]:
        """Return which rounds have begun, or have changed hands, since tasks were sent the last time."""
        sent = manifest.parameters.get("given", {})
        now = {str(number): n for number, n in given_by_round(self.root).items()}
        changed = {number: sent.get(number) for number, n in now.items() if sent.get(number) != n}
        return [
            f"round {number} {'is new' if before is None else 'has changed hands'}"
            for number, before in changed.items()
        ]
