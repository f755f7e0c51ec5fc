"""`refresh`: redo what is stale in a workspace."""

from __future__ import annotations

import shlex
from contextlib import chdir

import click

from fire_toolkit.cli.common import needed_workspace, say, say_next
from fire_toolkit.errors import StaleError
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import Manifest, manifest_path, read_manifest, verify
from fire_toolkit.workspace.stages import COMPUTED, Stage, StageState, stage_states


@click.command()
def refresh() -> None:
    """Redo what is stale in this workspace, in order: each command as it was last given.

    Redone are import, agree, resolve, augment, score and compare, where files that they read have changed or
    files that they wrote are gone. The rest of what is stale is named and left to you: pool, tasks, push and
    pull ask people or bring in what they answered, and where fire.toml says otherwise than the command did,
    only you know which is right. A file that was changed by hand is never overwritten.
    """
    workspace = needed_workspace("; `refresh` redoes the stages of a workspace")
    done: list[str] = []
    for name in COMPUTED:
        for state in stage_states(workspace, only={name}):
            if state.changed:
                _redo(state, workspace)
                done.append(name)
    say(f"redone: {', '.join(done)}" if done else "nothing to redo")
    for state in stage_states(workspace):
        if state.state == "stale":
            say(f"still stale: {state.stage.name} ({state.reason})")
    say_next("status")


def _redo(state: StageState, workspace: Workspace) -> None:
    """Give the command of a stage again, where and as it was last given."""
    from fire_toolkit.cli import main

    manifest = _manifest_of(state.stage, workspace)
    words = [str(word) for word in manifest.command["words"]]
    say(f"{state.stage.name}: {state.age}\n$ fire-toolkit {shlex.join(words)}")
    with chdir(workspace.root / manifest.command["folder"]):
        code = main.main(words, prog_name="fire-toolkit", standalone_mode=False)
    if code:
        click.get_current_context().exit(code)


def _manifest_of(stage: Stage, workspace: Workspace) -> Manifest:
    """Return the manifest of a stage whose files are as it wrote them, and that tells its command.

    Raises:
        StaleError: a file was changed by hand, or the command is not known.
    """
    at = manifest_path(workspace.root / stage.out, is_folder=stage.is_folder)
    manifest = read_manifest(at)
    for path in map(at.with_name, manifest.outputs):
        if path.is_file():
            verify(path)
    if not {"words", "folder"} <= manifest.command.keys():
        raise StaleError(
            f"{at.relative_to(workspace.root)}: does not tell the command that was given; run "
            f"`fire-toolkit {stage.name}` with the options that it needs"
        )
    return manifest
