"""Label Studio's page of one item and several captions, made from a guideline's page of one pair.

Each caption has controls of its own (`relevance_0`, `flags_0`, …) in Label Studio's Repeater. The captions
and the keys of their answers come with the task, so that a page may have any number of captions.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.resources import files as resources
from itertools import zip_longest

from fire_toolkit.guidelines.label_config import parse_label_config
from fire_toolkit.guidelines.model import CAPTION, FLAGS, RELEVANCE, LabelConfig

CAPTIONS, TEXT, ANSWERS = "captions", "text", "answers"
_INDEX = "{{idx}}"
_KEYS = ("1234567890", "qwertyuiop", "asdfghjklz")  # a row of the keyboard for each answer, then with Shift
_ITEMS = ("Video", "Image", "HyperText", "Text")
IN_PLACE_OF_KEYS = (
    "A page here has several captions of one item. Judge each by itself, as if it stood alone. The keys are "
    "not those named below: each answer has its own beside it."
)
_SEVERAL = (
    "Answer every caption: each answer has its key beside it. Then submit with Ctrl+Enter; where it is set "
    "up, the space bar submits too. A page with an unanswered caption is not sent: a warning stands over the "
    "item, and what is missing is framed. Escape closes the warning; keys answer meanwhile too."
)
_MISSING = (
    "Nothing is shown, or only a wheel turns? Do not answer: skip the page with Ctrl+Space (on a Mac "
    "Alt+Enter), which reports it."
)
_STYLE = (resources("fire_toolkit.guidelines") / "several.css").read_text("utf-8")


def several_config(label_config: str) -> str:
    """Return the page on which several captions of one item are judged, each by itself.

    Args:
        label_config: a guideline's page of one pair. Its question, item, answers, flags and the rules in its
            `details` are taken over; a comment is not asked for, since it would belong to no caption.

    Returns:
        The same text for the same page.

    Raises:
        FormatError: as `parse_label_config`.
        ValueError: a page that shows captions alone.
    """
    page = parse_label_config(label_config)
    items = [name for name, (tag, _) in page.objects.items() if tag in _ITEMS and name != CAPTION]
    if not items:
        raise ValueError("a page without an item has no several captions of one")
    given = ET.fromstring(label_config)
    view = ET.Element("View", className="judge")
    ET.SubElement(view, "Style").text = _STYLE
    question = ET.SubElement(view, "View", className="question")
    for header in page.headers:
        ET.SubElement(question, "Header", value=header, size="5")
    shown = ET.SubElement(view, "View", className="shown")
    for element in given.iter():
        if element.get("name") in items and element.get("toName") is None:
            item = ET.SubElement(shown, "View", className="item")
            item.append(_with_other_words(element, list(page.choices[RELEVANCE].hotkeys)))
    captions = ET.SubElement(view, "View", className="captions")
    repeater = ET.SubElement(captions, "Repeater", on=f"${CAPTIONS}", indexFlag=_INDEX)
    repeater.append(_row(page))
    ET.indent(view)
    return ET.tostring(view, encoding="unicode", short_empty_elements=False) + "\n"


def _with_other_words(element: ET.Element, labels: Sequence[str]) -> ET.Element:
    """Return an item with what its `details` say of answers, and not of keys, which are others here."""
    copied = ET.fromstring(ET.tostring(element, encoding="unicode"))
    for details in copied.iter("details"):
        rules = [p.text or "" for p in details.iter("p")]
        for paragraph in list(details.findall("p")):
            details.remove(paragraph)
        kept = [rule for rule in rules if rule.partition(":")[0] in labels]
        for words in (_SEVERAL, *kept, _MISSING):
            ET.SubElement(details, "p").text = words
    return copied


def _row(page: LabelConfig) -> ET.Element:
    """Return the row of a caption."""
    about = page.choices[RELEVANCE].to_name
    row = ET.Element("View", className="row")
    text = ET.SubElement(row, "View", className="text")
    value = f"${CAPTIONS}[{_INDEX}]"
    ET.SubElement(text, "Text", name=f"{CAPTION}_{_INDEX}", value=f"{value}.{TEXT}", selectionEnabled="false")
    answers = ET.SubElement(row, "View", className="answers")
    ET.SubElement(
        answers,
        "Choices",
        name=f"{RELEVANCE}_{_INDEX}",
        toName=about,
        choice="single-radio",
        showInline="true",
        required="true",
        requiredMessage="Not sent: a caption is unanswered. Escape closes this.",
        value=f"{value}.{ANSWERS}",
    )
    if FLAGS in page.choices:
        flags = ET.SubElement(row, "View", className="flags")
        ET.SubElement(
            flags,
            "Choices",
            name=f"{FLAGS}_{_INDEX}",
            toName=about,
            choice="multiple",
            showInline="true",
            value=f"{value}.{FLAGS}",
        )
    return row


def shows_several(label_config: str) -> bool:
    """Whether a page of one pair can be made one of several captions: it shows an item."""
    objects = parse_label_config(label_config).objects
    return any(tag in _ITEMS and name != CAPTION for name, (tag, _) in objects.items())


def caption_entry(page: LabelConfig, row: int) -> dict[str, list[dict[str, str]]]:
    """Return the answers and flags of the caption in a row (from 0) with their keys, as its page takes them.

    Args:
        page: the guideline's page of one pair, whose answers and flags these are, in its order.
        row: the caption's place. Each answer and then each flag has a row of the keyboard, from the fourth on
            with Shift, and each of ten captions a place in it; what is beyond has no key of ours.
    """
    answers, flags = (list(page.choices[n].hotkeys) if n in page.choices else [] for n in (RELEVANCE, FLAGS))
    keys = [shift + line[row : row + 1] for shift in ("", "shift+") for line in _KEYS if row < len(line)]
    names = [*answers, *flags]
    keyed = [
        {"value": name} | ({"hotkey": key} if key else {})
        for name, key in zip_longest(names, keys[: len(names)], fillvalue="")
    ]
    return {ANSWERS: keyed[: len(answers)]} | ({FLAGS: keyed[len(answers) :]} if flags else {})
