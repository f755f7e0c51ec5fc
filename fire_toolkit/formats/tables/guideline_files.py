"""Reads a guideline from its folder: `guideline.md`, `labels.toml`, `label_config.xml`."""

import os
import re
import warnings
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FileNote, FormatError, TableError, UsageError
from fire_toolkit.files import read_text
from fire_toolkit.guidelines.model import (
    RELEVANCE,
    Guideline,
    GuidelineFlag,
    GuidelineLabel,
    disagreements,
)
from fire_toolkit.syntax import parse_toml
from fire_toolkit.tables import Judgments
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.rounds import tasks_file

_FLAG = {"name": str, "hotkey": str, "description": str}
_LABEL = {"name": str, RELEVANCE: int, "hotkey": str, "description": str}
_GUIDELINE = {"name": str, "version": int, "title": str, "item_kind": str, "question": str}
_GUIDELINE |= {"labels": object, "flags": object}
_EXPECTED = {str: "text", int: "a whole number", dict: "a section"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*-v(?P<version>[1-9][0-9]{0,8})")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_.]+")
_FILES = ("guideline.md", "labels.toml", "label_config.xml")
_PACKAGE = Path(__file__).resolve().parents[2]
_ROOTS = (_PACKAGE / "guidelines_data", _PACKAGE.parent / "guidelines")  # in the wheel, and in a checkout
_SHIPPED = next(filter(Path.is_dir, _ROOTS), None)  # where the toolkit's own guidelines are


@cache
def list_guidelines() -> tuple[str, ...]:
    """Return the names of the guidelines that come with the toolkit, sorted.

    Examples:
        >>> "caption-relevance-v1" in list_guidelines()
        True
    """
    return tuple(sorted(path.parent.name for path in _SHIPPED.glob("*/labels.toml"))) if _SHIPPED else ()


def read_guideline(name_or_path: str | Path) -> Guideline:
    """Return the guideline with that name, or in that folder.

    Args:
        name_or_path: a name of `list_guidelines`, or a folder with the three files. A bare name
            means the toolkit's own guideline before a folder of that name.

    Raises:
        FormatError: there is no such guideline, a file is missing or not TOML or XML, or a key is missing
            or has another type.
        TableError: the three files do not agree (`guidelines.model.disagreements`).

    Examples:
        >>> read_guideline("caption-relevance-v1").grades
        {'irrelevant': 0, 'relevant': 1, 'ambiguous': None}
    """
    folder = guideline_folder(name_or_path)
    guideline = _parsed(folder, *_texts_in(folder))
    if folder.parent != _SHIPPED and (problems := _problems(folder, guideline)):  # a test looks at our own
        raise TableError(f"{folder}: {'; '.join(problems)}")
    return guideline


def guideline_of(workspace: Workspace, named: str | None = None, *, tasks: Path | None = None) -> Guideline:
    """Return the guideline that a workspace judges by: `read_guideline` of its `guideline_name`."""
    return read_guideline(guideline_name(workspace, named, tasks=tasks))


def guideline_name(workspace: Workspace, named: str | None = None, *, tasks: Path | None = None) -> str:
    """Return the name or the folder of the guideline that a workspace judges by.

    It is the one named, as by a campaign; else that of the tasks made; else the one that fire.toml names. A
    folder is looked for in the workspace.

    Args:
        tasks: their file. [default: the first round's]

    Raises:
        UsageError: the guideline of the campaign or the tasks is not there.
    """
    by_file = str(workspace.settings["tasks"]["guideline"])
    by_file = place_of(by_file, workspace) or by_file
    name = named or writer_of(tasks or tasks_file(workspace.root, 1)).parameters.get("guideline")
    if not name or name == by_file:
        return by_file
    found = place_of(name, workspace)
    if found is None and read_guideline(by_file).name != name:
        raise UsageError(
            f"the guideline {name} is not in {workspace.root}; put its folder there, or name it in fire.toml "
            "([tasks] guideline)"
        )
    return found or by_file


def judged_by(
    judgments: Judgments, workspace: Workspace | None, named: str | None = None
) -> Guideline | None:
    """Return the guideline that grades the labels of judgments; None where nothing tells it.

    It is the one named, else the judgments' own, else the workspace's. Their own is known where all of them
    name one that comes with the toolkit, or whose folder is in the workspace. A `FileNote` says where they
    were judged by another one, or by several.
    """
    own = sorted(judgments["guideline"].unique()) if "guideline" in judgments.columns else []
    if len(own) == 1 and named is None and (place := place_of(own[0], workspace)):
        return read_guideline(place)
    rules = read_guideline(named) if named else guideline_of(workspace) if workspace else None
    words = f"judged by {len(own)} guidelines ({', '.join(own)}); --by guideline tells them apart"
    if rules and len(own) == 1 and own != [rules.name]:
        words = f"judged by guideline {own[0]}, graded by {rules.name}"
    elif len(own) < 2:
        return rules
    warnings.warn(words, FileNote, stacklevel=2)
    return rules


