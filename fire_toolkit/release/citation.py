"""CITATION.cff, LICENSE, and the small Python package of a release."""

from __future__ import annotations

from fire_toolkit.release.answers import KNOWN, LICENCES, licence_url, module_name, yaml_text
from fire_toolkit.release.facts import ANONYMOUS, ReleaseFacts, licence_notes


def citation_cff(facts: ReleaseFacts) -> str:
    """Return CITATION.cff (format 1.2.0); strings are JSON's, which are YAML's too."""
    lines = [
        "cff-version: 1.2.0",
        f"message: {yaml_text('If you use these labels, please cite them, and the benchmark they correct.')}",
        "type: dataset",
        f"title: {yaml_text(facts.title)}",
        f"abstract: {yaml_text(facts.summary)}",
        "authors:",
        *_authors(facts),
        f"version: {yaml_text(facts.version)}",
        f"date-released: {yaml_text(facts.date)}",
        *([f"license: {facts.answers['licence']}"] if facts.answers["licence"] in KNOWN else []),
        f"license-url: {yaml_text(str(licence_url(facts.answers)))}",
        *([f"url: {yaml_text(facts.url)}"] if facts.url else []),
    ]
    return "\n".join(lines) + "\n"


def _authors(facts: ReleaseFacts) -> list[str]:
    if facts.is_anonymous:
        return [f"- name: {yaml_text(ANONYMOUS)}"]
    lines = []
    for creator in facts.answers["creators"]:
        family, comma, given = (part.strip() for part in creator.partition(","))
        lines += (
            [f"- family-names: {yaml_text(family)}", f"  given-names: {yaml_text(given)}"]
            if comma
            else [f"- name: {yaml_text(family)}"]
        )
    return lines


def licence_text(facts: ReleaseFacts) -> str:
    """Return LICENSE: which licence covers what, and where its text is."""
    licence, url = facts.answers["licence"], licence_url(facts.answers)
    title = f"{LICENCES[licence][0]} ({licence})" if licence in LICENCES else licence
    return "\n".join(
        [
            f"{facts.title}, version {facts.version}",
            f"Copyright {facts.date[:4]} {', '.join(facts.creators)}",
            "",
            f"The labels, judgments and documents in this folder are licensed under {title}.",
            f"The text of the licence: {url}",
            "",
            *licence_notes(facts),
            "",
        ]
    )


def package_files(facts: ReleaseFacts) -> dict[str, str]:
    """Return pyproject.toml and the module by which Python loads the labels."""
    module = module_name(facts.name)
    licence = facts.answers["licence"]
    spdx = licence if licence in KNOWN else f"LicenseRef-{licence}"
    return {
        "pyproject.toml": _PROJECT.format(
            name=facts.name, version=facts.version, title=yaml_text(facts.title), spdx=spdx, module=module
        ),
        f"{module}/__init__.py": _MODULE.format(title=yaml_text(facts.title)[1:-1], version=facts.version),
    }


_PROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "{version}"
description = {title}
license = "{spdx}"
license-files = ["LICENSE"]
requires-python = ">=3.9"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]

[tool.hatch.build.targets.wheel.force-include]
"qrels.txt" = "{module}/qrels.txt"
"qrels.original.txt" = "{module}/qrels.original.txt"
"""

_MODULE = '''\
"""{title}: the labels as dictionaries."""

from __future__ import annotations

from pathlib import Path

__version__ = "{version}"
_FILES = {{"corrected": "qrels.txt", "original": "qrels.original.txt"}}


def load_qrels(which: str = "corrected") -> dict[str, dict[str, int]]:
    """Return {{query: {{item: relevance}}}}; which: corrected or original. Positive from relevance 1."""
    if which not in _FILES:
        raise ValueError(f"no qrels are called {{which!r}}; expected corrected or original")
    here = Path(__file__).resolve().parent
    path = next(path for path in (here / _FILES[which], here.parent / _FILES[which]) if path.is_file())
    found: dict[str, dict[str, int]] = {{}}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        found.setdefault(fields[0], {{}})[fields[2]] = int(fields[-1])
    return found
'''
