"""What a release says that no file knows: the settings asked for, and what their licences allow."""

import re
from collections.abc import Iterable, Mapping
from keyword import iskeyword
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.words import table_in

_WORDS = table_in("release", "asked.toml")
# By section and key of fire.toml: what must be answered, and an example.
ASKED = {section: _WORDS[section] for section in ("release", "study")}
LICENCES: dict[str, tuple[str, str]] = _WORDS["licences"]  # what each is called, and the address of its text
# The form of an answer, where one is given: section, key, pattern, and what is expected.
_FORMS = [
    (section, key, re.compile(pattern), expected)
    for pattern, (expected, *places) in _WORDS["forms"].items()
    for section, key in map(str.split, places)
]
_PLATFORM = {"platform": ("where people judged", '"Prolific, with our own page"')}
ANONYMOUS = "Anonymous authors"
VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}")
_TAKEN = ("data", "guideline", "qrels")  # folders of every release


def version_before(version: str, names: Iterable[str]) -> str:
    """Return the highest of the names that are versions below this one; empty where there is none.

    Examples:
        >>> version_before("1.10", ["1.9", "1.2", "2.0", "draft"])
        '1.9'
    """
    known = {tuple(map(int, name.split("."))): name for name in names if VERSION.fullmatch(name)}
    below = [numbers for numbers in known if numbers < tuple(map(int, version.split(".")))]
    return known[max(below)] if below else ""


def check_answers(settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `UsageError` naming every answer that a release lacks; or one that is wrong.

    Args:
        settings: sections of fire.toml, of which [release], [study] and [licences] are read. The creators
            are asked for in an anonymous release too, so that no file names them.

    Examples:
        >>> check_answers({"release": {}, "study": {}, "licences": {}})
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: no file holds 17 things that a release says: [release] name, ...
    """
    missing, answers = _missing(settings), settings["release"]
    if missing:
        names = "; ".join(f"[{section}] {', '.join(lines)}" for section, lines in missing.items())
        raise UsageError(
            f"no file holds {sum(map(len, missing.values()))} things that a release says: {names}; "
            "`fire-toolkit release --draft` prints them as lines to fill in, in fire.toml"
        )
    for section, key, pattern, expected in _FORMS:
        if (text := settings[section].get(key)) and not pattern.fullmatch(text):
            raise UsageError(f"[{section}] {key} = {text!r}, expected {expected}")
    name, licence = answers["name"], answers["licence"]
    if name in _TAKEN or iskeyword(name.replace("-", "_")):
        raise UsageError(f"[release] name = {name!r} cannot be a Python module here; take another")
    for key, text in settings["licences"].items():
        if "-NC" in text and "-NC" not in licence:
            raise UsageError(
                f"[release] licence = {licence!r} allows commercial use, and [licences] {key} = {text!r} "
                "does not; take a licence with NC"
            )
    if not licence_url(answers):
        known = ", ".join(LICENCES)
        raise UsageError(f"[release] licence_url is needed for {licence}; known are {known}")


def draft(settings: Mapping[str, Mapping[str, Any]], *, platform: str = "known") -> str:
    """Return what a release lacks as TOML, a line for each answer: what it asks, and an example.

    platform: where people judged, as the answers say; it is asked for where they do not.

    Examples:
        >>> full = {section: dict.fromkeys(asked, "x") for section, asked in ASKED.items()}
        >>> print(draft(full | {"release": full["release"] | {"licence": ""}}), end="")
        [release]
        licence = ""  # an SPDX name, e.g. "CC-BY-4.0"
    """
    lines, lacking = list[str](), _missing(settings)
    if not platform:
        lacking = {"release": lacking.pop("release", {}) | _PLATFORM} | lacking
    for section, missing in lacking.items():
        lines.append(f"[{section}]")
        for name, (what, example) in missing.items():
            empty = "[]" if example.startswith("[") else '""'
            lines.append(f"{name} = {empty}  # {what}, e.g. {example}")
    return "".join(f"{line}\n" for line in lines)


def _missing(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, tuple[str, str]]]:
    """Return by section what is not answered: what it asks, and an example."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for section, asked in ASKED.items():
        for name, about in asked.items():
            value = settings[section].get(name)
            if not value or not all(map(str.strip, [value] if isinstance(value, str) else value)):
                found.setdefault(section, {})[name] = about
    return found


def licence_url(answers: Mapping[str, Any]) -> str:
    """Return the address of the licence's text; empty where it is not known and not given."""
    return str(answers.get("licence_url") or LICENCES.get(answers["licence"], ("", ""))[1])


def spoken_name(creator: str) -> str:
    """Return a creator's name as it is spoken.

    Examples:
        >>> spoken_name("Lovelace, Ada"), spoken_name("Royal Society")
        ('Ada Lovelace', 'Royal Society')
    """
    family, _, given = creator.partition(",")
    return f"{given.strip()} {family.strip()}".strip()
