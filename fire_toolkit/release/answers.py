"""What a release says that no file knows: the settings asked for, and what their licences allow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from fire_toolkit.errors import UsageError
from fire_toolkit.reporting.methods import STUDY

# Keys of [release] in fire.toml that must be answered: what each asks, and an example.
ASKED = {
    "name": ("what the data are called: lower-case letters, digits and dashes", '"msrvtt-corrected"'),
    "title": ("the same in words", '"Corrected labels of MSR-VTT"'),
    "creators": ('who made them: "Family, Given", or an organisation', '["Curie, Marie", "A University"]'),
    "licence": ("an SPDX name", '"CC-BY-4.0"'),
    "source": (
        "the benchmark whose labels are corrected, with its citation or address",
        '"MSR-VTT, Xu et al. (2016)"',
    ),
    "uses": ("what the labels are for, and what not", '"To score retrieval models, not to train them"'),
    "limitations": ("what they do not cover", '"The top ten of three models; English captions"'),
    "biases": ("known biases", '"Three students of one university judged"'),
    "personal_information": ("what they reveal about people", '"Nothing: ids and labels alone"'),
    "social_impact": ("whom they may help or harm", '"None is known"'),
    "machine_made": ("which labels, captions or media a machine made", '"none"'),
    "maintenance": ("who corrects errors, and until when", '"The creators, until 2030"'),
}
ASKED_OF_STUDY = {
    "recruitment": '"Students, by a notice on the board"',
    "qualification": '"An hour of training, and 20 known pairs"',
    "pay": '"15 euros an hour"',
    "consent": '"In writing, before the first task"',
    "ethics": '"Approved by the board of the university"',
}
LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", "by/4.0/"),
    "CC-BY-SA-4.0": ("Creative Commons Attribution-ShareAlike 4.0 International", "by-sa/4.0/"),
    "CC-BY-NC-4.0": ("Creative Commons Attribution-NonCommercial 4.0 International", "by-nc/4.0/"),
    "CC-BY-NC-SA-4.0": (
        "Creative Commons Attribution-NonCommercial-ShareAlike 4.0 International",
        "by-nc-sa/4.0/",
    ),
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal", "zero/1.0/"),
}
KNOWN = {*LICENCES, "MIT", "Apache-2.0"}
VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TAKEN = ("data", "guideline", "qrels")  # folders of every release
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def check_answers(answers: Mapping[str, Any], study: Mapping[str, str], licences: Mapping[str, str]) -> None:
    """Raise `UsageError` naming every answer that a release lacks; or one that is wrong.

    Args:
        answers: [release] of fire.toml. The creators are asked for in an anonymous release too, so that no
            file names them. study: [study]. licences: [licences].

    Examples:
        >>> check_answers({}, {}, {})
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: no file holds 17 things that a release says: [release] name, ...
    """
    missing = _missing(answers, study)
    if missing:
        names = "; ".join(f"[{section}] {', '.join(lines)}" for section, lines in missing.items())
        raise UsageError(
            f"no file holds {sum(map(len, missing.values()))} things that a release says: {names}; "
            "`fire-toolkit release --draft` prints them as lines to fill in, in fire.toml"
        )
    if not _NAME.fullmatch(answers["name"]):
        raise UsageError(f"[release] name = {answers['name']!r}, expected {ASKED['name'][0]}")
    if answers["name"] in _TAKEN or iskeyword(module_name(answers["name"])):
        raise UsageError(f"[release] name = {answers['name']!r} cannot be a Python module here; take another")
    for key, text in (("[release] licence", answers["licence"]), *_declared(licences)):
        if not _SPDX.fullmatch(text):
            raise UsageError(f"{key} = {text!r}, expected an SPDX name, such as CC-BY-4.0 or MIT")
    if licence_url(answers) is None:
        known = ", ".join(LICENCES)
        raise UsageError(f"[release] licence_url is needed for {answers['licence']}; known are {known}")
    for key in ("url", "files_url", "licence_url"):
        if answers.get(key) and not answers[key].startswith("https://"):
            raise UsageError(f"[release] {key} = {answers[key]!r}, expected an address that begins https://")
    if answers.get("files_url") and not answers["files_url"].endswith("/"):
        raise UsageError(f"[release] files_url = {answers['files_url']!r}, expected a folder that ends in /")
    _refuse_wider(answers["licence"], licences)


def draft(answers: Mapping[str, Any], study: Mapping[str, str]) -> str:
    """Return what a release lacks as TOML, a line for each answer: what it asks, and an example.

    Examples:
        >>> print(draft({name: "x" for name in ASKED} | {"licence": ""}, dict.fromkeys(STUDY, "x")), end="")
        [release]
        licence = ""  # an SPDX name, e.g. "CC-BY-4.0"
    """
    lines = []
    for section, missing in _missing(answers, study).items():
        lines.append(f"[{section}]")
        for name, (what, example) in missing.items():
            empty = "[]" if example.startswith("[") else '""'
            lines.append(f"{name} = {empty}  # {what}, e.g. {example}")
    return "".join(f"{line}\n" for line in lines)


def _missing(answers: Mapping[str, Any], study: Mapping[str, str]) -> dict[str, dict[str, tuple[str, str]]]:
    """Return by section what is not answered: what it asks, and an example."""
    of_study = {name: (what, ASKED_OF_STUDY[name]) for name, what in STUDY.items()}
    found = {
        section: {name: about for name, about in asked.items() if not _is_answered(given.get(name))}
        for section, asked, given in (("release", ASKED, answers), ("study", of_study, study))
    }
    return {section: missing for section, missing in found.items() if missing}


def _is_answered(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else bool(value) and all(map(str.strip, value))


def _declared(licences: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(f"[licences] {key}", text) for key, text in licences.items() if text]


def _refuse_wider(licence: str, licences: Mapping[str, str]) -> None:
    """Refuse a licence that allows commercial use of what came under one that does not."""
    for key, text in _declared(licences):
        if "-NC" in text and "-NC" not in licence:
            raise UsageError(
                f"[release] licence = {licence!r} allows commercial use, and {key} = {text!r} does not; take "
                "a licence with NC"
            )


def licence_url(answers: Mapping[str, Any]) -> str | None:
    """Return the address of the licence's text; None where it is not known and not given."""
    if answers.get("licence_url"):
        return str(answers["licence_url"])
    if answers["licence"] in LICENCES:
        place = LICENCES[answers["licence"]][1]
        kind = "publicdomain/" if place.startswith("zero") else "licenses/"
        return f"https://creativecommons.org/{kind}{place}"
    if answers["licence"] in ("MIT", "Apache-2.0"):
        return f"https://spdx.org/licenses/{answers['licence']}.html"
    return None


def spoken_name(creator: str) -> str:
    """Return a creator's name as it is spoken.

    Examples:
        >>> spoken_name("Lovelace, Ada"), spoken_name("Royal Society")
        ('Ada Lovelace', 'Royal Society')
    """
    family, comma, given = creator.partition(",")
    return f"{given.strip()} {family.strip()}" if comma else creator.strip()


def module_name(name: str) -> str:
    """Return the name of the Python module of a release.

    Examples:
        >>> module_name("fire-msrvtt")
        'fire_msrvtt'
    """
    return name.replace("-", "_")
