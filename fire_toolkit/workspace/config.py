"""A workspace: a folder with a `fire.toml` of settings that the commands then need not be given.

The file names inputs and parameters; the places of what the stages write are fixed, so that every
stage finds the one before it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_bytes, read_text
from fire_toolkit.syntax import hint_at, parse_toml
from fire_toolkit.words import table_in

CONFIG = "fire.toml"
BY_GUIDELINE = "guideline"  # the level of agreement that fits the guideline's grades

# Each section's keys with their defaults.
SETTINGS: dict[str, dict[str, Any]] = table_in("workspace", "defaults.toml")

RUN: dict[str, Any] = {"backbone": ""}  # the keys of a section [runs.NAME]

MAY_LACK = {("collection", "items")}
ENDS_OF_IDS = (".txt", ".npy", ".json")  # of files of ids
# How the names of files end that lie beside runs or exports, and are none.
BESIDE = (".manifest.json", ".md", *(f"{axis}_ids{end}" for axis in ("query", "doc") for end in ENDS_OF_IDS))


@dataclass(frozen=True)
class Workspace:
    """A folder, and the settings of its `fire.toml` over the defaults.

    runs: of the sections [runs.NAME], name → key → value.
    """

    root: Path
    settings: Mapping[str, Mapping[str, Any]]
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its folder, in characters that can be written."""
        return self.root.resolve().name.encode(errors="replace").decode()

    def path(self, section: str, key: str) -> Path | None:
        """Return a setting that is a path, from the workspace's folder.

        None where it is empty, or is the default of a file that a workspace may lack and this one does.
        """
        text = self.settings[section][key]
        path = self.root / text
        is_absent = (section, key) in MAY_LACK and text == SETTINGS[section][key] and not path.is_file()
        return None if not text or is_absent else path

    def paths(self, section: str, key: str) -> list[Path]:
        """Return the files that a setting's patterns match, sorted, each once.

        Raises:
            FormatError: one is not a pattern of paths below the workspace.
        """
        found: set[Path] = set()
        for pattern in self.settings[section][key]:
            try:
                found.update(self.root.glob(pattern))
            except (ValueError, NotImplementedError) as error:
                where = f"{self.root / CONFIG}: [{section}] {key} = {pattern!r}"
                raise FormatError(f"{where}: {error}; expected a pattern such as runs/*") from None
        found -= {self.path("runs", axis) for axis in ("query_ids", "doc_ids")}
        own = [path for path in found if not path.name.startswith(".") and not path.name.endswith(BESIDE)]
        return sorted(path for path in own if path.is_file())


def read_workspace(root: Path) -> Workspace:
    """Return the workspace in the folder `root`.

    Raises:
        FormatError: fire.toml is no TOML, or has a section, key or type that is not known.
    """
    path = root / CONFIG
    written = parse_toml(read_text(path), str(path)) if read_bytes(path).strip() else {}  # all the defaults
    settings = {section: dict(defaults) for section, defaults in SETTINGS.items()}
    runs: dict[str, dict[str, Any]] = {}
    for section, values in written.items():
        if section not in settings:
            raise FormatError(f"{path}: no section is called {section!r}; {hint_at(section, settings)}")
        if not isinstance(values, dict):
            raise FormatError(f"{path}: {section} = …, expected a section [{section}]")
        of_runs = {key: value for key, value in values.items() if section == "runs" and type(value) is dict}
        runs |= {name: values_over(RUN, own, f"{path}: [runs.{name}]") for name, own in of_runs.items()}
        others = {key: value for key, value in values.items() if key not in of_runs}
        settings[section] = values_over(SETTINGS[section], others, f"{path}: [{section}]")
    return Workspace(root, settings, runs)


def values_over(defaults: Mapping[str, Any], written: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return written settings over their defaults, each of its default's type; a whole number is a number.

    Raises:
        FormatError: there is no such setting, or its value is of another type.

    Examples:
        >>> values_over({"rate": 0.5, "files": ["a"]}, {"rate": 1}, "fire.toml:")
        {'rate': 1.0, 'files': ['a']}
    """
    found = dict(defaults)
    for key, value in written.items():
        if key not in defaults:
            raise FormatError(f"{where} no setting is called {key!r}; {hint_at(key, defaults)}")
        found[key] = float(value) if type(defaults[key]) is float and type(value) is int else value
        is_texts = type(value) is not list or {*map(type, value)} <= {str}
        is_lost = value == "" and defaults[key] != "" and key not in {own for _, own in MAY_LACK}
        is_path = type(value) is str and "/" in str(defaults[key])
        is_lost |= is_path and max(map(len, value.split("/"))) > 255  # which no file system takes
        if type(found[key]) is not type(defaults[key]) or not is_texts or is_lost:
            raise FormatError(f"{where} {key} = {value!r:.200}, expected a value like {defaults[key]!r}")
    return found


def config_text(values: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Return a fire.toml with every setting, defaults where `values` names none."""
    lines = ["# Paths are relative to this file. What is not written here has the default shown.\n"]
    for section, defaults in SETTINGS.items():
        lines.append(f"[{section}]")
        given = (values or {}).get(section, {})
        own = {key: given.get(key, default) for key, default in defaults.items()}
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in own.items()]  # as TOML
        lines.append("")
    return "\n".join(lines)
