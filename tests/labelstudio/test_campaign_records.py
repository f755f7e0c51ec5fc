"""What a campaign keeps in its workspace, and the small texts it makes."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas.testing as pdt
import pytest
from campaigns import CAMPAIGN, GUIDELINE, round_of, tasks_of

from fire_toolkit.campaign.records import (
    QueueName,
    queue_named,
    read_campaign,
    read_rounds,
    write_campaign,
    write_round,
)
from fire_toolkit.campaign.task_files import read_task_files
from fire_toolkit.campaign.task_json import tasks_to_json
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.labelstudio.projects import config_difference, marked_queue, project_mark, project_settings


def test_round_and_campaign_are_read_as_they_were_written(tmp_path: Path) -> None:
    entry = round_of(tasks_of(5, overlap=0.4), controls=tasks_of(2, prefix="c"))
    assert (read_rounds(tmp_path), read_campaign(tmp_path)) == ([], None)
    for _ in range(2):
        write_round(tmp_path, entry)
        write_campaign(tmp_path, CAMPAIGN)
    (found,) = read_rounds(tmp_path)
    for one, other in ((entry.tasks, found.tasks), (entry.assignments, found.assignments)):
        order = ["position", "pair_id"]
        pdt.assert_frame_equal(*(each.sort_values(order).reset_index(drop=True) for each in (one, other)))
    assert found.controls["relevance"].tolist() == [1, 1]
    assert read_campaign(tmp_path) == CAMPAIGN
    with pytest.raises(UsageError, match="another campaign has already begun here"):
        write_campaign(tmp_path, replace(CAMPAIGN, key="k2"))


def test_a_project_is_known_by_its_campaigns_mark_only() -> None:
    queue = QueueName(2, "A01")
    mark = project_mark(CAMPAIGN, queue)
    for words in (mark, f"Our notes. {mark}", f"{mark} and more"):
        assert marked_queue(CAMPAIGN, {"description": words}) == queue
    assert marked_queue(replace(CAMPAIGN, key="other"), {"description": mark}) is None
    assert marked_queue(CAMPAIGN, {"description": None}) is None
    assert queue_named(str(queue)) == queue
    assert [queue_named(text) for text in ("", "A01", "x/A01", "1/")] == [None] * 4


def test_titles_fit_label_studios_fifty_letters() -> None:
    assert len(project_settings(CAMPAIGN, QueueName(1, "A" * 60), GUIDELINE)["title"]) == 50


def test_the_whole_guideline_reaches_the_annotators() -> None:
    html, text = instructions_html(GUIDELINE.text), GUIDELINE.text
    for label in GUIDELINE.labels:
        assert f"<code>{label.name}</code>" in html
    assert (html.count("<tr>"), html.count("<h2>")) == (text.count("\n| "), text.count("\n## "))
    assert html.count("<li>") == len(re.findall(r"^(?:-|1?\d\.) ", text, re.M))


def test_markup_in_a_guideline_is_shown_and_not_obeyed() -> None:
    shown = "<p>a &lt;script&gt;b&lt;/script&gt; &amp; <code>&lt;i&gt;</code></p>"
    assert instructions_html("a <script>b</script> & `<i>`") == shown
    assert instructions_html("") == ""


def test_the_difference_of_pages_is_short() -> None:
    before = "<View>" + "".join(f'<Choice value="{n}"/>' for n in range(20)) + "</View>"
    assert config_difference(before, "<View/>").endswith("and 14 more")
    assert config_difference("<View/>", "no xml") == "gone: <View>; new: (no XML)"
    assert config_difference("<View><A/> x</View>", "<View><A/> y</View>") == "its texts or its order"


def test_task_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    tasks, path = tasks_of(5, overlap=0.4), tmp_path / "t.json"
    batches = tasks_to_json(tasks, GUIDELINE)
    path.write_text(json.dumps(batches[1]))
    (tmp_path / "t.overlap.json").write_text(json.dumps(batches[2]))
    pdt.assert_frame_equal(tasks, read_task_files(path, GUIDELINE))
    assert set(read_task_files(path, GUIDELINE, with_overlap=False)["batch"]) == {1}


GOOD = {"pair_id": "q|d", "caption": "c", "video": "v"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "expected a list of tasks"),
        ([1], r"task 1: no data\.pair_id"),
        ([{"data": {"pair_id": "q|d", "caption": "c"}}], "expected texts caption, video and pair_id"),
        ([{"data": {**GOOD, "pair_id": "?"}}], "is damaged or was made by another tool"),
        ([{"data": GOOD, "predictions": []}], "predictions would be visible to annotators"),
        ([{"data": {**GOOD, "caption": "\ud800"}}], r"t\.json: text contains half a character"),
        (None, r"t\.json:1: damaged or truncated JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: object, message: str) -> None:
    (tmp_path / "t.json").write_text(json.dumps(content) if content is not None else "[{")
    with pytest.raises(FireError, match=message):
        read_task_files(tmp_path / "t.json", GUIDELINE)
