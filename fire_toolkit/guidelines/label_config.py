"""Label Studio's labeling config (XML) as a `LabelConfig`, and its hash."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET

from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Choices, LabelConfig


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
            choices[name] = _choices(element, where)
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


def _choices(element: ET.Element, where: str) -> Choices:
    from_data = element.get("value", "")  # answers that come with the task stand for themselves
    hotkeys: dict[str, str] = {from_data: ""} if from_data else {}
    for choice in element.iter("Choice"):
        name = choice.get("alias", choice.get("value", ""))
        if name in hotkeys:
            raise FormatError(f"{where}: choice {name!r} appears twice in {element.get('name')}")
        hotkeys[name] = choice.get("hotkey", "")
    return Choices(
        to_name=element.get("toName", ""),
        multiple=element.get("choice") == "multiple",
        required=element.get("required") == "true",
        hotkeys=hotkeys,
    )
