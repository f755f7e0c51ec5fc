"""Which cases a test takes: those in the file beside it; of random ones a few, in `make thorough` all."""

import os
import sys
import tomllib
from collections.abc import Callable, Iterable
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fire_toolkit import errors

THOROUGH = "FIRE_THOROUGH" in os.environ
SAID = {"(none)": None, "(half a character)": "\ud800", "(of 4001 digits)": 10**4000}


def examples(number: int) -> int:
    """Return the number of examples to draw of the `number` that a thorough run draws."""
    return number if THOROUGH else max(5, number // 20)


def seeds(number: int) -> list[Any]:
    """Return the values of a parameter `seed` from 0: the first few are of `make test`, the rest slow."""
    return some(range(number), max(1, number // 5))


def some(values: Iterable[Any], few: int) -> list[Any]:
    """Return the values of a parameter: the first few are of `make test`, the rest slow."""
    return some_rows(((value,) for value in values), few)


def some_rows(rows: Iterable[tuple[Any, ...]], few: int) -> list[Any]:
    """Return the values of several parameters, as `some` does of one."""
    marks = pytest.mark.slow
    return [pytest.param(*row, marks=marks if at >= few else ()) for at, row in enumerate(rows)]


def cases(*names: str, few: int | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Return the parametrization of a test by the rows under its name in the TOML file beside its own.

    What TOML cannot say has its word there (SAID); what stands under `error` is a class of
    fire_toolkit.errors. few: as in `some`.
    """

    def mark(test: Callable[..., Any]) -> Any:
        beside = Path(test.__code__.co_filename).with_suffix(".toml")
        rows = tomllib.loads(beside.read_text(encoding="utf-8"))[test.__name__.removeprefix("test_")]
        table = rows if len(names) > 1 else [[row] for row in rows]
        meaning = [tuple(map(meant, row, names)) for row in table]
        return pytest.mark.parametrize(names, some_rows(meaning, len(rows) if few is None else few))(test)

    return mark


def meant(cell: Any, name: str = "") -> Any:
    """Return what a cell of a case stands for."""
    if isinstance(cell, list):
        return [meant(each) for each in cell]
    if isinstance(cell, dict):
        return {key: meant(each) for key, each in cell.items()}
    return getattr(errors, cell) if name == "error" else SAID.get(cell, cell)


def load_script(path: Path) -> ModuleType:
    """Return a program of the checkout, or of what was made, as a module; it is in no package."""
    spec = util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
