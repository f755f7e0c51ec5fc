"""Label Studio's labeling config (XML) as a `LabelConfig`, its hash, and the page of several captions.

That page is made from a guideline's page of one pair: each caption has controls of its own (`relevance_0`,
`flags_0`, …) in Label Studio's Repeater; several.xml has them. The captions and the keys of their answers
come with the task, so that a page may have any number of captions.
"""

import hashlib
import xml.etree.ElementTree as ET
from itertools import zip_longest

from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import CAPTION, FLAGS, RELEVANCE, Choices, LabelConfig
from fire_toolkit.words import text_in


def parse_label_config(xml: str, *, where: str = "label_config.xml") -> LabelConfig:
    """Return what a labeling config shows and asks.

    Args:
        xml: the config; a control is an element with `name` and `toName`, an object one with `name`
            and `value`. A choice is known by its `alias` if it has one (that is what answers
            hold), else by its `value`.
        where: what the config is called in an error.

    Raises:
        FormatError: not XML, a document type declaration (entities are refused), or a name, a choice
            or a hotkey that appears twice.
    """
    root = _root(xml, where)
    headers: list[str] = []
    objects: dict[str, tuple[str, str]] = {}
    choices: dict[str, Choices] = {}
    controls: dict[str, str] = {}
    for element in root.iter():
        name = element.get("name")
        if element.tag == "Header":
            headers.append(element.get("value", ""))
        if name is None:
            continue
        if name in objects or name in controls:
            raise FormatError(f"{where}: name {name!r} appears twice; give each element its own name")
        if element.get("toName") is None:
            objects[name] = (element.tag, element.get("value", ""))
            continue
        controls[name] = element.tag
        if element.tag == "Choices":
            from_data = element.get("value", "")  # answers that come with the task stand for themselves
            hotkeys = {from_data: ""} if from_data else {}
            for choice in element.iter("Choice"):
                if (answer := choice.get("alias", choice.get("value", ""))) in hotkeys:
                    raise FormatError(f"{where}: choice {answer!r} appears twice in {name}")
                hotkeys[answer] = choice.get("hotkey", "")
            is_multiple, is_required = element.get("choice") == "multiple", element.get("required") == "true"
            choices[name] = Choices(element.get("toName", ""), is_multiple, is_required, hotkeys)
    owners: dict[str, str] = {}
    for name, hotkey in (pair for control in choices.values() for pair in control.hotkeys.items()):
        if hotkey and hotkey in owners:
            raise FormatError(f"{where}: hotkey {hotkey!r} is that of {owners[hotkey]!r} and of {name!r}")
        owners[hotkey] = name
    return LabelConfig(tuple(headers), objects, choices, controls)


def config_sha256(xml: str, *, where: str = "label_config.xml") -> str:
    """Return the hash of a labeling config, in hex; how wide white space is and attribute order do not count.

    Raises:
        FormatError: not XML, or a document type declaration.

    Examples:
        >>> config_sha256('<View><A b="1" c="2"/></View>') == config_sha256("<View> <A c='2' b='1'/> </View>")
        True
    """
    root = _root(xml, where)
    for element in root.iter():
        element.text, element.tail = (" ".join((text or "").split()) for text in (element.text, element.tail))
    canonical = ET.canonicalize(ET.tostring(root, encoding="unicode"), strip_text=True)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def _root(xml: str, where: str) -> ET.Element:
    if "<!DOCTYPE" in xml:
        raise FormatError(f"{where}: a document type declaration; a labeling config has none, remove it")
    try:
        return ET.fromstring(xml)
    except (ET.ParseError, ValueError) as error:
        raise FormatError(f"{where}: not well-formed XML ({error})") from None


CAPTIONS, TEXT, ANSWERS = "captions", "text", "answers"
_KEYS = ("1234567890", "qwertyuiop", "asdfghjklz")  # a row of the keyboard for each answer, then with Shift
_ITEMS = ("Video", "Image", "HyperText", "Text")
IN_PLACE_OF_KEYS = (
    "A page here has several captions of one item. Judge each by itself, as if it stood alone. The keys are "
    "not those named below: each answer has its own beside it."
)
_PAGE, _STYLE = (text_in("guidelines", f"several.{kind}") for kind in ("xml", "css"))


def several_config(label_config: str) -> str:
    """Return the page on which several captions of one item are judged, each by itself.

    Args:
        label_config: a guideline's page of one pair. Its question, item, answers, flags and the rules in its
            `details` are taken over; a comment is not asked for, since it would belong to no caption. Of keys
            its `details` say nothing, for they are others here.

    Returns:
        The same text for the same page.

    Raises:
        FormatError: as `parse_label_config`.
        ValueError: a page that shows captions alone.
    """
    page = parse_label_config(label_config)
    if not _items(page):
        raise ValueError("the page shows no item, so it cannot show several captions of one")
    view = ET.fromstring(_PAGE)
    style, question, shown, captions, words = view
    view.remove(words)
    style.text = _STYLE
    for header in page.headers:
        ET.SubElement(question, "Header", value=header, size="5")
    for element in ET.fromstring(label_config).iter():
        if element.get("name") in _items(page) and element.get("toName") is None:
            ET.SubElement(shown, "View", className="item").append(element)
            for details in element.iter("details"):
                rules = [p.text or "" for p in details.iter("p")]
                kept = [rule for rule in rules if rule.partition(":")[0] in page.choices[RELEVANCE].hotkeys]
                for paragraph in details.findall("p"):
                    details.remove(paragraph)
                for text in (words[0].text, *kept, words[1].text):
                    ET.SubElement(details, "p").text = text
    for choices in captions.iter("Choices"):
        choices.set("toName", page.choices[RELEVANCE].to_name)
    (row,) = captions[0]
    if FLAGS not in page.choices:
        row.remove(row[-1])
    ET.indent(view)
    return ET.tostring(view, encoding="unicode", short_empty_elements=False) + "\n"


def _items(page: LabelConfig) -> list[str]:
    return [name for name, (tag, _) in page.objects.items() if tag in _ITEMS and name != CAPTION]


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
