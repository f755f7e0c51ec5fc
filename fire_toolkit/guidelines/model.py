"""What annotators are asked: the question, its labels and their grades, in one checked object.

A guideline lives in three files that must agree: `guideline.md` for people, `labels.toml` for this
toolkit, `label_config.xml` for Label Studio. `disagreements` holds them to that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise

from pandas import Series

from fire_toolkit.errors import TableError
from fire_toolkit.results import Shown
from fire_toolkit.tables.ids import is_id

RELEVANCE = "relevance"
FLAGS = "flags"
COMMENT = "comment"
CAPTION = "caption"
REFERENCE = "reference"
NO_ITEM = "none"  # the kind of item of a guideline that shows captions alone
TEXT = "text"
ITEM_KINDS = ("video", "image", "audio", TEXT, NO_ITEM)

Grade = int | float
Grades = dict[str, Grade | None]


def fitting_level(grades: Mapping[str, float | None]) -> str:
    """Return the level of measurement that fits grades: ordinal where three labels or more have one.

    Examples:
        >>> fitting_level({"no": 0, "yes": 1, "unsure": None}), fitting_level({"0": 0, "1": 1, "2": 2})
        ('nominal', 'ordinal')
    """
    return "ordinal" if sum(grade is not None for grade in grades.values()) > 2 else "nominal"


@dataclass(frozen=True)
class GuidelineLabel:
    """One answer: its name, its grade (None: an answer that is not a vote), its key and what it means."""

    name: str
    relevance: int | None
    hotkey: str
    description: str


@dataclass(frozen=True)
class GuidelineFlag:
    """A remark beside the answer: its name, its key and what it means."""

    name: str
    hotkey: str
    description: str


@dataclass(frozen=True)
class Guideline(Shown):
    """A version of the question that annotators answer.

    item_kind: also the key under which a task holds the item's address (or its text), and its name on the
    page; labels: in the order of their grades, which is the order of ordinal statistics; text: the
    instructions (Markdown); label_config: the labeling page (XML of Label Studio).
    """

    name: str
    version: int
    title: str
    item_kind: str
    question: str
    labels: tuple[GuidelineLabel, ...]
    flags: tuple[GuidelineFlag, ...]
    text: str
    label_config: str

    @property
    def grades(self) -> Grades:
        """The grade of each label, in the guideline's order; None: an answer that is not a vote."""
        return {label.name: label.relevance for label in self.labels}

    @property
    def level(self) -> str:
        """The level of measurement that fits its grades: ordinal from three on, else nominal."""
        return fitting_level(self.grades)

    @property
    def is_of_queries(self) -> bool:
        """Whether captions are shown alone: it asks about queries, and not about pairs."""
        return self.item_kind == NO_ITEM

    @property
    def shows_texts(self) -> bool:
        """Whether the items are texts, which tasks hold in the place of an address."""
        return self.item_kind == TEXT

    @property
    def shows_media(self) -> bool:
        """Whether the items are files, which a page loads from an address."""
        return self.item_kind not in (TEXT, NO_ITEM)

    @property
    def shows_reference(self) -> bool:
        """Whether the query's own item (the reference of a composed query) is shown beside the item."""
        return f"${REFERENCE}" in self.label_config

    @property
    def data_keys(self) -> tuple[str, ...]:
        """The keys of a task's data that its page shows."""
        reference = (REFERENCE,) if self.shows_reference else ()
        return (CAPTION,) if self.is_of_queries else (CAPTION, *reference, self.item_kind)

    @property
    def hotkeys(self) -> dict[str, str]:
        """The key of each label and flag."""
        entries: tuple[GuidelineLabel | GuidelineFlag, ...] = (*self.labels, *self.flags)
        return {entry.name: entry.hotkey for entry in entries}

    def shown_fields(self) -> Mapping[str, object]:
        """Return the question and its labels, with grade and description."""
        grades = {
            label.name: "no vote" if label.relevance is None else label.relevance for label in self.labels
        }
        labels = {
            f"label {label.name}": f"{grades[label.name]}: {label.description}" for label in self.labels
        }
        return {"name": self.name, "question": self.question, **labels, "sha256": self.sha256}

    @property
    def record(self) -> dict[str, str]:
        """Its name and hash, as manifests name it."""
        return {"guideline": self.name, "guideline_sha256": self.sha256}

    @property
    def sha256(self) -> str:
        """The hash of all that the guideline says, in hex; the same on every machine."""
        content = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Choices:
    """A choices control of a labeling page: the object it is about, how it behaves, its hotkeys."""

    to_name: str
    multiple: bool
    required: bool
    hotkeys: Mapping[str, str]


