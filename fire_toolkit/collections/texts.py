"""Captions as one line of text that every file of this toolkit can carry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pandas as pd

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_AT_ONCE = 1 << 16
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


def each_text(texts: pd.Series) -> Iterator[str]:
    """Yield the texts of a column, made in stretches: a million strings of Python's take 100 MB."""
    for start in range(0, len(texts), _AT_ONCE):
        yield from texts.iloc[start : start + _AT_ONCE].tolist()


def map_texts(texts: pd.Series, change: Callable[[str], str]) -> pd.Series:
    """Return the column with each text changed, made in stretches."""
    parts = [
        texts.iloc[start : start + _AT_ONCE].map(change).astype("str")
        for start in range(0, len(texts), _AT_ONCE)
    ]
    return pd.concat(parts) if parts else texts.astype("str")
