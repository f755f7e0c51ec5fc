"""Versions of an answer in the record: which says what, and which comes after which."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fire_toolkit.resolution.judgments import just_after, utc_time


class Version(NamedTuple):
    """A row of an answer, as far as it tells versions apart; the last word of an answer comes last."""

    updated_at: str
    is_event: bool
    seen_at: str
    number: int
    state: str
    source: str
    project: str
    answer: str

    def is_of(self, moment: str) -> bool:
        """Whether a time is the one that it counts by, or the one that its source gave it."""
        return moment == self.updated_at or moment == utc_time(str(json.loads(self.answer).get("updated_at")))

    def says(self, answer: str) -> bool:
        """Whether it says what an answer says, whatever else a source tells of both."""
        return self.answer == answer or _said(self.answer) == _said(answer)


def _said(answer: str) -> Any:
    content = json.loads(answer)
    result = content.get("result")
    items = result if isinstance(result, list) else []
    given = [(item.get("from_name"), item.get("value")) for item in items if isinstance(item, dict)]
    return given, bool(content.get("was_cancelled"))


def after(moment: str) -> str:
    """Return a time after another one, also where that is not written as times are."""
    return just_after(moment) if utc_time(moment) == moment else f"{moment}+"
