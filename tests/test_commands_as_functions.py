"""A command is a function: its parameters are its options, and both give the same bytes and sentences."""

import copy
import inspect
import json
import shutil
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
from command import run

import fire_toolkit as fire
from examples import some_rows
from fire_toolkit.cli import main
from fire_toolkit.cli.given import _READERS, TABLES
from fire_toolkit.commands.command import about
from fire_toolkit.commands.types import Asked
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.tifa import read_answers, read_questions
from fire_toolkit.formats.written import trec_qrels_text
from fire_toolkit.measures import defaults
from fire_toolkit.results import Found
from fire_toolkit.tables import check_disputes
from fire_toolkit.workspace.config import SETTINGS

COMMANDS = Path(fire.__file__).with_name("commands")
MODULES = [
    import_module(f"fire_toolkit.commands.{path.stem}")
    for path in COMMANDS.glob("*.py")
    if path.stem not in {"__init__", "command", "types"}
]
FUNCTIONS = {
    name: each
    for module in MODULES
    for name, each in vars(module).items()
    if hasattr(each, "__wrapped__") and each.__module__ == module.__name__
}
NAMES = sorted(FUNCTIONS)
SAMPLE = Path(__file__).resolve().parents[1] / "pools" / "sample"
NO_PYTHON_NAME = {"measures"}  # `fire_toolkit.measures` is the room of measures
GROUPS_OF_COMMANDS = ("machine",)
# What each parameter reads, and by which function.
READ: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "runs": (["runs/fused.run", "runs/shape-contour.run"], lambda paths: [fire.run(path) for path in paths]),
    "judgments": ("judgments.csv", fire.judgments),
    "labellings": (["qrels.txt", "augmented.txt"], lambda paths: {path: fire.qrels(path) for path in paths}),
    "questions": ("questions.json", read_questions),
    "answers": ("answers.csv", read_answers),
    "qrels": ("qrels.txt", fire.qrels),
    "augmented": ("augmented.txt", fire.qrels),
    "labels": ("labels/labels.csv", fire.read_labels),
    "pool_sources": ("pool/pool_sources.csv", fire.read_pool_sources),
    "queries": ("queries.tsv", fire.read_queries),
    "items": ("items.tsv", fire.read_items),
    "machine": ("machine.csv", fire.read_machine_judgments),
}
FILES = {name: files for name, (files, _) in READ.items()}
# What the manifests and neighbours of files tell a command, as Python has it.
TOLD: dict[str, Callable[[], dict[str, Any]]] = {
    "augment": lambda: {"asked": Asked(check_disputes(read_delimited("labels/disputes.csv")))},
    "score": lambda: {"labels": fire.read_labels(FILES["labels"])},
    "difference": lambda: {
        "labels": fire.read_labels(FILES["labels"]),
        "pool_sources": fire.read_pool_sources("pool_sources.csv"),
    },
}
HEAVY = ("audit", "coverage", "influence", "machine_check", "plan")  # without options too
PLAIN = sorted({*NAMES} - {*HEAVY, "report"})  # the parts of a report are held by its own tests
WITH_OPTIONS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["calls"]
CALLS = some_rows([*((name, "", {}) for name in [*PLAIN, *HEAVY]), *WITH_OPTIONS], len(PLAIN))


def function_of(name: str) -> Callable[..., Any]:
    return inspect.unwrap(FUNCTIONS[name])


def words_of_command(name: str) -> list[str]:
    """The words by which a function is called: those of a group are called by two."""
    group, _, own = name.partition("_")
    return [group, own] if group in GROUPS_OF_COMMANDS else [name.replace("_", "-")]


def command_of(name: str) -> click.Command:
    command: click.Command = main
    for word in words_of_command(name):
        command = command.commands[word]  # type: ignore[attr-defined]
    return command


