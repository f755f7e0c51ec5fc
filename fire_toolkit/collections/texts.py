"""Captions as one line of text that every file of this toolkit can carry."""

from __future__ import annotations

import re

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_BREAKS = re.compile(" *[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+ *")


def plain_text(text: str) -> str:
    """Return `text` on one line: runs of tabs and line ends become a space, invalid characters U+FFFD.

    Examples:
        >>> plain_text("a dog\\n runs\\t fast\\n")
        'a dog runs fast'
        >>> plain_text("a \\ud800 b")
        'a � b'
    """
    if _BREAKS.search(text):
        text = _BREAKS.sub(" ", text).strip(" ")
    return _UNFIT.sub("\ufffd", text)


def normal_text(text: str) -> str:
    """Return `text` as captions are compared: case folded, runs of white space one space.

    Examples:
        >>> normal_text("  A dog\\n runs ")
        'a dog runs'
    """
    return " ".join(text.casefold().split())
