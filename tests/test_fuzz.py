"""A slice of `benchmarks/fuzz.py`: damaged files of a whole workspace give a table or one line."""

import importlib
import inspect
import pkgutil
import random
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import fire_toolkit
from examples import load_script
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.formats.runs.reader import READERS

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "fuzz.py"
# Read by their owner alone, made by this program itself, or tables of Python, not files.
NO_FILES_OF_A_WORKSPACE = {
    *("read_secret", "read_connection", "read_connection_file", "read_register", "read_links"),
    *("read_answer", "read_judge", "read_prompt", "read_tops", "read_places", "read_said"),
    "read_export",  # by judgments_from_export
}


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    return load_script(BENCHMARK)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["11", "12"])
def test_damaged_files_of_a_workspace_give_a_table_or_one_line(seed: str) -> None:
    options = ["--mutations", "700", "--seed", seed]
    done = subprocess.run([sys.executable, str(BENCHMARK), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "700 mutations of" in done.stdout


def test_every_reader_of_the_package_is_reached(fuzz: ModuleType) -> None:
    """A reader is named in the benchmark, or is behind one that recognises the format by content."""
    lists = ("runs.reader", "collections.registry")
    behind = {reader for name in lists for reader in _readers_listed_in(name)}
    named = set(re.findall(r"\w+", BENCHMARK.read_text()))
    missing = set()
    for info in pkgutil.walk_packages(fire_toolkit.__path__, "fire_toolkit."):
        if info.name.startswith(("fire_toolkit.cli", "fire_toolkit.demo")) or info.name.endswith("__main__"):
            continue
        for name, function in inspect.getmembers(importlib.import_module(info.name), inspect.isfunction):
            is_reader = name.startswith("read_") and function.__module__ == info.name
            if is_reader and info.name not in behind:
                missing |= {name} - named
    assert missing == NO_FILES_OF_A_WORKSPACE


def _readers_listed_in(name: str) -> set[str]:
    """The modules that a registry of formats imports, and those of the functions that it lists."""
    module = importlib.import_module(f"fire_toolkit.formats.{name}")
    listed = {each.read_lists.__module__ for each in READERS.values() if each.read_lists is not None}
    return listed | {value.__name__ for _, value in inspect.getmembers(module, inspect.ismodule)}


@pytest.mark.slow
def test_nearly_every_target_reads_its_own_file_as_it_is(fuzz: ModuleType) -> None:
    """So that the mutations reach what comes after the first look; matrices of odd forms need to be told."""
    odd = ("square.npy", "legacy.pt", "masked.npz", "padded.npz", "turned.npz", "vectors.npz")
    told = (*odd[:2], *(f"{name}, scored" for name in odd))
    refused = {}
    for target in fuzz.targets():
        try:
            fuzz.put(target, target.content, target.call)
        except FireError as error:
            refused[target.name] = str(error)
    assert {name: said for name, said in refused.items() if not name.endswith(told)} == {}


@pytest.mark.slow
def test_every_file_a_little_damaged_gives_a_table_or_one_line(fuzz: ModuleType) -> None:
    found = fuzz.targets()
    others = [target.content for target in found]
    for target in found:
        dice = random.Random(target.name)
        content = fuzz.mutated(target.content, dice, others)
        assert fuzz.attempt(target, content) == "", target.name


def test_what_must_not_come_out_is_found(fuzz: ModuleType) -> None:
    def fails(error: Exception, path: Path) -> None:
        raise error

    def told(call: Callable[[Path], object]) -> str:
        return str(fuzz.attempt(fuzz.of("f", b"x", call), b"y"))

    assert told(partial(fails, KeyError("f"))).startswith("KeyError at test_fuzz.py:")
    assert "no line to print" in told(partial(fails, FormatError("")))
    assert told(Path.read_bytes) == ""


def test_a_mutation_follows_from_the_seed_and_damages_the_file(fuzz: ModuleType) -> None:
    found = fuzz.targets()
    assert [fuzz.chosen(n, 3, found) for n in range(20)] == [fuzz.chosen(n, 3, found) for n in range(20)]
    chosen = [fuzz.chosen(n, 3, found) for n in range(200)]
    assert sum(content != target.content for target, content in chosen) > 180
    assert fuzz.mutated(b"", random.Random(0), [b""]) is not None
