"""What is known of a release, in one structure; its documents are templates about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fire_toolkit.release.answers import spoken_name
from fire_toolkit.release.layout import NOT_RECORDED
from fire_toolkit.release.published import Published
from fire_toolkit.reporting.methods import MethodFacts, blank, methods_paragraphs
from fire_toolkit.reporting.templates import rendered_blocks, sentence
from fire_toolkit.tables.evidence import words_of_machine

_NO_TOOL = "a table"  # as `import --columns` names what no tool is known to write
_NONE = ("none", "no", "nothing")  # what [release] machine_made says where people did all
_NOTES = ("captions", "media", "repeated")


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
        return {**_paragraphs(self.study), **dict(blocks)}


def _paragraphs(study: MethodFacts) -> dict[str, str]:
    """Return the paragraphs on methods, in plain words where nothing is recorded."""
    named = {name: f"{name.capitalize()}: {text[:1].lower()}{text[1:]}" for name, text in study.study.items()}
    found = dict(methods_paragraphs(replace(study, study=named)))
    work = dict(methods_paragraphs(study))["Annotators"]
    found["Work"] = work.removeprefix(" ".join(map(sentence, study.study.values()))).strip()
    for title, text in found.items():
        for name, words in NOT_RECORDED.items():
            text = text.replace(blank(name), words)
        found[title] = text
    return found


def with_pseudonyms(study: MethodFacts, names: Mapping[str, str]) -> MethodFacts:
    """Return what is known of a study with the pseudonyms of people who were left out."""
    excluded = (study.labels_by or {}).get("excluded", {})
    named = {names.get(who, "an annotator"): why for who, why in excluded.items()}
    return replace(study, labels_by={**(study.labels_by or {}), "excluded": named}) if excluded else study


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
