"""What a campaign keeps in its workspace, and the small texts it makes."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
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
from fire_toolkit.errors import FireError, FormatError, UsageError
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.labelstudio.projects import config_difference, marked_queue, project_mark, project_settings


def test_a_round_is_read_as_it_was_written(tmp_path: Path) -> None:
    entry = round_of(tasks_of(5, overlap=0.4), controls=tasks_of(2, prefix="c"))
    assert read_rounds(tmp_path) == []
    write_round(tmp_path, entry)
    write_round(tmp_path, entry)
    (found,) = read_rounds(tmp_path)
    for one, other in ((entry.tasks, found.tasks), (entry.assignments, found.assignments)):
        pd.testing.assert_frame_equal(
            one.sort_values(["position", "pair_id"]).reset_index(drop=True),
            other.sort_values(["position", "pair_id"]).reset_index(drop=True),
        )
    assert found.controls["relevance"].tolist() == [1, 1]


def test_a_campaign_keeps_its_key(tmp_path: Path) -> None:
    assert read_campaign(tmp_path) is None
    write_campaign(tmp_path, CAMPAIGN)
    write_campaign(tmp_path, CAMPAIGN)
    assert read_campaign(tmp_path) == CAMPAIGN
    with pytest.raises(UsageError, match="another campaign has already begun here"):
        write_campaign(tmp_path, replace(CAMPAIGN, key="k2"))


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "campaign.sqlite").write_text("{")
    with pytest.raises(FormatError, match=r"campaign\.sqlite: damaged"):
        read_campaign(tmp_path)


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
    html = instructions_html(GUIDELINE.text)
    for label in GUIDELINE.labels:
        assert f"<code>{label.name}</code>" in html
    assert html.count("<tr>") == GUIDELINE.text.count("\n| ")
    assert html.count("<h2>") == GUIDELINE.text.count("\n## ")
    assert html.count("<li>") == sum(
        line.startswith(("- ", *(f"{n}. " for n in range(1, 20)))) for line in GUIDELINE.text.split("\n")
    )


def test_markup_in_a_guideline_is_shown_and_not_obeyed() -> None:
    assert instructions_html("a <script>b</script> & `<i>`") == (
        "<p>a &lt;script&gt;b&lt;/script&gt; &amp; <code>&lt;i&gt;</code></p>"
    )
    assert instructions_html("") == ""


def test_the_difference_of_pages_is_short() -> None:
    before = "<View>" + "".join(f'<Choice value="{n}"/>' for n in range(20)) + "</View>"
    assert config_difference(before, "<View/>").endswith("and 14 more")
    assert config_difference("<View/>", "no xml") == "gone: <View>; new: (no XML)"
    assert config_difference("<View><A/> x</View>", "<View><A/> y</View>") == "its texts or its order"


def write_tasks(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_task_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    tasks = tasks_of(5, overlap=0.4)
    batches = tasks_to_json(tasks, GUIDELINE)
    path = write_tasks(tmp_path / "t.json", batches[1])
    write_tasks(tmp_path / "t.overlap.json", batches[2])
    pd.testing.assert_frame_equal(tasks, read_task_files(path, GUIDELINE))
    assert set(read_task_files(path, GUIDELINE, with_overlap=False)["batch"]) == {1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "expected a list of tasks"),
        ("[{", r"t\.json:1: damaged or truncated JSON"),
        ([1], r"task 1: no data\.pair_id"),
        ([{"data": {"pair_id": "q|d", "caption": "c"}}], "expected texts caption, video and pair_id"),
        (
            [{"data": {"pair_id": "?", "caption": "c", "video": "v"}}],
            "is damaged or was made by another tool",
        ),
        (
            [{"data": {"pair_id": "q|d", "caption": "c", "video": "v"}, "predictions": []}],
            "predictions would be visible to annotators",
        ),
        (
            [{"data": {"pair_id": "q|d", "caption": "a \ud800", "video": "v"}}],
            r"t\.json: text contains half a character",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(FireError, match=message):
        read_task_files(write_tasks(tmp_path / "t.json", content), GUIDELINE)
