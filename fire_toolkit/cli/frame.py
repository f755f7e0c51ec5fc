"""A function of `commands` as a command: options from its signature, help from its docstring's sentences.

Its tables are read as their types say, from the files given or the workspace's; what it returns is printed
and written, with a manifest, in one way, and the command that comes next is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from typing import Any

import click

from fire_toolkit.cli.common import DRAWN, format_option, json_option, say, wipe_progress
from fire_toolkit.cli.given import Given, with_tables
from fire_toolkit.cli.here import current_workspace, named, say_next, workspace_lock, workspace_path
from fire_toolkit.cli.plain import arguments_of, options_of
from fire_toolkit.commands.command import about, rests_on
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.formats.written import delimited_bytes, trec_qrels_text
from fire_toolkit.measures import parse_measures
from fire_toolkit.results import Found, Next
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.database import kept_open

_OUT = "Also write the table as CSV, with a manifest."
_OUT_OF_STAGE = "Where to write, with a manifest. [default: the workspace's {place}]"


def framed(function: Callable[..., Found]) -> click.Command:
    """Return the command of a function of `commands`."""
    own, place = inspect.unwrap(function), getattr(function, "place", None)
    text, parameters, tables, _ = about(own)

    def run(**values: Any) -> None:
        context, called = click.get_current_context(), arguments_of(own, values)
        given, stage = Given({**dict.fromkeys(tables), **values}), context.command_path.partition(" ")[2]
        what, parts = next(iter(called.values()), None), getattr(own, "parts", None)
        if parts and parts[what].writes and values["output_format"] != "table":
            raise click.UsageError(f"--format does not go with {what}; leave one of them out")
        if called.get("measures"):
            called["measures"] = tuple(each.name for each in parse_measures(called["measures"]))
        known = dict(called)
        for name, value in called.items():
            if isinstance(value, tuple):  # as fire.toml would have it: one alone where its setting is one
                section, key = parameters[name].option.setting or ("", "")
                is_one = len(value) == 1 and section and not isinstance(SETTINGS[section][key], list)
                known[name] = value[0] if is_one else list(value)
        known |= {"clusters": values["clusters"]} if "clusters" in tables else {}
        if current_workspace():  # whose record is opened once
            context.with_resource(kept_open())
        with workspace_lock() if place else nullcontext():
            out = given.out(place) if place else None
            whole = with_tables(function, given, called)
            result = own(**whole, **({"tell": given.tell} if "tell" in parameters else {}))
            if not place and values.get("qrels") and given.kind_of_qrels.startswith("corrected"):
                result = given.renamed(result)
            known = {key: value for key, value in known.items() if value not in (None, False, [], {})}
            known |= {"excluded": given.excluded or None} if "exclude" in values else {}
            known = {key: value for key, value in {**known, **result.parameters}.items() if value is not None}
            if out is None and result.files:
                stage, out = f"{stage} {what}", given.out(result.place)
            if out is not None:
                keep_files(result, given, out, stage, known, is_file="." in (place or result.place))
            else:
                is_usual = not any(values.get(each) for each in (*tables, "measures") if each != "guideline")
                show_tables(result, given, stage, known, of=whole, is_usual=is_usual)

    run.__module__ = own.__module__
    metavar = "FILE" if place is None or "." in place else "DIR"
    words = _OUT_OF_STAGE.format(place=place) if place else _OUT
    written = click.Option(["--out"], metavar=metavar, help=words)
    more = (written, json_option) if place else (format_option, written)
    name = own.__name__.rstrip("_").replace("_", "-")
    return click.Command(name, params=options_of(own, *more), callback=run, help=text)


_OF_ANSWERS = ("agree", "resolve", "augment")  # after which people may have to be asked first


def show_tables(
    result: Found,
    given: Given,
    stage: str,
    parameters: Mapping[str, Any],
    *,
    of: Mapping[str, Any],
    is_usual: bool,
) -> None:
    """Print a result's table, what it rests on and notes; write it, and say what comes next.

    csv, tsv and json are whole, the others as the result draws them. What it rests on and notes stand below
    LaTeX and Markdown, else on stderr. It is written to --out, else where the workspace keeps it. of: the
    tables that it is of; is_usual: all of them are the workspace's, and its measures.
    """
    asked, out = given.values["output_format"], given.values["out"]
    form = "csv" if result.is_long and asked in DRAWN else asked
    basis = rests_on(of, more=result.more, **given.said)
    draw = result.draw if result.draw and form in DRAWN else table_text
    wipe_progress()
    click.echo(draw(result.table, form), nl=False)
    for line in [*([f"rests on: {basis}"] if basis else []), *(f"note: {note}" for note in result.notes)]:
        if form == "latex":
            click.echo(f"% {line}")
        elif form == "markdown":
            click.echo(f"\n{line[0].upper()}{line[1:]}.")
        else:
            say(line)
    for line in result.said:
        say(line)
    place = workspace_path(result.place) if is_usual and result.place else None
    if path := Path(out) if out else place:
        table = result.table if result.written is None else result.written
        known = {**parameters, **given.own.parameters}
        given.write(path, {path.name: delimited_bytes(table, nan="nan")}, stage, known, result.counts)
    if out and result.words:
        say(result.words.replace("{out}", str(out)))
    if out or not result.words:
        _say_next(result.next, given, Path(out or "table"), stage)


def keep_files(
    result: Found, given: Given, out: Path, stage: str, parameters: Mapping[str, Any], *, is_file: bool
) -> None:
    """Write a stage's files, those of further folders with a manifest of their own; say what was counted.

    is_file: `out` is the name of the first file, and the others lie beside it; else the folder of all.
    """
    for line in (*(f"note: {note}" for note in result.notes), *result.said):
        say(line)
    folders: dict[Path, dict[str, Any]] = {}
    named = result.named_files(out.name) if is_file else result.files
    for usual, (name, content) in zip(result.files, named.items(), strict=True):
        path = (out.parent if is_file else out) / name
        is_qrels = usual.endswith(".txt") and hasattr(content, "columns")
        folders.setdefault(path.parent, {})[path.name] = trec_qrels_text(content) if is_qrels else content
    for place, (folder, files) in enumerate(folders.items()):
        counts = {} if place else {**result.counts, **result.trace}
        given.write(folder if place or not is_file else out, files, stage, parameters, counts)
    given.summarise(result.counts, result.words.replace("{out}", str(out)))
    _say_next(result.next, given, out, stage)


def _say_next(following: Next | str, given: Given, out: Path, stage: str) -> None:
    """Name the command that comes next, with what it must be told here."""
    if isinstance(following, str):
        if following:
            say(f"next: {following}")
        return
    here, values = current_workspace(), given.values
    is_usual = not any(values.get(each) for each in ("out", "judgments", "labels", "qrels"))
    is_later = stage == "pool" and here and (here.root / "tasks").is_dir()
    if (stage in _OF_ANSWERS or is_later) and is_usual and here:
        from fire_toolkit.cli.status import say_following  # heavy

        say_following(following.command.partition(" ")[0])
        return
    runs = named("RUN...", values.get("runs"))
    known = {
        **{file: named(file, values.get(file.lower()), beside=given.hashes) for file in ("QUERIES", "QRELS")},
        **{"RUNS": "" if here else runs, "SAME_RUNS": runs if values.get("runs") else ""},
        "JUDGMENTS": quote(values["judgments"]) if values.get("judgments") else "",
        **{"given": quote(str(out)) if values["out"] else "", "out": quote(str(out))},
        "stem": quote(str(out).removesuffix(out.suffix)),
    }
    words = [following.command, following.outside * (not here), following.elsewhere * bool(values["out"])]
    say_next(" ".join(filter(None, (word.format(**known) for word in " ".join(words).split()))))
