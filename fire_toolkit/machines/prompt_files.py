"""`machine.toml` beside a guideline: how a machine judge is asked the guideline's question."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.guideline_files import guideline_folder, read_guideline
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.machines.prompts import Prompt, check_prompt
from fire_toolkit.syntax import parse_toml

FILE = "machine.toml"
_KEYS = {"version": int, "guideline_sha256": str, "system": str, "answers": dict}


def prompt_problems(guideline: str | Path) -> list[str]:
    """Return what is wrong with the machine.toml of a guideline; nothing where there is none."""
    try:
        if (guideline_folder(guideline) / FILE).is_file():
            read_prompt(guideline)
    except FireError as error:
        return [str(error)]
    return []


def read_prompt(guideline: str | Path, *, file: str | Path | None = None) -> tuple[Prompt, Guideline]:
    """Return how a machine is asked a guideline's question, and the guideline.

    Args:
        guideline: its name or folder.
        file: another machine.toml than the one in that folder.

    Raises:
        FormatError: there is no such file, or a key is missing, unknown or of another type.
        TableError: it does not fit the guideline (`machines.prompts.check_prompt`).

    Examples:
        >>> read_prompt("caption-relevance-v1")[0].answers
        {'yes': 'relevant', 'no': 'irrelevant'}
    """
    rules = read_guideline(guideline)
    path = Path(file) if file else guideline_folder(guideline) / FILE
    if not path.is_file():
        raise FormatError(
            f"{path}: no such file; write how a machine is asked there, or name one with --prompt"
        )
    entries = parse_toml(read_text(path).replace("\r\n", "\n"), str(path))
    unknown = sorted(set(entries) - set(_KEYS))
    if unknown:
        raise FormatError(f"{path}: unknown key {', '.join(unknown)}; expected {', '.join(_KEYS)}")
    for key, kind in _KEYS.items():
        if type(entries.get(key)) is not kind or not entries[key]:
            expected = {int: "a whole number", str: "text", dict: "a section [answers]"}[kind]
            raise FormatError(f"{path}: {key} is {entries.get(key)!r}, expected {expected}")
    answers = entries["answers"]
    if not all(isinstance(label, str) for label in answers.values()):
        raise FormatError(f'{path}: [answers] holds other values than labels, expected yes = "relevant"')
    grades = {label.name: label.relevance for label in rules.labels}
    prompt = Prompt(
        rules.name,
        entries["guideline_sha256"],
        entries["version"],
        entries["system"].strip(),
        answers,
        grades,
    )
    return check_prompt(prompt, rules, where=str(path)), rules
