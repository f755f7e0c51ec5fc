"""What other packages add: one registry for each kind of thing, filled from outside by entry points.

Built-in things register when their room is imported. Entry points of the group `fire_toolkit.<group>` are
read only when a name is unknown or a list is asked for, since looking through the installed packages takes
time. A built-in name cannot be taken. A plug-in that cannot be used is one line that names its package: an
error where it was asked for by name, a note where a list leaves it out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fire_toolkit.errors import FireError, PluginError, PluginNote, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """The things of one kind by name: the built-in ones in their order, then those of plug-ins by name.

    Args:
        group: of the entry points `fire_toolkit.<group>`.
        thing: one of them in messages, such as `measure`.
        kind: the class that an entry point must load; None for a function.
        name_of: the name that a thing gives itself, which must be that of its entry point.
        returns: what its functions return: the name of a field (empty for a thing that is a function) to
            the class.
        taken: names that plug-ins cannot take, beside those of the built-in things.
        makes_objects: whether they are functions that make objects, whose methods are looked after as well.

    Examples:
        >>> rules = Registry[Callable[[int], int]]("doctest", "rule")
        >>> rules.add("double", lambda number: 2 * number)
        >>> rules["double"](4), list(rules)
        (8, ['double'])
        >>> rules.named("triple")
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: rule 'triple' is unknown; expected one of double
    """

    def __init__(
        self,
        group: str,
        thing: str,
        kind: type[T] | None = None,
        *,
        name_of: Callable[[T], str] | None = None,
        returns: Mapping[str, type | tuple[type, ...]] | None = None,
        taken: Iterable[str] = (),
        makes_objects: bool = False,
    ) -> None:
        self.group = f"fire_toolkit.{group}"
        self.thing = thing
        self.built_in: dict[str, T] = {}
        self._kind, self._name_of, self._returns = kind, name_of, returns or {}
        self._taken, self._makes_objects = frozenset(taken), makes_objects
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
        """Return what plug-ins add, by name; one that cannot be used is left out, with a `PluginNote`."""
        found = {}
        for name, points in _entry_points(self.group).items():
            try:
                if name in self.built_in or name in self._taken:
                    raise PluginError(f"{self._where(name, points)}: the name is that of a built-in one")
                found[name] = self._load(name)
            except PluginError as error:
                warnings.warn(f"left out {error}", PluginNote, stacklevel=2)
        return found

    def one_by_one(self) -> Iterator[T]:
        """Yield the built-in things, then, only if more are asked for, those of plug-ins."""
        yield from self.built_in.values()
        yield from self.added().values()

    def __iter__(self) -> Iterator[str]:
        return iter([*self.built_in, *self.added()])

    def __len__(self) -> int:
        return len(self.built_in) + len(self.added())

    def _where(self, name: str, points: list[EntryPoint]) -> str:
        packages = " and ".join(sorted(_package(point) for point in points))
        return f"{self.thing} {name!r} of {packages}"

    def _load(self, name: str) -> T:
        if name not in self._loaded:
            points = _entry_points(self.group)[name]
            where = self._where(name, points)
            if len(points) > 1:
                raise PluginError(f"{where}: two plug-ins of one name; uninstall one of them")
            self._loaded[name] = self._checked(_object_of(points[0], where), name, where)
        return self._loaded[name]

    def _checked(self, found: Any, name: str, where: str) -> T:
        """Return what an entry point loaded, with its failures told as those of its package."""
        is_right = callable(found) if self._kind is None else isinstance(found, self._kind)
        if not is_right:
            expected = "function" if self._kind is None else self._kind.__name__
            raise PluginError(f"{where} is of type {type(found).__name__}, expected a {expected}")
        if self._name_of is not None and self._name_of(found) != name:
            raise PluginError(
                f"{where} calls itself {self._name_of(found)!r}, expected its entry point's name"
            )
        guarded: Any = _guarded(found, where, self._returns)
        if self._makes_objects:
            return cast(T, lambda *given: _GuardedObject(guarded(*given), where))
        return cast(T, guarded)


@cache
def _entry_points(group: str) -> Mapping[str, list[EntryPoint]]:
    """Return the entry points of a group by name, in the order of names."""
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        found.setdefault(point.name, []).append(point)
    return found


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _object_of(point: EntryPoint, where: str) -> Any:
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # whatever somebody's module does when it is imported
        raise PluginError(f"{where} cannot be loaded: {_in_words(error)}") from error


def _guarded(thing: Any, where: str, returns: Mapping[str, type | tuple[type, ...]]) -> Any:
    """Return a function, or an object with functions as fields, that fails in the name of its package."""
    if not is_dataclass(thing) or isinstance(thing, type):
        return _guarded_call(thing, where, returns.get("", object))
    calls = {field.name: getattr(thing, field.name) for field in fields(thing)}
    guarded = {
        name: _guarded_call(call, where, returns.get(name, object))
        for name, call in calls.items()
        if callable(call)
    }
    return replace(thing, **guarded)


class _GuardedObject:
    """An object of a plug-in, whose methods fail in the name of its package."""

    def __init__(self, thing: Any, where: str) -> None:
        self._thing, self._where = thing, where

    def __getattr__(self, name: str) -> Any:
        found = _guarded_call(getattr, self._where, object)(self._thing, name)
        return _guarded_call(found, self._where, object) if callable(found) else found


def _guarded_call(call: Callable[..., Any], where: str, kind: type | tuple[type, ...]) -> Callable[..., Any]:
    @wraps(call)
    def guarded(*arguments: Any, **options: Any) -> Any:
        try:
            found = call(*arguments, **options)
        except (FireError, MemoryError):
            raise
        except Exception as error:
            raise PluginError(f"{where} failed: {_in_words(error)}") from error
        if not isinstance(found, kind):
            expected = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
            raise PluginError(f"{where} returned a {type(found).__name__}, expected {expected}")
        return found

    return guarded


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
