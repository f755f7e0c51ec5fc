"""What is known of a release, for its documents; and what several of them say alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fire_toolkit.release.answers import spoken_name
from fire_toolkit.release.published import Published
from fire_toolkit.reporting.methods import MethodFacts, blank, methods_paragraphs
from fire_toolkit.reporting.templates import sentence
from fire_toolkit.scoring.drawn import drawn_scores
from fire_toolkit.tables import Scores
from fire_toolkit.tables.evidence import words_of_machine
from fire_toolkit.words import n_of

ANONYMOUS = "Anonymous authors"

_NO_TOOL = "a table"  # as `import --columns` names what no tool is known to write

# What stands where the files of a workspace do not say it; the rest is asked for.
_NOT_RECORDED = {
    "dates": "When they worked was not recorded.",
    "time": "How long a judgment took was not recorded.",
    "exclusions": "Which answers were left out was not recorded.",
    "overlap": "Who judged what twice was not recorded.",
    "agreement": "Agreement was not measured.",
    "disputes": "Disputes were not recorded.",
}


@dataclass(frozen=True)
class ReleaseFacts:
    """What is known of a release.

    answers: [release] of fire.toml; licences: [licences]; date: YYYY-MM-DD; tool: name and version of what
    wrote it; methods: as `report methods` has it, with pseudonyms; counts: rows of each table, and
    positives, original_positives, annotators; platform: where people judged; leaderboard: a Markdown table;
    has_captions, has_media, has_comments: whether these are in it; previous: the version before, empty where
    there is none.
    """

    version: str
    date: str
    tool: str
    answers: Mapping[str, Any]
    licences: Mapping[str, str]
    methods: MethodFacts
    counts: Mapping[str, int]
    platform: str = ""
    leaderboard: str = ""
    is_anonymous: bool = False
    has_captions: bool = False
    has_media: bool = False
    has_comments: bool = False
    previous: str = ""
    paragraphs: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "paragraphs", _paragraphs(self.methods))

    @property
    def name(self) -> str:
        """What the data are called."""
        return str(self.answers["name"])

    @property
    def title(self) -> str:
        """The same in words."""
        return str(self.answers["title"])

    @property
    def creators(self) -> list[str]:
        """Who made it; nobody is named for a double-blind review."""
        return [ANONYMOUS] if self.is_anonymous else [spoken_name(name) for name in self.answers["creators"]]

    @property
    def url(self) -> str:
        """The page of the data, if there is one; none for a double-blind review."""
        return "" if self.is_anonymous else str(self.answers.get("url", ""))

    @property
    def is_synthetic(self) -> bool:
        """Whether a machine made any of what is in it."""
        return bool(words_of_machine(self.methods.augmented or {})) or not self._is_said_to_be_by_people

    @property
    def by_machine(self) -> dict[str, Any]:
        """What `augment` counted of a machine judge's labels, for the manifest; empty without any."""
        return {key: value for key, value in (self.methods.augmented or {}).items() if "machine" in key}

    @property
    def _is_said_to_be_by_people(self) -> bool:
        return self.answers["machine_made"].strip().rstrip(".").lower() in ("none", "no", "nothing")

    @property
    def machine_made(self) -> str:
        """What a machine made: its labels in the qrels, and what fire.toml says."""
        by_judge = [sentence(words) for words in words_of_machine(self.methods.augmented or {})]
        stated = (
            [] if by_judge and self._is_said_to_be_by_people else [sentence(self.answers["machine_made"])]
        )
        return " ".join(by_judge + stated)

    @property
    def summary(self) -> str:
        """One paragraph that says what it is."""
        n = self.counts
        return (
            f"Corrected relevance labels for a retrieval benchmark: {sentence(self.answers['source'])} "
            f"Annotators judged {n_of(n['judged'], 'pair')} of a query and an item: "
            f"{n_of(n['positives'], 'pair')} are relevant now, where the original labels had "
            f"{n['original_positives']:,}; {n_of(n['disputes'], 'pair')} "
            f"{'stays' if n['disputes'] == 1 else 'stay'} in dispute."
        )

    @property
    def rejected(self) -> str:
        """What became of original positives that annotators rejected; empty where there are none."""
        found = self.methods.augmented or {}
        n, policy = found.get("rejected", 0), found.get("policy")
        if not n:
            return ""
        fate = {"union": "stay relevant", "override": "are not relevant now", "drop": "are left out"}
        return (
            f"Of the original positives annotators rejected {n:,}; under policy {policy} they "
            f"{fate.get(str(policy), 'are marked')} (`source` is rejected in the table changes)."
        )

    @property
    def citation(self) -> str:
        """How it is cited, in a line."""
        where = f" {self.url}" if self.url else ""
        return f"{'; '.join(self.creators)} ({self.date[:4]}). {self.title}, version {self.version}.{where}"

    @property
    def licence_notes(self) -> list[str]:
        """A sentence for each part of the benchmark: whether it is included, and under which licence."""
        own = {
            "captions": (self.has_captions, "The texts of the queries"),
            "media": (self.has_media, "Addresses of the media"),
        }
        notes = [
            f"{what} are included under {self.licences.get(key, '')}, the licence of their source."
            if is_there
            else f"{what} are not included: get them from the benchmark itself and join them by id."
            for key, (is_there, what) in own.items()
        ]
        if self.licences.get("qrels"):
            notes.append(f"The original labels that are repeated here came under {self.licences['qrels']}.")
        return notes


