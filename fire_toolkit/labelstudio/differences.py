"""What changed between two labeling configs, in one line."""

from __future__ import annotations

import difflib
import xml.etree.ElementTree as ET

_SHOWN = 6


def config_difference(before: str, after: str) -> str:
    """Return the elements that went and came between two labeling configs, in their order.

    Examples:
        >>> config_difference('<View><Choice value="a"/></View>', '<View><Choice value="b"/></View>')
        'gone: <Choice value="a">; new: <Choice value="b">'
    """
    old, new = _elements(before), _elements(after)
    marks = {"- ": "gone", "+ ": "new"}
    changes = [f"{marks[line[:2]]}: {line[2:]}" for line in difflib.ndiff(old, new) if line[:2] in marks]
    more = f"; and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return "; ".join(changes[:_SHOWN]) + more if changes else "its texts or its order"


def _elements(config: str) -> list[str]:
    try:
        root = ET.fromstring(config)
    except (ET.ParseError, ValueError):
        return ["(no XML)"]
    return [_element(element) for element in root.iter()]


def _element(element: ET.Element) -> str:
    attributes = (f'{name}="{value}"' for name, value in sorted(element.items()))
    return f"<{' '.join([element.tag, *attributes])}>"
