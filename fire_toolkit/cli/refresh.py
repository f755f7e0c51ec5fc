"""`refresh`: redo what is stale in a workspace."""

from __future__ import annotations

from contextlib import chdir
from typing import Any

from fire_toolkit.cli.common import give_command, say
from fire_toolkit.cli.here import needed_workspace, say_next
from fire_toolkit.errors import StaleError
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import manifest_path, read_manifest, verify
from fire_toolkit.workspace.stages import CHANGED, COMPUTED, NEW, StageState, stage_states


def refresh() -> None:
    """Redo what is stale in this workspace, in order: each command as it was last given.

    Redone are import, agree, resolve, augment, score and compare, where files that they read have changed or
    files that they wrote are gone. Other stale stages ask people or depend on changed settings; they are
    named and left to you. A file that was changed by hand is never overwritten.

    """
    workspace = needed_workspace("; `refresh` redoes the stages of a workspace")
    done: list[str] = []
    for name in COMPUTED:
        for state in stage_states(workspace, only={name}):
            if state.changed:
                given = _last_given(state, workspace)
                say(f"{name}: {state.age}")
                with chdir(workspace.root / given["folder"]):
                    give_command(*given["words"])
                done.append(name)
    say(f"\nredone: {', '.join(done)}" if done else "nothing to redo")
    for state in stage_states(workspace):
        if state.state == "stale":
            say(f"still stale: {state.stage.name} ({state.reason})")
    say_next("status")


def _last_given(state: StageState, workspace: Workspace) -> dict[str, Any]:
    """Return the words of a stage's command and their folder, where its files are as it wrote them.

    Exports that the last `import` did not name are read by one that names none.

    Raises:
        StaleError: a file was changed by hand, or the command is not known.
    """
    stage = state.stage
    at = manifest_path(workspace.root / stage.out, is_folder=stage.is_folder)
    manifest = read_manifest(at)
    for path in map(at.with_name, manifest.outputs):
        if path.is_file():
            verify(path)
    if not manifest.command:
        raise StaleError(
            f"{at.relative_to(workspace.root)}: does not tell the command that was given; run "
            f"`fire-toolkit {stage.name}` with the options that it needs"
        )
    root, given = workspace.root, manifest.command
    named = {(root / given["folder"] / str(word)).resolve() for word in given["words"]}
    others = [name for name, what in state.changed.items() if what in (NEW, CHANGED)]
    if stage.name == "import" and any((root / name).resolve() not in named for name in others):
        return {"words": ["import"], "folder": "."}
    return given