@dataclass(frozen=True)
class LabelConfig:
    """What a labeling page shows and asks.

    headers: the values of its headings; objects: tag and value (`$key`) of each object by its name;
    choices: each choices control by its name; controls: the tag of every control by its name.
    """

    headers: tuple[str, ...] = ()
    objects: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    choices: Mapping[str, Choices] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)

    def asks_as(self, other: LabelConfig) -> bool:
        """Whether two pages ask the same and take the same answers, however they look."""
        pages = (self, other)
        keys = [sorted(key for _, key in page.objects.values() if key.startswith("$")) for page in pages]
        mine, theirs = ((page.headers, page.choices, page.controls, [*page.objects]) for page in pages)
        return mine == theirs and keys[0] == keys[1]


def disagreements(guideline: Guideline, config: LabelConfig) -> list[str]:
    """Return in what labels.toml, label_config.xml and guideline.md do not say the same, a sentence each.

    Args:
        guideline: labels and text.
        config: the parsed form of `guideline.label_config`.

    The labels: at least two with grades, rising; names and hotkeys without white space, none twice.
    The page: the question as a heading; `$caption` in a text named caption; the item in an object (or,
    unless it is a text, a HyperText) named after its kind, unless that is `none`; choices `relevance`
    (single, required) and `flags` (multiple) about the item, else the caption, with the labels', flags' names
    and hotkeys; a text area `comment`. The text: the title as its heading, the question, a table row that
    starts with `hotkey` and `name` in code font for each label and flag, and nothing else in code font.
    """
    return [*_label_problems(guideline), *_config_problems(guideline, config), *_text_problems(guideline)]


def _label_problems(guideline: Guideline) -> Iterator[str]:
    if not guideline.name.endswith(f"-v{guideline.version}"):
        yield f"name {guideline.name!r} does not end in -v{guideline.version}, its version"
    if guideline.item_kind not in ITEM_KINDS:
        yield f"item_kind {guideline.item_kind!r} is not one of {', '.join(ITEM_KINDS)}"
    entries: list[GuidelineLabel | GuidelineFlag] = [*guideline.labels, *guideline.flags]
    for what, words in (("name", [entry.name for entry in entries]), ("hotkey", [e.hotkey for e in entries])):
        yield from (f"{what} {word!r} is given twice" for word, times in Counter(words).items() if times > 1)
    # Label Studio puts a task's data in the place of `$caption` in an answer too.
    bad = [name for name in (guideline.name, *guideline.hotkeys) if not is_id(name) or {*name} & {*";$"}]
    yield from (f"name {name!r} is empty or holds white space, ';' or '$'" for name in bad)
    grades = [label.relevance for label in guideline.labels if label.relevance is not None]
    if len(grades) < 2 or grades != sorted(set(grades)) or grades[0] < 0:
        yield f"relevance of the labels is {grades}, expected two or more whole numbers from 0, rising"


def _config_problems(guideline: Guideline, config: LabelConfig) -> Iterator[str]:
    page = "label_config.xml"
    kind = guideline.item_kind
    if guideline.question not in config.headers:
        yield f"{page} has no Header {guideline.question!r}"
    shown: dict[str, tuple[str, ...]] = {CAPTION: ("Text",)}
    if not guideline.is_of_queries:  # in a HyperText, what an item's text holds would be HTML
        shown[kind] = ("Text",) if guideline.shows_texts else (kind.title(), "HyperText")
    for name, tags in shown.items():
        value = f"${name}"
        if config.objects.get(name) not in [(tag, value) for tag in tags]:
            there = config.objects.get(name, "no such object")
            yield f"{page}: {name} is {there}, expected a {' or '.join(tags)} of {value}"
    labels = {label.name: label.hotkey for label in guideline.labels}
    flags = {flag.name: flag.hotkey for flag in guideline.flags}
    for name, hotkeys in ((RELEVANCE, labels), (FLAGS, flags)):
        if hotkeys or name in config.choices:
            about, is_single = guideline.data_keys[-1], name == RELEVANCE
            if (found := config.choices.get(name)) is None:
                yield f"{page}: {name}: no such Choices"
                continue
            choices = "a single choice" if is_single else "several choices"
            own = dict(found.hotkeys)
            problems = (
                (found.to_name != about, f" is about {found.to_name!r}, expected {about!r}"),
                (found.multiple == is_single, f": expected {choices}"),
                (found.required != is_single, f": expected required={str(is_single).lower()}"),
                (own != hotkeys, f" has choices and hotkeys {own}, labels.toml has {hotkeys}"),
            )
            yield from (f"{page}: {name}{words}" for is_so, words in problems if is_so)
    if config.controls.get(COMMENT) != "TextArea":
        yield f"{page} has no TextArea named {COMMENT}"


