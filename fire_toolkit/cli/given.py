"""What a command is given: files that its options name, else its workspace's, and their tables."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import click

from fire_toolkit import __version__
from fire_toolkit.cli.common import COPIED, WORDS, Progress, as_files, copy_of_stdin, say, wipe_progress
from fire_toolkit.cli.here import current_workspace, outside, relative_path
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import STDIN, sha256_of
from fire_toolkit.results import Found

if TYPE_CHECKING:
    import pandas as pd


class File(NamedTuple):
    """A table of one file: the one that an option names, else the workspace's.

    when: without it there is a usage error (needed), or the table is None: where the workspace's is not there
    (exists), or where it names none (named). beside: the name of a file that may lie beside that one, and is
    read in its place.
    """

    option: str
    read: Callable[[Path], Any]
    when: Literal["needed", "exists", "named"] = "needed"
    beside: str = ""


# What reads each table, by its name; the modules of `_READERS`, imported in turn, fill it.
TABLES: dict[str, File | Callable[[Given], Any]] = {}
_READERS = ("readers", "run_readers", "asking_readers", "pool_readers", "campaigns", "report_readers")
# Where a workspace has what an option names: under a key of fire.toml, or where a stage writes it.
_NAMED = {"queries": "collection", "items": "collection", "qrels": "collection"}
_NAMED |= {"query_ids": "runs", "doc_ids": "runs"}
_MADE = {
    "augmented": "augmented/qrels.txt",
    "judgments": "judgments/judgments.csv",
    "labels": "labels/labels.csv",
    "pool": "pool/pool.csv",
    "pool_sources": "pool/pool_sources.csv",
    "validity": "validity/labels/query_labels.csv",
}
_LARGE_BYTES = 4 << 20  # of a file that takes long enough to be named while a command works on it

_T = TypeVar("_T")


@dataclass(eq=False)
class Given:
    """What a command was given, else has in its workspace, and an account of the files it has read.

    Each table of `TABLES` is an attribute, which is read when it is first asked for. values: what was
    given on the command line, by the name of the parameter. plain: the plain values of the function that
    takes the tables. hashes: the sha256 of the files read so far, for the manifest, empty where none can be
    written. run_files: the runs read, by run id. tell: the line of progress. words: of the command whose
    files are written, empty where it is the running one.
    """

    values: dict[str, Any] = field(default_factory=dict)
    plain: Mapping[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    used: list[Path] = field(default_factory=list)
    run_files: dict[str, Path] = field(default_factory=dict)
    tell: Progress = field(default_factory=Progress)
    words: list[str] = field(default_factory=list)
    _read: list[Path] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        """Read the table of this name."""
        modules = iter(_READERS)
        while name not in TABLES:
            if name.startswith("_") or (module := next(modules, None)) is None:
                raise AttributeError(name)
            import_module(f"{__package__}.{module}")
        if not isinstance(table := TABLES[name], File):
            found = table(self)
        else:
            option, read, when, beside = table
            path = self.needed(option) if when == "needed" else self.path(option, exists=when == "exists")
            path = path.with_name(beside) if path and beside else path
            found = read(self.use(path)) if path and (not beside or path.is_file()) else None
        self.__dict__[name] = found
        return found

    def path(self, name: str, *, exists: bool = False) -> Path | None:
        """Return the file given, else the workspace's; None where there is neither.

        Of a release (or a folder of BEIR's) given as qrels it is the file with them. exists: the workspace's
        counts only where it is there.
        """
        given, workspace, made = self.values.get(name), current_workspace(), _MADE.get(name)
        if given and made:
            at = Path(given)  # a file, or called like one; else the folder of it
            is_file = at.suffix or at.exists() or str(given) == STDIN
            return at / Path(made).name if at.is_dir() or not is_file else at
        if given and name == "qrels" and Path(given).is_dir():
            from fire_toolkit.formats.releases import qrels_file

            return qrels_file(Path(given))
        if given or not workspace or not (made or name in _NAMED):
            return Path(given) if given else None
        path = workspace.root / made if made else workspace.path(_NAMED[name], name)
        return relative_path(path) if path and (path.is_file() or not exists) else None

    def needed(self, name: str) -> Path:
        """Return the file given, else the workspace's; a usage error where there is neither.

        Raises:
            FormatError: the workspace's was not made yet.
        """
        if (path := self.path(name)) is None:
            params = {param.name: param for param in click.get_current_context().command.params}
            if isinstance(own := params.get(name), click.Argument):
                raise outside(own.human_readable_name.strip("[]"))
            option = own.opts[0] if own else f"--{name.replace('_', '-')}"
            has_place = name in _NAMED or name in _MADE  # in a workspace
            raise outside(option) if has_place else click.UsageError(f"{option} is needed")
        if name in _MADE and not self.values.get(name) and not path.is_file():
            raise FormatError(f"{path}: not made yet; `fire-toolkit status` says what to run next")
        return path

    def out(self, place: str | None) -> Path:
        """Return what `--out` names, else `place` in the workspace; a usage error where there is neither."""
        if given := self.values.get("out"):
            return Path(given)
        if place and (workspace := current_workspace()):
            return relative_path(workspace.root / place)
        raise outside("--out")

    def use(self, path: str | Path, *, goes_on: bool = False) -> Path:
        """Check `path` against its manifest, note its hash and return it (standard input by its copy).

        goes_on: the command goes on from this file, and may replace it (`pool --previous`).
        """
        from fire_toolkit.workspace.manifests import checked

        path = Path(path)
        if str(path) == STDIN:
            self.hashes[STDIN] = "read from standard input"
            given = (each if isinstance(each, list | tuple) else [each] for each in self.values.values())
            as_files([each for each in chain.from_iterable(given) if isinstance(each, str)])
            return copy_of_stdin()
        context = click.get_current_context(silent=True)
        if context and path == context.meta.get(COPIED):
            self._read.append(Path.cwd() / STDIN)
            self.hashes[name_in_manifest(Path(STDIN))] = sha256_of(path)
            return path
        if path.is_file() and path.stat().st_size >= _LARGE_BYTES:
            self.tell(f"working on {path} …")
        if not self.used and context and current_workspace():
            context.call_on_close(self._say_age)
        self.used.append(path)
        self._read += [] if goes_on else [Path.cwd() / path]
        is_kept = self.values.get("out", True) or current_workspace()
        self.hashes[name_in_manifest(path)] = sha256_of(path) if is_kept else ""
        return checked(path)

    @property
    def run_hashes(self) -> dict[str, str]:
        """The sha256 of the runs read so far, by run id."""
        files = self.run_files.items()
        return {run_id: self.hashes.get(name_in_manifest(path)) or sha256_of(path) for run_id, path in files}

    @property
    def age(self) -> str:
        """What of the workspace's results read so far is older than what it was made from; else empty."""
        from fire_toolkit.workspace.stages import COMPUTED, out_of_date

        workspace = current_workspace()
        stale = out_of_date(workspace, self.used) if workspace else []
        named = ", ".join(f"{state.stage.name} ({state.age})" for state in stale)
        is_computed = all(state.stage.name in COMPUTED for state in stale)
        how = "refresh` redoes it" if is_computed else "status` says what comes first"
        return f"out of date: {named}; `fire-toolkit {how}" if named else ""

    def _say_age(self) -> None:
        if words := self.age:
            say(f"warning: {words}")

    def write(
        self,
        out: Path,
        contents: Mapping[str, pd.DataFrame | dict[str, Any] | str | bytes],
        stage: str,
        parameters: Mapping[str, Any],
        counts: Mapping[str, Any] | None = None,
        words: str = "",
    ) -> None:
        """Write the files of a stage and its manifest: in the folder `out`, or `out` itself and its kin.

        `contents` maps file names to texts, or to tables, which their names make CSV, TSV or (.txt) TREC
        qrels; when `out`'s own name is among them it is a file, else a folder. words: for `summarise`.

        Raises:
            FireError: a file would overwrite one that was read, or one that this stage did not write.
        """
        from fire_toolkit.formats.written import as_text
        from fire_toolkit.workspace.manifests import MANIFEST, Manifest, write_stage

        is_folder = out.name not in contents
        folder = out if is_folder else out.parent
        if is_folder and out.exists() and not out.is_dir():
            raise UsageError(f"{out}: is a file, expected a folder to write {', '.join(contents)} into")
        if not is_folder and out.is_dir():
            raise UsageError(f"{out}: is a folder, expected the name of a file")
        workspace, context, command = current_workspace(), click.get_current_context(silent=True), {}
        typed = self.words or (list(context.meta.get(WORDS, ())) if context else [])
        if workspace and typed[:1] == [stage]:
            # Without further words there is no path that hangs on the folder.
            below = Path.cwd().relative_to(workspace.root) if typed[1:] else Path()
            command = {"words": typed, "folder": below.as_posix()}
        manifest = Manifest(
            stage, __version__, dict(parameters), self.hashes, counts=dict(counts or {}), command=command
        )
        files = {folder / name: as_text(name, content) for name, content in contents.items()}
        at = folder / MANIFEST if is_folder else out.with_name(f"{out.name}.{MANIFEST}")
        write_stage(files, manifest, at=at, read=self._read)
        if words:
            self.summarise(counts or {}, words)

    @property
    def published(self) -> dict[str, str]:
        """The hashes of what was read, for others: files outside the workspace without their places."""
        paths = {name: Path(name) for name in self.hashes}
        return {path.name if path.is_absolute() else name: self.hashes[name] for name, path in paths.items()}

    def summarise(self, counts: Mapping[str, Any], words: str) -> None:
        """Print what a command counted: words on stderr, or with `--format json` one object on stdout."""
        if self.values.get("as_json"):
            wipe_progress()
            click.echo(json.dumps(counts, ensure_ascii=False))
        else:
            say(words)

    @property
    def said(self) -> dict[str, Any]:
        """What the files read so far say that their tables do not, as `rests_on` takes it."""
        from fire_toolkit.formats.releases import machine_labels_in

        ages = [self.age] if self.values.get("output_format") in ("latex", "markdown") and self.age else []
        has_qrels = bool({"qrels", "labels"} & set(self.values))
        unusable = [self.unusable.words] if has_qrels and self.unusable is not None else []
        return {
            "of_files": list(dict.fromkeys(words for path in self.used for words in machine_labels_in(path))),
            "rules": [*unusable, *self.own.in_words(), *ages],
            "n_added": self.own.n_added,
            "kind": self.kind_of_qrels,
        }

    def renamed(self, result: Found) -> Found:
        """Return a result by the names that its qrels have where --qrels named corrected ones.

        They are `augmented` in the column qrels, as where they stand beside the original ones.
        """
        if self.__dict__.get("augmented_if_any") is not None:
            return result
        tables = {
            name: table.assign(qrels=table["qrels"].replace("original", "augmented"))
            if "qrels" in table
            else table
            for name, table in result.tables.items()
        }
        notes = [str(note).replace("original qrels", "corrected qrels") for note in result.notes]
        return replace(result, tables=tables, notes=notes)


def reads(read: Callable[[Given], _T]) -> Callable[[Given], _T]:
    """Have a function read the table of its name."""
    TABLES[read.__name__] = read
    return read


def with_tables(function: Callable[..., Any], given: Given, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a command's function, and its tables, as its types say."""
    from fire_toolkit.commands.command import about, counting  # heavy

    own, found = inspect.unwrap(function), dict(values)
    given.plain = found
    count = counting(own, values)
    for name, table in about(own).tables.items():
        counts = bool(table.read) and name in count
        found[name] = getattr(given, table.read) if counts else None
    return found


def name_in_manifest(path: Path) -> str:
    """Return `path` from the workspace's folder when it lies in one, else as it was given."""
    workspace = current_workspace()
    absolute = Path.cwd() / path
    if workspace and absolute.is_relative_to(workspace.root):
        return absolute.relative_to(workspace.root).as_posix()
    return path.as_posix()
