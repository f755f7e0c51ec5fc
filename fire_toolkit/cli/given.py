"""What a command is given: the tables its options name, else its workspace's, and the options themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.commands.command import counting, rests_on, tables_of
from fire_toolkit.results import Found

_OF = ("", "run_", "asking_", "pool_", "report_")
_READERS = tuple(f"{__package__}.{of}readers" for of in _OF)


class Given(Inputs):
    """What a command was given, else has in its workspace; a table is read when it is first asked for.

    Each table is an attribute: a file of `readers.FILES`, or a function of one of `_READERS`. plain: the
    plain values of the function that takes the tables.
    """

    plain: Mapping[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Read the table of this name."""
        for module in map(import_module, _READERS):
            if name in (files := vars(module).get("FILES", {})):
                found = module.read_file(self, *files[name])
                break
            read: Any = None if name.startswith("_") else vars(module).get(name)
            if getattr(read, "__module__", "") == module.__name__:
                found = read(self)
                break
        else:
            raise AttributeError(name)
        self.__dict__[name] = found
        return found

    @property
    def as_json(self) -> bool:
        """Whether counts are to be printed as JSON."""
        return bool(self.values["as_json"])

    @property
    def form(self) -> str:
        """What `--format` says."""
        return str(self.values["output_format"])

    def basis(self, *more: str, of: Mapping[str, Any] | None = None) -> str:
        """Return what these tables hold, else those read so far, and what was resampled, in words."""
        from fire_toolkit.formats.releases import machine_labels_in

        read = self.__dict__
        tables = of or {
            "runs": read.get("runs", read.get("stored_runs")) or None,
            "qrels": read.get("original"),
            "augmented": read.get("augmented_if_any"),
            "labels": read.get("labels", read.get("known_labels")),
            "pool_sources": read.get("sources", read.get("sources_if_any")),
            "clusters": read.get("clusters"),
        }
        ages = [self.age] if self.values.get("output_format") in ("latex", "markdown") and self.age else []
        has_qrels = bool({"qrels", "labels"} & set(self.values))
        unusable = [self.unusable.words] if has_qrels and self.unusable is not None else []
        return rests_on(
            tables,
            more=more,
            of_files=list(dict.fromkeys(words for path in self.used for words in machine_labels_in(path))),
            rules=[*unusable, *self.own.in_words(), *ages],
            n_added=self.own.n_added,
            kind=self.kind_of_qrels,
        )

    @property
    def kind_of_qrels(self) -> str:
        """What the qrels named are: original, or corrected and by which release."""
        from fire_toolkit.formats.releases import ORIGINAL, kind_of_qrels

        named = self.path("qrels") if self.values.get("qrels") else None
        return kind_of_qrels(named) if named else ORIGINAL

    def renamed(self, result: Found) -> Found:
        """Return a result by the names that its qrels have where corrected ones alone were named by --qrels.

        They are `augmented` in the column qrels, as where they stand beside the original ones.
        """
        beside = self.__dict__.get("augmented_if_any")
        if not self.kind_of_qrels.startswith("corrected") or beside is not None:
            return result
        tables = {
            name: table.assign(qrels=table["qrels"].replace("original", "augmented"))
            if "qrels" in table
            else table
            for name, table in result.tables.items()
        }
        notes = [str(note).replace("original qrels", "corrected qrels") for note in result.notes]
        return replace(result, tables=tables, notes=notes)


def with_tables(function: Callable[..., Any], given: Given, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a command's function, and its tables, as its types say."""
    found, count = dict(values), counting(inspect.unwrap(function), values)
    given.plain = found
    for name, table in tables_of(function).items():
        found[name] = getattr(given, table.read) if table.read and name in count else None
    return found
