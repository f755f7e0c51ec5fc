"""What other packages add: one registry for each kind of thing, filled from outside by entry points.

Built-in things register when their room is imported. Entry points of the group `fire_toolkit.<group>` are
read only when a name is unknown or a list is asked for, since looking through the installed packages takes
time. A built-in name cannot be taken. A plug-in that fails is one line that names its package: an error where
it was asked for by name or at work, a note where a list leaves it out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter
from traceback import walk_tb
from typing import TYPE_CHECKING, TypeVar, cast

from fire_toolkit.errors import FileNote, PluginError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
_PACKAGES: dict[str, str] = {}  # the module that a plug-in was loaded from → its package


class Registry(Mapping[str, T]):
    """The things of one kind by name: the built-in ones in their order, then those of plug-ins by name.

    Args:
        group: of the entry points `fire_toolkit.<group>`.
        thing: one of them in messages, such as `measure`.
        kind: the class that an entry point must load; None for a function.

    Examples:
        >>> rules = Registry("doctest", "rule")
        >>> rules.add("double", lambda number: 2 * number)
        >>> rules["double"](4), list(rules)
        (8, ['double'])
        >>> rules.named("triple")
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: rule 'triple' is unknown; expected one of double
    """

    def __init__(self, group: str, thing: str, kind: type[T] | None = None) -> None:
        self.group = f"fire_toolkit.{group}"
        self.thing = thing
        self.built_in: dict[str, T] = {}
        self._kind = kind
        self._loaded: dict[str, T] = {}

    def add(self, name: str, thing: T) -> None:
        """Register a built-in thing; two of one name are a mistake in this package."""
        if name in self.built_in:
            raise RuntimeError(f"{self.thing} {name} is defined twice")
        self.built_in[name] = thing

    def __getitem__(self, name: str) -> T:
        """Return the thing of that name; entry points are read where no built-in one has it.

        Raises:
            KeyError: none has it.
            PluginError: a plug-in has it and cannot be used.
        """
        return self.built_in[name] if name in self.built_in else self._load(name)

    def named(self, name: str) -> T:
        """Return the thing of that name.

        Raises:
            UsageError: none has it; the message lists those that are.
            PluginError: a plug-in has it and cannot be used.
        """
        try:
            return self[name]
        except KeyError:
            raise UsageError(f"{self.thing} {name!r} is unknown; expected one of {', '.join(self)}") from None

    def added(self) -> dict[str, T]:
        """Return what plug-ins add, by name; one that cannot be used is left out, with a `FileNote`."""
        found = {}
        for name in _entry_points(self.group):
            try:
                if name in self.built_in:
                    raise PluginError(f"{self._where(name)}: the name is that of a built-in one")
                found[name] = self._load(name)
            except PluginError as error:
                warnings.warn(f"left out {error}", FileNote, stacklevel=2)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self.added()  # only if more are asked for

    def __len__(self) -> int:
        return len(self.built_in) + len(self.added())

    def _where(self, name: str) -> str:
        packages = " and ".join(sorted(map(_package, _entry_points(self.group)[name])))
        return f"{self.thing} {name!r} of {packages}"

    def _load(self, name: str) -> T:
        if name not in self._loaded:
            point, *others = _entry_points(self.group)[name]
            where, expected = self._where(name), self._kind.__name__ if self._kind else "function"
            if others:
                raise PluginError(f"{where}: two plug-ins of one name; uninstall one of them")
            _PACKAGES[point.module.partition(".")[0]] = _package(point)
            try:
                found = point.load()
            except (Exception, SystemExit) as error:  # whatever somebody's module does when it is imported
                raise PluginError(f"{where} cannot be loaded: {_in_words(error)}") from error
            if not (isinstance(found, self._kind) if self._kind else callable(found)):
                raise PluginError(f"{where} is of type {type(found).__name__}, expected a {expected}")
            self._loaded[name] = cast(T, found)
        return self._loaded[name]


@cache
def _entry_points(group: str) -> Mapping[str, list[EntryPoint]]:
    """Return the entry points of a group by name, in the order of names."""
    from importlib.metadata import entry_points

    in_order = sorted(entry_points(group=group), key=attrgetter("name"))
    return {name: list(points) for name, points in groupby(in_order, attrgetter("name"))}


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def failed_plugin(error: BaseException) -> str | None:
    """Return in words which plug-in raised an error, and what; None where no plug-in's code was running."""
    for frame, _ in walk_tb(error.__traceback__):
        package = _PACKAGES.get(str(frame.f_globals.get("__name__")).partition(".")[0])
        if package is not None:
            return f"plug-in {package} failed: {_in_words(error)}"
    return None


def _in_words(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
