"""The documents of a release: each a template about what is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pandas as pd

from fire_toolkit.evidence.facts import words_of_machine
from fire_toolkit.release.answers import LICENCES, licence_url, spoken_name
from fire_toolkit.release.changes import ReleaseChanges
from fire_toolkit.release.published import CROISSANT, Published
from fire_toolkit.reporting.methods import MethodFacts, blank, methods_paragraphs
from fire_toolkit.reporting.templates import rendered, rendered_blocks, sentence
from fire_toolkit.scoring.drawn import drawn_scores, over_positives
from fire_toolkit.tables import Scores
from fire_toolkit.words import table_in

_LAYOUT = table_in("release", "layout.toml")  # the words of tables, columns and files
_TYPES = {"int": "sc:Integer", "float": "sc:Float", "bool": "sc:Boolean"}
_NO_TOOL = "a table"  # as `import --columns` names what no tool is known to write
_NONE = ("none", "no", "nothing")  # what [release] machine_made says where people did all
_TEMPLATES = (
    *("README.md", "DATASHEET.md", "CITATION.cff", "LICENSE", "CHANGELOG.md", "pyproject.toml"),
    *("croissant.json", "module.py", "load_release.py", "mteb_task.py"),
)


def platform_of(answered: Iterable[tuple[str, str]]) -> str:
    """Return where people judged, by the source of each answer and the other tool that it names, if any.

    Empty where a table names no tool.

    Examples:
        >>> platform_of([("page:7f", ""), ("file:ann.csv", ""), ("file:all.csv", "MTurk"), ("http://h", "")])
        "Label Studio; MTurk; fire-toolkit's own page; sheets (CSV)"
    """
    found = set()
    for source, tool in answered:
        is_sheet = source.startswith("file:") and source.endswith((".csv", ".tsv"))
        carrier = "sheets (CSV)" if is_sheet else "Label Studio"
        carrier = "fire-toolkit's own page" if source.startswith("page:") else carrier
        found.add(tool.partition(" (")[0] or carrier)
    return "" if _NO_TOOL in found else "; ".join(sorted(found))


def documents(
    published: Published,
    study: MethodFacts,
    answers: Mapping[str, Any],
    files: Mapping[str, bytes],
    *,
    changes: ReleaseChanges | None = None,
    earlier: str = "",
    **about: Any,
) -> dict[str, str]:
    """Return the texts of a release by their names in it.

    The header of README.md names a config for each table. The names corpus, queries and qrels, with the one
    split test, are those that loaders of retrieval benchmarks expect.

    Args:
        published: its tables.
        study: as `report methods` has it.
        answers: [release] of fire.toml.
        files: its data, by their names in the release; the tables that are data/NAME.parquet are named.
        changes: since the version before; None for the first.
        earlier: the CHANGELOG.md of the version before, whose entries follow.
        about: licences ([licences] of fire.toml); version; date (YYYY-MM-DD); tool (name and version of what
            wrote it); platform (where people judged); item_kind (video, image, audio or text); is_composed
            (queries have an item of their own); own_item (whether rankings `drop` or `keep` it, empty where
            there is none); previous (the version before, or empty); encoded (why ids are percent-encoded, as
            `add-collection` says it, or empty).
    """
    licence, tables, rankings = answers["licence"], published.tables, published.rankings
    by_judge = words_of_machine(study.augmented or {})
    is_by_people = answers["machine_made"].strip().rstrip(".").lower() in _NONE
    is_there = {"runs/*.run": rankings, "qrels.sampled.txt": "stratum" in published.corrected}
    values = about | {
        "answers": answers,
        "module": answers["name"].replace("-", "_"),
        "creators": [spoken_name(name) for name in answers["creators"]],
        "study": study,
        "augmented": {"rejected": 0, "policy": "", **(study.augmented or {})},
        "by_judge": by_judge,
        "is_by_people": is_by_people,
        "is_synthetic": bool(by_judge) or not is_by_people,
        "n": published.counts,
        "n_open": int((published.corrected["relevance"] < 0).sum()),
        "has_captions": "text" in tables["queries"],
        "has_media": "media_url" in tables["corpus"],
        "has_comments": "comment" in tables["judgments"],
        "tables": {name: _fields(tables[name]) for name in tables if f"data/{name}.parquet" in files},
        "what_is": _LAYOUT["tables"],
        "files": {name: what for name, what in _LAYOUT["files"].items() if is_there.get(name, True)},
        "rankings": rankings,
        "hashes": {name: sha256(content).hexdigest() for name, content in files.items()},
        "croissant": CROISSANT,
        "licence": licence,
        "is_known": licence in LICENCES,
        "licence_url": licence_url(answers),
        "licence_title": LICENCES.get(licence, (licence,))[0],
        "leaderboard": drawn_scores(Scores(tables["leaderboard"]), "markdown", transpose=True),
        "divided": over_positives(Scores(tables["leaderboard"])),
        "changes": changes,
        "earlier": earlier.partition("\n## ")[2],
    }
    values["texts"] = _paragraphs(study) | dict(rendered_blocks("release", "templates/facts.txt", **values))
    texts = {name: rendered("release", f"templates/{name}", **values) for name in _TEMPLATES}
    texts[f"{values['module']}/__init__.py"] = texts.pop("module.py")
    metadata = json.loads(texts["croissant.json"])
    return texts | {"croissant.json": json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"}


def _paragraphs(study: MethodFacts) -> dict[str, str]:
    """Return the paragraphs on methods, and Work, which is that on annotators without what [study] says."""
    named = {name: f"{name.capitalize()}: {text[:1].lower()}{text[1:]}" for name, text in study.study.items()}
    found = dict(methods_paragraphs(replace(study, study=named)))
    found["Work"] = found["Annotators"].removeprefix(" ".join(map(sentence, named.values()))).strip()
    for name, words in _LAYOUT["not_recorded"].items():  # in plain words
        found = {title: text.replace(blank(name), words) for title, text in found.items()}
    return found


def _fields(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return of each column its name, what it means (of a count, of which votes), and its Croissant type."""
    found = []
    for name, dtype in zip(map(str, table), table.dtypes.astype("str").str.lower(), strict=True):
        of_votes = f"Votes for {name[2:]}." if name.startswith("n_") else f"{name.replace('_', ' ')}."
        kind = next((kind for start, kind in _TYPES.items() if dtype.startswith(start)), "sc:Text")
        found.append((name, _LAYOUT["columns"].get(name, of_votes), kind))
    return found
