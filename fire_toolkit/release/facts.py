"""What is known of a release, in one structure, and its documents: each a template about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
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
_NOTES = ("captions", "media", "repeated")
_TEMPLATES = (
    *("README.md", "DATASHEET.md", "CITATION.cff", "LICENSE", "CHANGELOG.md", "pyproject.toml"),
    *("croissant.json", "module.py", "load_release.py", "mteb_task.py"),
)


@dataclass(frozen=True)
class ReleaseFacts:
    """What is known of a release.

    published: its tables; study: as `report methods` has it; answers, licences: [release] and [licences] of
    fire.toml; version; date: YYYY-MM-DD; tool: name and version of what wrote it; platform: where people
    judged; item_kind: video, image, audio or text; is_composed: queries have an item of their own; own_item:
    whether rankings `drop` or `keep` it, empty where there is none; previous: the version before, empty where
    there is none; encoded: why ids are percent-encoded, as `add-collection` says it; empty: they are not.
    """

    published: Published
    study: MethodFacts
    answers: Mapping[str, Any]
    licences: Mapping[str, str]
    version: str
    date: str
    tool: str
    platform: str
    item_kind: str
    is_composed: bool = False
    own_item: str = ""
    previous: str = ""
    encoded: str = ""

    @property
    def module(self) -> str:
        """The name of its Python module."""
        return str(self.answers["name"]).replace("-", "_")

    @property
    def creators(self) -> list[str]:
        """Who made it, as the names are spoken."""
        return [spoken_name(name) for name in self.answers["creators"]]

    @cached_property
    def augmented(self) -> Mapping[str, Any]:
        """Counts and parameters of `augment`."""
        return self.study.augmented or {}

    @property
    def is_synthetic(self) -> bool:
        """Whether a machine made any of what is in it."""
        is_by_people = self.answers["machine_made"].strip().rstrip(".").lower() in _NONE
        return bool(words_of_machine(self.augmented)) or not is_by_people

    @property
    def licence_notes(self) -> list[str]:
        """A sentence for each part of the benchmark: whether it is included, and under which licence."""
        return [self.texts[name] for name in _NOTES if self.texts[name]]

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """What several documents say alike, by name: paragraphs on methods, and blocks of facts.txt.

        Work is the paragraph on annotators without what [study] says.
        """
        agreement, tables = self.study.agreement, self.published.tables
        by_votes = agreement.n_pairs_by_votes if agreement else ()
        blocks = rendered_blocks(
            "release",
            "templates/facts.txt",
            answers=self.answers,
            licences=self.licences,
            n=self.published.counts,
            augmented={"rejected": 0, "policy": "", **self.augmented},
            facts=self,
            by_judge=words_of_machine(self.augmented),
            says_none=_NONE,
            votes=[f"{n:,} pairs with {votes}" for votes, n in enumerate(by_votes) if n and votes],
            has_captions="text" in tables["queries"],
            has_media="media_url" in tables["corpus"],
        )
        study = self.study.study
        named = {name: f"{name.capitalize()}: {text[:1].lower()}{text[1:]}" for name, text in study.items()}
        found = dict(methods_paragraphs(replace(self.study, study=named)))
        work = dict(methods_paragraphs(self.study))["Annotators"]
        found["Work"] = work.removeprefix(" ".join(map(sentence, study.values()))).strip()
        for name, words in _LAYOUT["not_recorded"].items():  # in plain words
            found = {title: text.replace(blank(name), words) for title, text in found.items()}
        return found | dict(blocks)


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
    is_there = {"runs/*.run": rankings, "qrels.sampled.txt": "stratum" in facts.published.corrected}
    values: dict[str, Any] = {
        "facts": facts,
        "answers": facts.answers,
        "texts": facts.texts,
        "study": facts.study.study,
        "n": facts.published.counts,
        "tables": {name: _fields(tables[name]) for name in tables if f"data/{name}.parquet" in files},
        "what_is": _LAYOUT["tables"],
        "files": {name: what for name, what in _LAYOUT["files"].items() if is_there.get(name, True)},
        "rankings": rankings,
        "hashes": {name: sha256(content).hexdigest() for name, content in files.items()},
        "croissant": CROISSANT,
        "licence": licence,
        "is_known": licence in LICENCES,
        "licence_url": licence_url(facts.answers),
        "licence_title": LICENCES.get(licence, (licence,))[0],
        "has_comments": "comment" in tables["judgments"],
        "leaderboard": drawn_scores(Scores(tables["leaderboard"]), "markdown", transpose=True),
        "divided": over_positives(Scores(tables["leaderboard"])),
        "changes": changes,
        "earlier": earlier.partition("\n## ")[2],
    }
    texts = {name: rendered("release", f"templates/{name}", **values) for name in _TEMPLATES}
    texts[f"{facts.module}/__init__.py"] = texts.pop("module.py")
    metadata = json.loads(texts["croissant.json"])
    return texts | {"croissant.json": json.dumps(metadata, indent=1, ensure_ascii=False) + "\n"}


def _fields(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return of each column its name, what it means (of a count, of which votes), and its Croissant type."""
    found = []
    for name, dtype in zip(map(str, table), table.dtypes.astype("str").str.lower(), strict=True):
        of_votes = f"Votes for {name[2:]}." if name.startswith("n_") else f"{name.replace('_', ' ')}."
        kind = next((kind for start, kind in _TYPES.items() if dtype.startswith(start)), "sc:Text")
        found.append((name, _LAYOUT["columns"].get(name, of_votes), kind))
    return found
