"""The documents of a release, each a template about its facts: card, datasheet, citation, package."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pandas as pd

from fire_toolkit.release.answers import KNOWN, LICENCES, licence_url, module_name
from fire_toolkit.release.changes import ReleaseChanges
from fire_toolkit.release.croissant import croissant_json
from fire_toolkit.release.facts import ANONYMOUS, ReleaseFacts
from fire_toolkit.release.layout import FILES, TABLES
from fire_toolkit.reporting.templates import rendered

_NAMES = ("README.md", "DATASHEET.md", "CITATION.cff", "LICENSE", "CHANGELOG.md", "pyproject.toml")


def documents(
    facts: ReleaseFacts,
    tables: Mapping[str, pd.DataFrame],
    files: Mapping[str, bytes],
    *,
    changes: ReleaseChanges | None = None,
    earlier: str = "",
) -> dict[str, str]:
    """Return the texts of a release by their names in it.

    The header of README.md names a config for each table. The names corpus, queries and qrels, with the one
    split test, are those that loaders of retrieval benchmarks expect.

    Args:
        facts: of the release.
        tables: those that lie in data/NAME.parquet.
        files: these, by their names in the release.
        changes: since the version before; None for the first.
        earlier: the CHANGELOG.md of the version before, whose entries follow.
    """
    licence, module = facts.answers["licence"], module_name(facts.name)
    values: dict[str, Any] = {
        "facts": facts,
        "answers": facts.answers,
        "study": facts.methods.study,
        "n": facts.counts,
        "tables": list(tables),
        "what_is": TABLES,
        "files": FILES,
        "module": module,
        "licence": licence,
        "is_known": licence in KNOWN,
        "licence_url": licence_url(facts.answers),
        "licence_title": f"{LICENCES[licence][0]} ({licence})" if licence in LICENCES else licence,
        "authors": _authors(facts),
        "changes": changes,
        "earlier": earlier.partition("\n## ")[2],
    }
    texts = {name: rendered("release", f"templates/{name}", **values) for name in _NAMES}
    hashes = {name: sha256(content).hexdigest() for name, content in files.items()}
    texts["croissant.json"] = croissant_json(facts, tables, hashes)
    return texts | {f"{module}/__init__.py": rendered("release", "templates/module.py", **values)}


def _authors(facts: ReleaseFacts) -> list[tuple[str, str]]:
    """Return family and given name of each creator; an organisation has no given name."""
    if facts.is_anonymous:
        return [(ANONYMOUS, "")]
    parts = (creator.partition(",") for creator in facts.answers["creators"])
    return [(family.strip(), given.strip()) for family, _, given in parts]