def place_of(name: str, workspace: Workspace | None) -> str | None:
    """Return where a guideline of that name is: in the toolkit, else in the workspace, else None."""
    if name in list_guidelines():
        return name
    own = workspace.root / name if workspace and name else None
    return str(own) if own and own.is_dir() else None


def guideline_problems(name_or_path: str | Path) -> list[str]:
    """Return in what the three files of a guideline disagree, a sentence each; empty: in nothing.

    Raises:
        FormatError: as `read_guideline`.

    Examples:
        >>> guideline_problems("caption-relevance-v1")
        []
    """
    folder = guideline_folder(name_or_path)
    return _problems(folder, _parsed(folder, *_texts_in(folder)))


@lru_cache
def _problems(folder: Path, guideline: Guideline) -> list[str]:
    from fire_toolkit.guidelines.label_config import parse_label_config  # heavy

    config = parse_label_config(guideline.label_config, where=str(folder / "label_config.xml"))
    return disagreements(guideline, config)


def _texts_in(folder: Path) -> list[str]:
    return [read_text(folder / name).replace("\r\n", "\n") for name in _FILES]


@lru_cache  # a command asks for it some ten times
def _parsed(folder: Path, text: str, labels: str, label_config: str) -> Guideline:
    """Return the guideline of three files; whether they agree is not looked at."""
    where = str(folder / "labels.toml")
    entries = parse_toml(labels, where)
    found: dict[str, Any] = typed(entries, _GUIDELINE, where)
    for key, kinds, made in (("labels", _LABEL, GuidelineLabel), ("flags", _FLAG, GuidelineFlag)):
        given = entries.get(key, [])
        if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
            raise FormatError(f"{where}: {key} is not a list of tables; write each as [[{key}]]")
        placed = enumerate(given, start=1)
        found[key] = tuple(made(**typed(each, kinds, f"{where}: {key} {n}")) for n, each in placed)
    return Guideline(**found, text=text, label_config=label_config)


def new_guideline_files(name: str, *, like: str | Path) -> dict[str, str]:
    """Return the three files of a guideline that is another one under a name of its own, which ends in -vN.

    Raises:
        UsageError: the name cannot be one, or is that of a guideline that comes with the toolkit.
        FormatError, TableError: as `read_guideline` of `like`.

    Examples:
        >>> new_guideline_files("mine-v1", like="caption-relevance-v1")["labels.toml"].split("\\n")[3:5]
        ['name = "mine-v1"', 'version = 1']
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise UsageError(
            f"{name!r} is not a valid name for a guideline; expected letters, digits, '-', '_' or '.', and "
            f"its version at the end, such as {_NOT_NAME.sub('-', name).strip('-') or 'mine'}-v1"
        )
    if name in list_guidelines():
        raise UsageError(f"{name} comes with the toolkit; choose another name")
    files = guideline_files(like)
    labels = re.sub(r"(?m)^name = .*$", f'name = "{name}"', files["labels.toml"], count=1)
    files["labels.toml"] = re.sub(r"(?m)^version = .*$", f"version = {found['version']}", labels, count=1)
    return files


def guideline_files(name_or_path: str | Path) -> dict[str, str]:
    """Return the text of each of a guideline's three files by its name.

    Raises:
        FormatError, TableError: as `read_guideline`.
    """
    read_guideline(name_or_path)
    return dict(zip(_FILES, _texts_in(guideline_folder(name_or_path)), strict=True))


def guideline_folder(name_or_path: str | Path) -> Path:
    """Return the folder of the guideline with that name, or that folder."""
    names = list_guidelines()
    if _SHIPPED and str(name_or_path) in names:
        return _SHIPPED / name_or_path
    path = Path(name_or_path)
    if str(name_or_path) and path.is_dir():
        return path
    is_path = path.is_absolute() or len(path.parts) > 1 or str(name_or_path).endswith(os.sep)
    what = "no such folder" if is_path else "no guideline of that name"
    raise FormatError(
        f"{name_or_path}: {what}; known are {', '.join(names) or 'none'}; or give a folder with "
        "guideline.md, labels.toml and label_config.xml"
    )


def typed(entry: Mapping[str, Any], kinds: Mapping[str, type], where: str) -> dict[str, Any]:
    """Return the fields of these kinds; `relevance` may be absent, one of kind object is not looked at."""
    unknown = [key for key in entry if key not in kinds]
    if unknown:
        raise FormatError(f"{where}: unknown key {', '.join(unknown)}; expected {', '.join(kinds)}")
    for key, kind in kinds.items():
        value = entry.get(key)
        if kind is object or (key == RELEVANCE and key not in entry):
            continue
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            raise FormatError(f"{where}: {key} is {value!r}, expected {_EXPECTED[kind]}")
    return {key: entry.get(key) for key in kinds}
