"""A function of `commands` as a command: options from its signature, help from its docstring's sentences.

Its tables are read as their types say, from the files given or the workspace's; what it returns is printed
and written, with a manifest, in one way, and the command that comes next is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_type_hints

import click
from click.core import ParameterSource

from fire_toolkit.cli.common import DRAWN, format_option, json_option, say, wipe_progress
from fire_toolkit.cli.given import Given, with_tables
from fire_toolkit.cli.here import current_workspace, named, say_next, workspace_lock, workspace_path
from fire_toolkit.cli.plain import described, option_of, value_of
from fire_toolkit.commands.command import Part, counting, marked, measure_names, refuse_apart, tables_of
from fire_toolkit.commands.types import Option, Table
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.matching.own_items import RULES
from fire_toolkit.results import Found, Next
from fire_toolkit.workspace.config import SETTINGS

_NO_GUIDELINE = "Without it: the default's labels, or numbers as their own grades."
_ALSO = {  # options that say how a table's files are read, see `Table.also`
    "guideline": [("--guideline", "NAME", f"The guideline judged by. {_NO_GUIDELINE}")],
    "exclude": [
        ("--exclude", "NAME", "Leave out the judgments of an annotator (may be repeated); needs --reason."),
        ("--reason reasons", "TEXT", "Why; kept in the manifest. One for all --exclude, or one for each."),
    ],
}
_OUT = "Also write the table as CSV, with a manifest."
_OUT_OF_STAGE = "Where to write, with a manifest. [default: the workspace's {place}]"


def framed(function: Callable[..., Found]) -> click.Command:
    """Return the command of a function of `commands`."""
    own, place = inspect.unwrap(function), getattr(function, "place", None)
    hints, tables = get_type_hints(own, include_extras=True), tables_of(own)
    text, helps = described(own)
    name = own.__name__.replace("_", "-")
    parameters = inspect.signature(own).parameters
    plain = [each for name, each in parameters.items() if name not in (*tables, "tell")]
    options = {each.name: marked(hints[each.name], Option) or Option() for each in plain}
    params: list[click.Parameter] = []
    for each, table in tables.items():
        params += _options_of_table(each, table, helps[each])
    params += [option_of(each, hints[each.name], helps[each.name]) for each in plain]
    if place is None:
        params += [format_option, click.Option(["--out"], metavar="FILE", help=_OUT)]
    else:
        metavar, words = "FILE" if "." in place else "DIR", _OUT_OF_STAGE.format(place=place)
        params += [click.Option(["--out"], metavar=metavar, help=words), json_option]
    params.sort(key=lambda each: not (isinstance(each, click.Argument) and each.nargs == 1))  # these first

    def run(**values: Any) -> None:
        given = Given({**dict.fromkeys(tables), **values})
        stage = click.get_current_context().command_path.partition(" ")[2] or name
        refuse_apart(own, values, {str(each.name): each.opts[0] for each in params})
        called = {each.name: value_of(each, options[each.name], values) for each in plain}
        if called.get("measures"):
            called["measures"] = measure_names(called["measures"])
        known = {
            name: _for_manifest(called[name], each) if isinstance(called[name], tuple) else called[name]
            for name, each in options.items()
        } | {each: values[each] for each in tables if each == "clusters"}
        with workspace_lock() if place else nullcontext():
            out = given.out(place) if place else None
            if hasattr(own, "parts"):
                _refuse_others(own, called, params)
            called = with_tables(function, given, called)
            result = own(**called, **({"tell": given.tell} if "tell" in hints else {}))
            if not place and values.get("qrels") and given.kind_of_qrels.startswith("corrected"):
                result = given.renamed(result)
            known = {key: value for key, value in known.items() if value not in (None, False, [], {})}
            known |= {"excluded": given.excluded or None} if "exclude" in values else {}
            known = {key: value for key, value in {**known, **result.parameters}.items() if value is not None}
            if out is None and result.files:
                stage, out = f"{name} {called[plain[0].name]}", given.out(result.place)
            if out is not None:
                keep_files(result, given, out, stage, known, is_file="." in (place or result.place))
            else:
                is_usual = not any(values.get(each) for each in (*tables, "measures") if each != "guideline")
                show_tables(result, given, stage, known, of=called, is_usual=is_usual)

    run.__module__ = own.__module__
    return click.Command(name, params=params, callback=run, help=text)


def _refuse_others(own: Callable[..., Any], called: Mapping[str, Any], params: list[click.Parameter]) -> None:
    """Raise a usage error for an option that does not count for the part of a command that is made."""
    parts: Mapping[str, Part] = vars(own)["parts"]
    what = called[next(iter(inspect.signature(own).parameters))]
    count = counting(own, called)
    also = {option for name, table in tables_of(own).items() if name in count for option in table.also}
    also |= {"out"} if parts[what].writes else {"out", "output_format"}
    context = click.get_current_context()
    for each in params:
        is_given = context.get_parameter_source(str(each.name)) is ParameterSource.COMMANDLINE
        if is_given and each.name not in (*count, *also) and context.params[str(each.name)] != ():
            raise click.UsageError(f"{each.opts[0]} does not go with {what}; leave one of them out")


def _only_one(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the value given; a usage error for a second one, which would take the place of the first."""
    if len(values) > 1:
        raise click.BadParameter(
            f"given {len(values)} times; `pool` all runs: one file has all their sources"
        )
    return values[0] if values else None


def _options_of_table(name: str, table: Table, words: str) -> list[click.Parameter]:
    """Return a table's option, and those that say how it is read."""
    if table.is_told:
        return []
    also = [
        click.Option(spelled.split(), multiple=each == "exclude", metavar=metavar, help=words)
        for each in table.also
        for spelled, metavar, words in _ALSO[each]
    ]
    if name == "runs" or table.is_argument:
        is_one = name != "runs" and not table.is_several
        metavar = table.metavar if table.is_argument else "RUN..."
        is_needed = table.is_argument and metavar[0] != "["
        return [click.Argument([name], nargs=1 if is_one else -1, metavar=metavar, required=is_needed), *also]
    spelled = [table.option or f"--{name.replace('_', '-')}", name]
    settings: dict[str, Any] = {"multiple": table.is_several, "metavar": table.metavar}
    if name == "own_item":
        settings = {"type": click.Choice(RULES)}
    elif name == "pool_sources":
        settings |= {"multiple": True, "callback": _only_one}
    return [click.Option(spelled, help=words, **settings), *also]


def _for_manifest(value: tuple[Any, ...], option: Option) -> Any:
    """Return values as fire.toml would have them: one alone where its setting is one."""
    setting = option.setting
    is_one = len(value) == 1 and setting and not isinstance(SETTINGS[setting[0]][setting[1]], list)
    return value[0] if is_one else list(value)


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
    basis = given.basis(*result.more, of=of)
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
    first = next(iter(folders))
    for folder, files in folders.items():
        counts = {**result.counts, **result.trace} if folder == first else {}
        given.write(out if is_file and folder == first else folder, files, stage, parameters, counts)
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
        **{"JUDGMENTS": values.get("judgments") or "", "given": out if values["out"] else ""},
        **{"out": out, "stem": str(out).removesuffix(out.suffix)},
    }
    words = [following.command, "" if here else following.outside]
    words += [following.elsewhere] if values["out"] else []
    say_next(" ".join(filter(None, (word.format(**known) for word in " ".join(words).split()))))
