"""The page is one file, and whatever stands in a text stays text."""

import json
import re
from html.parser import HTMLParser

from fire_toolkit.reporting.page import Figure, Section, Table, render_page
from fire_toolkit.reporting.plots import Plot

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \u202e العربية {{ 7*7 }} &amp;"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page() -> str:
    table = Table(HOSTILE, [HOSTILE, "n"], [[HOSTILE, "1"], ["b", ""]])
    plot = Plot({"description": HOSTILE, "data": {"values": [{"run_id": HOSTILE}]}})
    figure = Figure(plot, HOSTILE, table)
    section = Section("one", HOSTILE, [HOSTILE], [HOSTILE], [table], [figure], [(HOSTILE, HOSTILE)])
    return render_page(HOSTILE, HOSTILE, [section])


def test_hostile_texts_stay_text() -> None:
    tags = _Tags()
    tags.feed(page().replace("window.vega", "window_vega"))
    assert {tag for tag, _ in tags.found} & {"img", "iframe", "link", "object"} == set()
    assert [tag for tag, _ in tags.found].count("script") == 3  # the spec, Vega, what draws
    assert not any(name.startswith("on") for _, attributes in tags.found for name in attributes)
    assert "{{ 7*7 }}" in page()


def test_a_spec_comes_back_as_it_was() -> None:
    (spec,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page(), re.S)
    assert json.loads(spec)["data"]["values"] == [{"run_id": HOSTILE}]


def test_the_page_may_load_nothing() -> None:
    assert "default-src 'none'" in page()
    tags = _Tags()
    tags.feed(page())
    assert not any(
        attributes.get(name) for tag, attributes in tags.found for name in ("src", "data", "action")
    )
    assert {attributes["href"] for tag, attributes in tags.found if tag == "a"} == {"#main", "#one"}


def test_columns_of_numbers_are_known() -> None:
    table = Table("", ["name", "value", "sign", "none"], [["a", "1.5", "-2", ""], ["b", "", "+3", ""]])
    assert [table.is_number(column) for column in range(4)] == [False, True, True, False]


def test_a_page_without_plots_needs_no_library() -> None:
    assert len(render_page("title", "", [])) < 10_000
