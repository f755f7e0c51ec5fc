"""The documents of a release, each a template about its facts, metadata among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pandas as pd

from fire_toolkit.release.answers import LICENCES, licence_url
from fire_toolkit.release.changes import ReleaseChanges
from fire_toolkit.release.facts import ReleaseFacts
from fire_toolkit.release.layout import CROISSANT, FILES, TABLES, column_text, croissant_type
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.scoring.drawn import drawn_scores
from fire_toolkit.tables import Scores

_TEMPLATES = (
    *("README.md", "DATASHEET.md", "CITATION.cff", "LICENSE", "CHANGELOG.md", "pyproject.toml"),
    *("croissant.json", "module.py", "load_release.py", "mteb_task.py"),
)


def documents(
    facts: ReleaseFacts,
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
        files: its data, by their names in the release; the tables that are data/NAME.parquet are named.
        changes: since the version before; None for the first.
        earlier: the CHANGELOG.md of the version before, whose entries follow.
    """
    licence, tables = facts.answers["licence"], facts.published.tables
    rankings = facts.published.rankings
    values: dict[str, Any] = {
        "facts": facts,
        "answers": facts.answers,
        "texts": facts.texts,
        "study": facts.study.study,
        "n": facts.published.counts,
        "tables": {name: _fields(tables[name]) for name in tables if f"data/{name}.parquet" in files},
        "what_is": TABLES,
        "files": {name: FILES[name] for name in FILES if rankings or not name.startswith("runs/")},
        "rankings": rankings,
        "hashes": {name: sha256(content).hexdigest() for name, content in files.items()},
        "croissant": CROISSANT,
        "licence": licence,
        "is_known": licence in LICENCES,
        "licence_url": licence_url(facts.answers),
        "licence_title": LICENCES.get(licence, (licence,))[0],
        "has_comments": "comment" in tables["judgments"],
        "leaderboard": drawn_scores(Scores(tables["leaderboard"]), "markdown", transpose=True),
        "changes": changes,
        "earlier": earlier.partition("\n## ")[2],
    }
    texts = {name: rendered("release", f"templates/{name}", **values) for name in _TEMPLATES}
    texts[f"{facts.module}/__init__.py"] = texts.pop("module.py")
    metadata = json.loads(texts["croissant.json"])
    return texts | {"croissant.json": json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"}


def _fields(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return of each column its name, what it means, and its type in Croissant."""
    return [(name, column_text(name), croissant_type(str(table[name].dtype))) for name in map(str, table)]