def _paragraphs(methods: MethodFacts) -> dict[str, str]:
    """Return the paragraphs on methods, in plain words where nothing is recorded; Work: without the study."""
    study = {
        name: f"{name.capitalize()}: {text[:1].lower()}{text[1:]}" for name, text in methods.study.items()
    }
    found = dict(methods_paragraphs(replace(methods, study=study)))
    work = dict(methods_paragraphs(methods))["Annotators"]
    found["Work"] = work.removeprefix(" ".join(sentence(text) for text in methods.study.values())).strip()
    for title, text in found.items():
        for name, words in _NOT_RECORDED.items():
            text = text.replace(blank(name), words)
        found[title] = text
    return found


def release_facts(
    published: Published,
    methods: MethodFacts,
    settings: Mapping[str, Mapping[str, Any]],
    *,
    version: str,
    date: str,
    tool: str,
    platform: str,
    previous: str = "",
    is_anonymous: bool = False,
) -> ReleaseFacts:
    """Return what is known of a release of these tables.

    Args:
        published: its tables.
        methods: as `report methods` has them; people who were left out get their pseudonyms.
        settings: sections of fire.toml, of which [release] and [licences] are used.
        version, date, tool, platform, previous, is_anonymous: as in `ReleaseFacts`.
    """
    tables, by_rule = published.tables, methods.labels_by
    if by_rule and by_rule.get("excluded"):
        named = {published.names.get(who, "an annotator"): why for who, why in by_rule["excluded"].items()}
        methods = replace(methods, labels_by={**by_rule, "excluded": named})
    return ReleaseFacts(
        version=version,
        date=date,
        tool=tool,
        answers=settings["release"],
        licences=settings["licences"],
        methods=methods,
        counts=published.counts,
        platform=platform,
        leaderboard=drawn_scores(Scores(tables["leaderboard"]), "markdown", transpose=True),
        is_anonymous=is_anonymous,
        has_captions="text" in tables["queries"],
        has_media="media_url" in tables["corpus"],
        has_comments="comment" in tables["judgments"],
        previous=previous,
    )


def platform_of(answered: Iterable[tuple[str, str]]) -> str:
    """Return where people judged, by the source of each answer and the other tool that it names, if any.

    Empty where a table names no tool.

    Examples:
        >>> platform_of([("page:7f", ""), ("file:ann.csv", ""), ("file:all.csv", "MTurk"), ("http://h", "")])
        "Label Studio; MTurk; fire-toolkit's own page; sheets (CSV)"
    """
    found = {tool.partition(" (")[0] or _carrier_of(source) for source, tool in answered}
    return "" if _NO_TOOL in found else "; ".join(sorted(found))


def _carrier_of(source: str) -> str:
    if source.startswith("page:"):
        return "fire-toolkit's own page"
    is_sheet = source.startswith("file:") and source.endswith((".csv", ".tsv"))
    return "sheets (CSV)" if is_sheet else "Label Studio"
