"""The team's page stands alone, escapes what it is told, and leaves out what nobody knows."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser

from fire_toolkit.campaign.progress import QueueProgress
from fire_toolkit.campaign.team_page import PagePerson, TeamPage, team_page

NAN = math.nan
QUEUE = QueueProgress(1, "<b>A01</b>", 40, 10, 2, 28, 0, 1, 4.25, 0.5, 4, 3)
PERSON = PagePerson(10, 0.25, 0.5, 4.0, 6.0, 0.8, 9, "paused")


def page(**changes: object) -> str:
    content = {
        "title": "clips & captions",
        "updated_at": "2026-11-22 10:00 UTC",
        "tiles": [("Alpha so far", "0.61", "95%: 0.4 to 0.8")],
        "queues": [QUEUE],
        "people": {"<b>A01</b>": PERSON},
        "alarms": [("<b>A01</b>", 'says "x" & <script>alert(1)</script>')],
    }
    return team_page(TeamPage(**{**content, **changes}))  # type: ignore[arg-type]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags_of(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    return tags


def test_nothing_is_asked_of_anywhere() -> None:
    text = page(reload_s=30)
    names = {name for name, _ in tags_of(text).seen}
    assert not names & {"script", "link", "img", "iframe", "object", "form"}
    assert not re.search(r"https?:|//|url\(|@import|src=|href=", text)
    assert '<meta http-equiv="refresh" content="30">' in text
    assert "refresh" not in page()


def test_texts_are_escaped() -> None:
    text = page()
    assert "<script" not in text
    assert "&lt;b&gt;A01&lt;/b&gt; <small>paused</small>" in text
    assert "clips &amp; captions" in text
    assert not [attrs for tag, attrs in tags_of(text).seen if tag == "b" and attrs]


def test_what_is_not_known_is_empty_and_what_is_well_is_said() -> None:
    nobody = PagePerson(0, NAN, NAN, NAN, NAN, NAN, 0)
    text = page(people={"<b>A01</b>": nobody}, alarms=[])
    assert "nan" not in text
    assert "Beside others" not in text
    assert "<h2>To look into</h2><p>Nothing.</p>" in text
    assert "30%" in text  # 12 of 40


def test_both_lights_are_styled() -> None:
    text = page()
    assert '<meta name="color-scheme" content="light dark">' in text
    assert "prefers-color-scheme:dark" in text
