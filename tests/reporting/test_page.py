"""The page is one file, and whatever stands in a text stays text."""

import json
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from reports import data_of_plot
from small_world import World, make_run

from fire_toolkit.inference.background import Background
from fire_toolkit.reporting.methods import MethodFacts
from fire_toolkit.reporting.page import ON_PAGE, Figure, figures_of, render_page
from fire_toolkit.reporting.plots import Plot
from fire_toolkit.reporting.study import Study, Told
from fire_toolkit.tables import check_judgments, check_pool_sources, check_queries

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \u202e العربية {{ 7*7 }} &amp;"
ID = HOSTILE.replace(" ", "_").replace("\u202e", "")  # ids have no white space or control characters
Tags = list[tuple[str, dict[str, str | None]]]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: Tags = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def study() -> Study:
    """A study in which every name and text is hostile."""
    world = World(0)
    docs: dict[str, dict[str, float]] = {}
    for row in world.runs.itertuples():
        if row.run_id == "r1":
            docs.setdefault(str(row.query_id), {})[str(row.doc_id)] = float(row.score)
    runs = [make_run(docs, ID), make_run({query: dict(zip(own, range(99), strict=False))
                                          for query, own in docs.items()}, "r2")]  # fmt: skip
    answers = world.labels[["query_id", "doc_id", "label"]].assign(annotator_id="someone")
    answers = pd.concat([answers, answers.assign(annotator_id=ID)])
    return Study(
        runs=runs,
        original=world.original,
        augmented=world.augmented,
        labels=world.labels,
        background=Background(),
        queries=check_queries(world.original[["query_id"]].assign(text=HOSTILE)),
        tops=runs,
        sources=check_pool_sources(world.sources.assign(run_id=ID).drop_duplicates(["query_id", "doc_id"])),
        judgments=check_judgments(answers),
        grades={"relevant": 1, "irrelevant": 0},
        told=Told(HOSTILE, {}, HOSTILE, MethodFacts(study={"pay": HOSTILE}), {HOSTILE: HOSTILE},
                  measures=["C@1", "AP"], gallery="gallery/index.html"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def figures(study: Study) -> Mapping[str, Figure]:
    return figures_of(study, ON_PAGE)


@pytest.fixture(scope="module")
def page(study: Study, figures: Mapping[str, Figure]) -> str:
    return render_page(study, figures, title=HOSTILE, subtitle=HOSTILE)


def _tags(page: str) -> Tags:
    tags = _Tags()
    tags.feed(page.replace("window.vega", "window_vega"))
    return tags.found


@pytest.fixture(scope="module")
def found(page: str) -> Tags:
    """The tags of the page, a megabyte that is slow to read."""
    return _tags(page)


def test_hostile_texts_stay_text_and_nothing_is_loaded(
    figures: Mapping[str, Figure], page: str, found: Tags
) -> None:
    tags = [tag for tag, _ in found]
    assert set(tags) & {"img", "iframe", "link", "object"} == set()
    assert tags.count("script") == len(figures) + 2  # the specs; Vega, what draws
    assert not any(name.startswith("on") for _, attributes in found for name in attributes)
    assert "{{ 7*7 }}" in page
    assert len(figures) == 10
    assert "default-src 'none'" in page
    assert not any(attributes.get(name) for _, attributes in found for name in ("src", "data", "action"))
    links = {attributes["href"] for tag, attributes in found if tag == "a"}
    assert {link for link in links if link and not link.startswith("#")} == {"gallery/index.html"}
    ids = {attributes.get("id") for _, attributes in found}
    assert {link[1:] for link in links if link and link.startswith("#")} <= ids


def test_the_data_of_a_plot_come_back_as_they_were(figures: Mapping[str, Figure], page: str) -> None:
    shown = pd.DataFrame(data_of_plot(page, "scores-1"))
    rows = pd.DataFrame(figures["scores"].plot["data"]["values"])
    assert set(shown["run_id"]) == {ID, "r2"}
    pd.testing.assert_frame_equal(shown, rows, check_dtype=False, rtol=1e-4)


def test_one_run_has_a_report_without_what_two_would_have(study: Study) -> None:
    told: Any = replace(study.told, gallery="")
    alone = replace(study, runs=study.runs[:1], tops=(), sources=None, told=told)
    page = render_page(alone, figures_of(alone, ON_PAGE), title="", subtitle="see `pool`")
    assert "see <code>pool</code>." in page
    ids = {attributes.get("id") for _, attributes in _tags(page)}
    assert not ids & {"differences", "order", "overlap", "found-1"}
    assert {"scores-1", "length-1", "judged-share-1", "annotators"} <= ids


def test_more_than_a_dozen_annotators_are_folded_and_no_column_stands_empty(
    study: Study, figures: Mapping[str, Figure], page: str
) -> None:
    """The 60 of FIRE's size made 6,200 pixels of a page of three models."""
    assert '<th scope="row">annotator 2</th>' in page
    assert "annotators</summary>" not in page
    assert "seconds" not in page.partition("\n<script>")[0]  # nobody's are known
    answers = study.labels[["query_id", "doc_id", "label"]].assign(duration_s=2.0)
    judged = check_judgments(pd.concat([answers.assign(annotator_id=f"ann{n}") for n in range(13)]))
    many = render_page(replace(study, judgments=judged), figures, title="", subtitle="")
    folded = many.partition('<details class="more"><summary>Each of 13 annotators</summary>')[2]
    assert "<td>2.0</td>" in folded.partition("</details>")[0]


def test_images_as_queries_have_no_captions_whose_length_would_matter(study: Study) -> None:
    pictures = replace(study, queries=check_queries(study.queries.assign(text="")))
    assert set(figures_of(study, ON_PAGE)) - set(figures_of(pictures, ON_PAGE)) == {"length", "flips-length"}


def test_a_spec_is_small_beside_its_rows() -> None:
    rows = [{"run_id": "a-long-name-of-a-run", "value": n / 7} for n in range(1_000)]
    packed = Plot({"data": {"values": rows}}).packed
    assert len(packed) < len(json.dumps(rows)) / 3
    few = Plot({"data": {"values": [{"verdict": each, "p": 1.0} for each in "abba"]}}).packed
    assert '"verdict":{"of":["a","b"],"at":"0110"},"p":[1,1,1,1]' in few
    assert pd.DataFrame(rows)["value"].sub(json.loads(packed)["data"]["value"]).abs().max() < 1e-2