def place_of(name: str) -> str | None:
    """Where a command writes files in the workspace; None of one that returns tables."""
    return getattr(FUNCTIONS[name], "place", None)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's runs, judged: pool, labels, augmented qrels."""
    folder = tmp_path_factory.mktemp("sample") / "judged"
    shutil.copytree(SAMPLE, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("pool", *FILES["runs"], "--qrels", "qrels.txt", "--depth", "5", "--out", "pool")
        run("resolve", "judgments.csv", "--out", "labels")
        run("augment", "--qrels", "qrels.txt", "--labels", "labels", "--out", "augmented.txt")
        query, doc = fire.read_labels("labels/labels.csv").loc[0, ["query_id", "doc_id"]]
        question = {"id": query, "question": "a dog?", "choices": ["yes", "no"], "answer": "yes"}
        Path("questions.json").write_text(json.dumps([question | {"element_type": "animal"}]))
        scores = fire.read_labels("labels/labels.csv")[["query_id", "doc_id"]]
        scores.assign(judge_id="j", score=(scores.index % 7) / 7).to_csv("machine.csv", index=False)
        Path("answers.csv").write_text(f"query_id,doc_id,question,answer\n{query},{doc},a dog?,no\n")
    return folder


def words_of(param: click.Parameter, files: dict[str, Any]) -> list[str]:
    """The words that give a command the files of one of its parameters."""
    given = files.get(str(param.name), [])
    paths = given if isinstance(given, list) else [given]
    return [word for path in paths for word in ([param.opts[0]] if param.opts[0][0] == "-" else []) + [path]]


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_the_options_each_with_a_sentence(name: str) -> None:
    function = function_of(name)
    tables, parameters = about(function).tables, set(inspect.signature(function).parameters) - {"tell"}
    how_read = {option for table in tables.values() for option in table.also}
    how_read |= {"reasons"} if "exclude" in how_read else set()
    told = {name for name, table in tables.items() if table.is_told}  # by the manifests of files
    options = {param.name for param in command_of(name).params}
    own = {"as_json", "out"} if place_of(name) else {"output_format", "out"}
    assert options - own - how_read == parameters - told
    assert options >= own
    helps = {name: each.words for name, each in about(function).parameters.items() if each.words}
    assert set(helps) - {"tell"} == parameters
    assert {words for words in helps.values() if not words[:1].isupper() or words.count(". ") > 1} == set()
    assert name in NO_PYTHON_NAME or getattr(fire, name).__wrapped__ is not None


@pytest.mark.parametrize(("name", "words", "values"), CALLS, ids=lambda each: str(each)[:40])
def test_python_gives_what_the_command_prints_and_writes_for_rows_in_any_order_and_leaves_them(
    sample: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str, values: dict[str, Any]
) -> None:
    monkeypatch.chdir(sample)
    tables_taken = about(function_of(name)).tables.items()
    needed = {each: FILES[each] for each, table in tables_taken if each in FILES and not table.is_told}
    if name == "tifa" and words != "--per label":
        del needed["labels"]
    files = [word for param in command_of(name).params for word in words_of(param, needed)]
    done = run(*words_of_command(name), *files, *words.split(), "--out", f"by_{name}.csv")
    tables = {each: shuffled(READ[each][1](file)) for each, file in needed.items()}
    before = copy.deepcopy(tables)
    function = function_of(name) if name in NO_PYTHON_NAME else getattr(fire, name)
    result = function(**tables, **values, **TOLD.get(name, dict)())
    assert isinstance(result, Found)
    for one, other in zip(frames_of(tables), frames_of(before), strict=True):
        pd.testing.assert_frame_equal(one, other)
    if place := place_of(name):
        check_files(result, Path(f"by_{name}.csv"), done, is_file="." in place)
        return
    written = result.table if result.written is None else result.written
    assert fire.table_text(written, "csv").encode() == Path(f"by_{name}.csv").read_bytes()
    said = [*([f"rests on: {result.basis}"] if result.basis else []), *(f"note: {n}" for n in result.notes)]
    said += result.said
    assert done.stderr.splitlines()[: len(said)] == said
    if result.next:
        assert result.words.replace("{out}", f"by_{name}.csv") in done.stderr
        assert "next: fire-toolkit " in done.stderr
    drawn = result.draw(result.table, "table") if result.draw else fire.table_text(result.table)
    assert result.is_long or done.stdout == drawn


def shuffled(tables: Any) -> Any:
    """A table, or each of several, with its rows in another order."""
    if isinstance(tables, list):
        return [shuffled(table) for table in tables]
    if isinstance(tables, dict):
        return {name: shuffled(table) for name, table in tables.items()}
    return tables.sample(frac=1, random_state=1) if isinstance(tables, pd.DataFrame) else tables


def frames_of(tables: Any) -> list[pd.DataFrame]:
    """The tables among what a function is given."""
    if isinstance(tables, list | dict):
        values = tables.values() if isinstance(tables, dict) else tables
        return [frame for value in values for frame in frames_of(value)]
    return [tables] if isinstance(tables, pd.DataFrame) else []


def check_files(result: Found, out: Path, done: Any, *, is_file: bool) -> None:
    """Check the files and words of a stage against what its function returns."""
    named = result.named_files(out.name) if is_file else result.files
    for usual, (name, content) in zip(result.files, named.items(), strict=True):
        path = (out.parent if is_file else out) / name
        content = trec_qrels_text(content) if usual == "qrels.txt" else content
        text = fire.table_text(content, "csv") if hasattr(content, "columns") else content
        assert path.read_bytes() == (text.encode() if isinstance(text, str) else text)
    words = result.words.replace("{out}", str(out)).splitlines()
    told = [*(f"note: {note}" for note in result.notes), *result.said, *words]
    assert done.stderr.splitlines()[: len(told)] == told
    assert bool(result.next) == ("next: " in done.stderr)


def test_own_items_are_left_out_as_asked_in_python_too(sample: Path) -> None:
    runs = [fire.run(sample / path) for path in FILES["runs"]]
    queries = fire.read_queries(sample / "queries.tsv")
    first = runs[0][runs[0]["rank"] == 1]
    own = first.set_index("query_id")["doc_id"].astype("str")
    queries = queries.assign(reference=queries["query_id"].map(own))
    whole, without = (fire.compare(runs, queries=queries, own_item=rule) for rule in (None, "drop"))
    assert "own items left out of the rankings (--own-item drop): fused 100" in without.basis
    assert "whole rankings keep queries' own items (own_item drop leaves them out)" in whole.basis
    assert "top 10; ties" in whole.basis
    assert (
        "top 200, where lists end at 20; ties"
        in fire.compare([each[each["rank"] <= 20] for each in runs], depth=200).basis
    )
    assert not without.table.equals(whole.table)


def test_what_a_workspace_may_set_has_the_defaults_of_functions_and_each_table_is_read() -> None:
    assert SETTINGS["score"]["measures"] == list(defaults.SCORE)
    found = {
        name: inspect.signature(function_of("compare")).parameters[name].default
        for name in SETTINGS["compare"]
    }
    assert found == SETTINGS["compare"]
    for module in _READERS:
        import_module(f"fire_toolkit.cli.{module}")
    named = {table.read for name in NAMES for table in about(function_of(name)).tables.values()}
    assert sorted(named - {""} - TABLES.keys()) == []