_CODE = re.compile(r"`([^`]*)`")
_KEY_ROW = re.compile(r"^\| *`([^`]*)` *\| *`([^`]*)` *\|", re.MULTILINE)


def _text_problems(guideline: Guideline) -> Iterator[str]:
    page = "guideline.md"
    if guideline.text.split("\n", 1)[0].strip() != f"# {guideline.title}":
        yield f"{page} does not start with the title '# {guideline.title}'"
    if guideline.question not in guideline.text.partition("\n")[2]:
        yield f"{page} does not ask {guideline.question!r}"
    rows = sorted((name, key) for key, name in _KEY_ROW.findall(guideline.text))
    expected = sorted(guideline.hotkeys.items())
    if rows != expected:
        yield f"{page} explains answers and hotkeys {rows}, labels.toml has {expected}"
    known = {*guideline.hotkeys, *guideline.hotkeys.values()}
    unknown = sorted(set(_CODE.findall(guideline.text)) - known)
    if unknown:
        yield f"{page} names {', '.join(unknown)} in code font, which labels.toml does not know"


def refuse_unknown_labels(found: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise a TableError where a label is not one of a guideline's; `where`: what the table is called."""
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise TableError(
            f"{where}: {'label' if len(unknown) == 1 else f'{len(unknown)} labels'} "
            f"{', '.join(map(repr, unknown[:3]))}{', …' * (len(unknown) > 3)} "
            f"{'is' if len(unknown) == 1 else 'are'} not in the guideline; "
            f"expected one of {', '.join(map(repr, known))}"
        )


# Of the default guideline; a test holds the two together.
DEFAULT_NAME = "caption-relevance-v1"
DEFAULT_GRADES: Grades = {"irrelevant": 0, "relevant": 1, "ambiguous": None}
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")


def choose_grades(
    labels: Series[str] | Mapping[str, int] | Iterable[str],
    *,
    guideline: Guideline | None = None,
    default: Guideline | None = None,
) -> Grades | None:
    """Return the grades that fit `labels` when a guideline may or may not have been named.

    Args:
        labels: a column of label names as they stand in judgments; names, any number of times each; or how
            often each stands.
        guideline: the one that the user named, or None.
        default: the one to try when none was named; None: the one that fire-toolkit brings.

    Returns:
        The named guideline's grades, of all its labels in its order; None for an answer that is not a vote.
        Else, if every label is a number, each its own grade, in numeric order; else the default's grades if
        it has every label (also when there is no label); else, if it has none of them, None: the labels are
        categories without grades.

    Raises:
        TableError: a label that the named guideline does not have, or that the default does not have where
            it has others, with counts; two labels that are the same number.

    Examples:
        >>> choose_grades(["relevant", "relevant"])
        {'irrelevant': 0, 'relevant': 1, 'ambiguous': None}
        >>> choose_grades(["2", "0", "1.5"]), choose_grades(["yes", "no"])
        ({'0': 0, '1.5': 1.5, '2': 2}, None)
    """
    if isinstance(labels, Series):
        labels = {str(label): int(n) for label, n in labels.value_counts().items()}
    counts = Counter(labels)
    if guideline is None and counts and all(map(_NUMBER.fullmatch, counts)):
        numbers: Grades = {label: float(label) if "." in label else int(label) for label in counts}
        ordered = sorted(numbers.items(), key=lambda each: (each[1], each[0]))
        for (label, number), (following, other) in pairwise(ordered):
            if number == other:
                raise TableError(
                    f"labels {label!r} and {following!r} are the same number; write it one way in every row"
                )
        return dict(ordered)
    rules = guideline or default
    name, grades = (rules.name, rules.grades) if rules else (DEFAULT_NAME, DEFAULT_GRADES)
    unknown = {label: n for label, n in counts.items() if label not in grades}
    if guideline is None and counts and len(unknown) == len(counts):
        return None
    if unknown:
        most = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{label!r} ({n})" for label, n in most[:5])
        named += f" and {len(most) - 5} more" if len(most) > 5 else ""
        raise TableError(
            f"labels that guideline {name} does not have: {named}; it has {', '.join(grades)}; "
            "name the guideline they were given under, or correct them"
        )
    return grades
