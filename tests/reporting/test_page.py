"""The page is one file, and whatever stands in a text stays text."""

import json
from html.parser import HTMLParser
from typing import Any

import pandas as pd
from reports import data_of_plot

from fire_toolkit.reporting.page import Figure, Table, render_page
from fire_toolkit.reporting.plots import Plot

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \u202e العربية {{ 7*7 }} &amp;"
ROWS = [
    {"run_id": HOSTILE, "value": 0.5, "low": None, "n": 3},
    {"run_id": "b", "value": 1.0, "low": None, "n": 4},
]
FIGURES = ("scores", "differences", "order", "flips", "overlap", "length", "judged")
SWAP = {"measure": HOSTILE, "run_a": HOSTILE, "run_b": "b", "p_swap": 0.97, "holds": True}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page(**changed: Any) -> str:
    """A page of facts in which every text is hostile."""
    table = Table(HOSTILE, [HOSTILE, "n"], [[HOSTILE, "1"], ["b", ""]])
    figure = Figure(Plot({"description": HOSTILE, "data": {"values": ROWS}}), HOSTILE)
    cell = {"value": HOSTILE, "interval": HOSTILE, "mark": "†‡"}
    outcome = dict.fromkeys(
        ("n_queries", "confirmed", "rejected", "never_judged", "new", "original", "augmented"), 2
    )
    facts: dict[str, Any] = {
        "title": HOSTILE,
        "subtitle": HOSTILE,
        "warning": HOSTILE,
        "outcome": outcome | {"policy": "union", "original_by_query": 1.0, "augmented_by_query": 2.5},
        "headline": [HOSTILE],
        "scores": {"measures": ["C@1"], "rows": {HOSTILE: {"C@1": cell}}, "is_corrected": False,
                   "unknown": True, "not_pooled": True},
        "uncertain": table,
        "score_notes": [HOSTILE],
        "bound_notes": [HOSTILE],
        "trusted": [HOSTILE],
        "usable": table,
        "unusable": HOSTILE,
        "differences": {"n": 2, "holding": 1, "alone": 2, "notes": [HOSTILE]},
        "orders": {"swaps": [SWAP], "notes": [HOSTILE]},
        "annotators": {"table": table, "two": table},
        "agreement": {"table": table, "votes": HOSTILE, "alpha": [HOSTILE] * 3, "notes": [HOSTILE]},
        "overlap_notes": [HOSTILE],
        "since": {"name": HOSTILE, "tables": [table], "notes": [HOSTILE], "orders": None},
        "methods": [(HOSTILE, HOSTILE)],
        "manifests": {HOSTILE: HOSTILE},
        "figures": dict.fromkeys(FIGURES, figure),
        "gallery": "gallery/index.html",
    }  # fmt: skip
    return render_page(facts | changed)


def test_hostile_texts_stay_text() -> None:
    tags = _Tags()
    tags.feed(page().replace("window.vega", "window_vega"))
    assert {tag for tag, _ in tags.found} & {"img", "iframe", "link", "object"} == set()
    assert [tag for tag, _ in tags.found].count("script") == len(FIGURES) + 2  # the specs; Vega, what draws
    assert not any(name.startswith("on") for _, attributes in tags.found for name in attributes)
    assert "{{ 7*7 }}" in page()


def test_the_data_of_a_plot_come_back_as_they_were() -> None:
    assert data_of_plot(page(), "scores-1") == ROWS


def test_the_page_may_load_nothing() -> None:
    assert "default-src 'none'" in page()
    tags = _Tags()
    tags.feed(page())
    assert not any(
        attributes.get(name) for tag, attributes in tags.found for name in ("src", "data", "action")
    )
    links = {attributes["href"] for tag, attributes in tags.found if tag == "a"}
    assert {link for link in links if link and not link.startswith("#")} == {"gallery/index.html"}
    ids = {attributes.get("id") for _, attributes in tags.found}
    assert {link[1:] for link in links if link and link.startswith("#")} <= ids


def test_columns_of_numbers_are_known() -> None:
    table = Table("", ["name", "value", "sign", "none"], [["a", "1.5", "-2", ""], ["b", "", "+3", ""]])
    assert [table.is_number(column) for column in range(4)] == [False, True, True, False]


def test_a_spec_is_small_beside_its_rows() -> None:
    rows = [{"run_id": "a-long-name-of-a-run", "value": n / 7} for n in range(1_000)]
    figure = Figure(Plot({"data": {"values": rows}}), "")
    assert len(figure.spec) < len(json.dumps(rows)) / 3
    assert pd.DataFrame(rows)["value"].sub(json.loads(figure.spec)["data"]["value"]).abs().max() < 1e-2
