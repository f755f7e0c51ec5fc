"""The tools whose tables are known, and which of their columns is what: `presets.toml`, read."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fire_toolkit.formats.columns import GUESSED, guessed_columns, line_of, pair_column

_PRESETS = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))
COUNTS, NOT_YET = _PRESETS["counts"], _PRESETS["not_yet"]
SKIPS = {word: why for why, words in _PRESETS["skips"].items() for word in words}
SKIP = "-"  # in the place of a label: the answer is not a vote; in that of a column: do not read it
_PAIR = {"query": "query_id", "doc": "doc_id"}


class Tool(NamedTuple):
    """A tool, as `presets.toml` has it."""

    name: str
    signs: Collection[str]
    roles: Mapping[str, Collection[str]] = {}
    labels: Mapping[str, str] = {}
    note: str = ""
    rejected: str = ""
    origin: str = ""
    merged: Collection[str] = ()


TOOLS = [Tool(**tool) for tool in _PRESETS["tools"]]


def tool_of(columns: Collection[str]) -> Tool:
    """Return the tool whose columns these are; the last, of which nothing is known, has no signs."""
    return next(tool for tool in TOOLS if set(tool.signs) <= set(columns))


def own_roles(tool: Tool, columns: Collection[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return role → column: those given, and those that the tool always has or that have usual names.

    A column that was given a role has no other, and a column with pairs takes the place of query and doc;
    a role that was given as `-` is not read.
    """
    free = [name for name in columns if name not in given.values()]
    known = {role: next((name for name in names if name in free), "") for role, names in tool.roles.items()}
    if "pair" not in given:
        known = {role: pair_column(free, name, is_loose=False) or "" for role, name in _PAIR.items()} | known
    roles = {role: name for role, name in {**known, **given}.items() if name}
    if "status" not in given and roles.get("status") == roles.get("label"):
        roles.pop("status", None)  # Prodigy's yes or no is an answer there, not the state of one
    label = roles.get("label", "")
    if tool.name == "Argilla" or f"{label}.users" in columns:
        responses = {"annotator": f"{label}.users", "status": f"{label}.status"}
        roles = {role: name for role, name in responses.items() if name in columns} | roles
    return {role: name for role, name in roles.items() if name != SKIP}


def line_to_type(columns: Sequence[str], roles: Mapping[str, str], *, wrong: str = "") -> str:
    """Return the option that names the columns which every table needs, by the best guesses at them.

    Args:
        columns: of the table.
        roles: role → column, as far as known; that of the role `wrong` is not there.

    Examples:
        >>> line_to_type(["who", "clip", "text", "verdict"], {"annotator": "whom"}, wrong="annotator")
        "--columns 'annotator=who,query=text,doc=clip,label=verdict'"
    """
    known = {role: name for role, name in roles.items() if role != wrong}
    needed = [role for role in GUESSED if "pair" not in known or role not in _PAIR]
    guessed = guessed_columns(columns, {role: GUESSED[role] for role in needed}, known)
    kept = [role for role in ("pair",) if role in known]
    return line_of({role: guessed.get(role, "COLUMN") for role in (*needed, *kept)})
