"""`init`, `guideline` and `snippet`, to begin with; `refresh` and `doctor`, where something has changed."""

import os
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import click

from fire_toolkit.campaign.records import BY_SERVER
from fire_toolkit.campaign.store import check_record
from fire_toolkit.cli.common import give_command, n_of, say
from fire_toolkit.cli.here import current_workspace, needed_workspace, say_next
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import FireError, ServerError, StaleError, UsageError
from fire_toolkit.formats.snippets import SNIPPETS, find_snippet
from fire_toolkit.formats.tables.guideline_files import (
    guideline_problems,
    list_guidelines,
    new_guideline_files,
    read_guideline,
)
from fire_toolkit.guidelines.label_config import several_config
from fire_toolkit.labelstudio.connection import MEDIA_KEY, SERVER_FOLDER, key_at
from fire_toolkit.machines.judge import prompt_problems
from fire_toolkit.workspace.config import CONFIG, Workspace, config_text
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import checked, manifest_at, manifest_path, write_files
from fire_toolkit.workspace.rounds import refuse_lost_record
from fire_toolkit.workspace.stages import CHANGED, COMPUTED, NEW, StageState, stage_states

_FOLDER = click.Path(file_okay=False, path_type=Path)


def init(
    folder: Annotated[Path | None, Option(is_argument=True), _FOLDER] = None,
    *,
    guideline: Annotated[str | None, Option(metavar="NAME")] = None,
) -> None:
    """Make a workspace: a folder with a fire.toml and places for collection, runs and exports.

    With a guideline that shows captions alone, such as query-validity-v1, and inside another workspace: one
    for a campaign on the captions of that one, whose `augment` then reads what came of it.

    Args:
        folder: The folder; the one here unless given.
        guideline: The guideline that its tasks are judged by.
    """
    folder = folder or Path()
    path = folder / CONFIG
    if path.exists():
        raise UsageError(f"{path}: already exists; edit it, or choose another folder")
    rules = read_guideline(guideline) if guideline else None
    outer = current_workspace(folder.resolve().parent) if rules and rules.is_of_queries else None
    settings = {"tasks": {"guideline": guideline}} if guideline else {}
    if outer is not None:
        found = {name: outer.path("collection", name) for name in ("queries", "qrels")}
        own = folder.resolve()
        settings["collection"] = {name: os.path.relpath(path, own) for name, path in found.items() if path}
    for name in ("exports",) if outer else ("collection", "runs", "exports"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    key_at(folder / SERVER_FOLDER / MEDIA_KEY)
    write_files({path: config_text(settings).encode()})
    if outer is not None:
        say(f"{path} written: the captions of {outer.root} are judged there, apart from its pairs")
    else:
        say(f"{path} written; `add-collection` brings in the benchmark, `add-run` each model's predictions")
    begins = "" if folder == Path() else f"cd {quote(str(folder))} && "
    say(f"next: {begins}fire-toolkit {'status' if outer is None else 'tasks'}")


def guideline(
    name: Annotated[str | None, Option(is_argument=True)] = None,
    *,
    part: Literal["text", "config", "pages", "labels"] = "text",
    like: Annotated[str | None, Option(metavar="GUIDELINE")] = None,
) -> int:
    """Print and check a guideline, or write a new one to edit; without a name, list those that there are.

    A guideline is a folder: guideline.md is what annotators read, labels.toml holds the question and the
    labels with grades and keys, label_config.xml is Label Studio's page, and machine.toml the prompt for
    machine judges. They must agree: each mistake is a line, and the exit code is then 1.

    Args:
        name: A guideline's name, or its folder.
        part: What to print: the text for annotators, the labeling config, that of pages of several captions
            (for which `push` makes tasks), or the labels.
        like: Write a new guideline to the folder NAME, which ends in its version, -v1: a copy of this one.
    """
    if name is None:
        click.echo("\n".join(list_guidelines()))
        return 0
    if like is not None:
        if (folder := Path(name)).exists():
            raise UsageError(f"{folder}: already exists; edit it, or choose another name")
        files = new_guideline_files(folder.name, like=like)
        write_files({folder / each: text.encode() for each, text in files.items()})
        say(f"{folder}: a copy of {like}; edit {', '.join(files)}")
        say(f"next: fire-toolkit guideline {quote(str(folder))}")
        return 0
    problems = [*guideline_problems(name), *prompt_problems(name)]
    for problem in problems:
        click.echo(f"error: {name}: {problem}", err=True)
    if problems:
        return 1
    rules = read_guideline(name)
    if part == "pages" and rules.is_of_queries:
        raise UsageError(f"{rules.name} shows captions alone: there is no item to show several captions of")
    rows = [f"{label.name}\t{label.relevance}\t{label.description}\n" for label in rules.labels]
    parts = {"text": rules.text, "config": rules.label_config}
    parts["labels"] = "".join(["label\trelevance\tdescription\n", *rows])
    click.echo(parts[part] if part in parts else several_config(rules.label_config), nl=False)
    graded = ", ".join(
        f"{each.name} {'no vote' if each.relevance is None else each.relevance}" for each in rules.labels
    )
    flags = n_of(len(rules.flags), "flag")
    say(f"{rules.name}: its three files agree; {graded}; {flags}; {rules.level} level")
    say(f"next: fire-toolkit tasks --guideline {quote(name)}")
    return 0


def snippet(name: Annotated[str | None, Option(is_argument=True)] = None) -> None:
    """Print the lines that make a model's own code save its predictions with ids.

    NAME is a repository (clip4clip, lavis, mteb, ...); without it the list is printed.

    Args:
        name: The repository.
    """
    if name is None:
        for known in SNIPPETS.values():
            click.echo(f"{known.name:<16}{known.project}")
        return
    click.echo(find_snippet(name).text, nl=False)


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
                given = _given_again(state, workspace)
                say(f"{name}: {state.age}")
                with chdir(workspace.root / given["folder"]):
                    give_command(*given["words"])
                done.append(name)
    say(f"\nredone: {', '.join(done)}" if done else "nothing to redo")
    for state in stage_states(workspace):
        if state.state == "stale":
            say(f"still stale: {state.stage.name} ({state.reason})")
    say_next("status")


def _given_again(state: StageState, workspace: Workspace) -> Mapping[str, Any]:
    """Return the words of a stage's command and their folder, where its files are as it wrote them.

    Exports that the last `import` did not name are read by one that names none.
    """
    stage, root = state.stage, workspace.root
    at = manifest_path(root / stage.out)
    manifest = manifest_at(at)
    for path in map(at.with_name, manifest.outputs):
        if path.is_file():
            checked(path)
    if not (given := manifest.command):
        todo = f"does not tell the command that was given; run `fire-toolkit {stage.name}`"
        raise StaleError(f"{at.relative_to(root)}: {todo}")
    named = {(root / given["folder"] / str(word)).resolve() for word in given["words"]}
    others = [name for name, what in state.changed.items() if what in (NEW, CHANGED)]
    if stage.name == "import" and any((root / name).resolve() not in named for name in others):
        return {"words": ["import"], "folder": "."}
    return given


_MARKS = {"good": "ok  ", "note": "note", "bad": "BAD "}


def doctor() -> int:
    """Check server, token, record of answers, guideline, and this workspace's projects: there, and unchanged.

    The first item of each must be seen. Each problem is listed with the command that fixes it. Exit code 1 if
    there is one, 3 if it is the server's.
    """
    from fire_toolkit.cli.campaigns import begun_here, guideline_here, knows_server, used_connection  # heavy
    from fire_toolkit.labelstudio.doctor import BAD, NOTE, START, Finding, examine

    workspace, begun = current_workspace(), begun_here()
    try:
        if begun and not knows_server() and BY_SERVER not in begun.carriers:
            words = "no server is configured, and no round of this campaign is on one"
            findings = [Finding("connection", NOTE, words)]
        else:
            own = (begun.root, begun.campaign, begun.guideline) if begun else None
            findings = list(examine(used_connection(), own))
    except FireError as error:
        findings = [Finding("connection", BAD, str(error), START if isinstance(error, UsageError) else "")]
    root = workspace.root if workspace else Path()
    looks = [("record", lambda: refuse_lost_record(root)), ("record", lambda: check_record(root / STORE))]
    for name, look in looks + ([("guideline", guideline_here)] if workspace else []):
        try:
            look()
        except FireError as error:
            findings.append(Finding(name, BAD, str(error)))
    for finding in findings:
        click.echo(f"{_MARKS[finding.state]}  {finding.name:<10}  {finding.words}")
        if finding.fix:
            click.echo(f"      {'':<10}  -> {finding.fix}")
    bad = [finding for finding in findings if finding.state == BAD]
    say(f"{len(bad)} of {len(findings)} checks failed" if bad else "all is well")
    return max((ServerError if each.is_servers else FireError).exit_code for each in bad) if bad else 0
