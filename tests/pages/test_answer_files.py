"""Answers from written pages: each counts once, and a file that does not belong here is named."""

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import alter, has_answers
from page_site import HOSTILE, N_PAIRS, office_of, run
from records import read_ledger

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.formats.tables.guideline_files import read_guideline

LABELS = ("relevant", "irrelevant")


def content_of(root: Path, name: str = "A01") -> dict[str, Any]:
    """Return what a written page holds."""
    html = (root / "pages" / name / "judge.html").read_text()
    found = re.search(r'id="content">(.*?)</script>', html)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def tasks_of(content: dict[str, Any]) -> list[str]:
    return [caption["task"] for page in content["pages"] for caption in page["captions"]]


def answer(number: int, task: str, label: str = "relevant", **more: Any) -> dict[str, Any]:
    """Return a record as the page keeps it, of the second `number`."""
    record = {"n": number, "kind": "answer", "at": f"2026-11-22T10:00:{number:02}.000Z", "key": f"k{number}"}
    record |= {"task": task, "label": label, "flags": [], "comment": "", "seconds": 1.5, "page": ""}
    return record | {"position": 1} | more


def undo(number: int, task: str) -> dict[str, Any]:
    return {"n": number, "kind": "undo", "at": f"2026-11-22T10:00:{number:02}.000Z", "key": "u", "task": task}


def save(path: Path, head: dict[str, Any], records: list[dict[str, Any]]) -> str:
    """Write a file as the page saves it, and return its path."""
    body = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *records))
    end = {"records": len(records), "crc32": zlib.crc32(body.encode())}
    path.parent.mkdir(exist_ok=True)
    path.write_text(body + json.dumps(end) + "\n")
    return str(path)


@pytest.fixture
def page(root: Path) -> dict[str, Any]:
    run("page", "write")
    return content_of(root)


def given(root: Path) -> dict[str, str]:
    """Return the label of every answer in judgments.csv and of every control, by pair."""
    judged = pd.read_csv(root / "judgments" / "judgments.csv", keep_default_na=False)
    dropped = pd.read_csv(root / "judgments" / "dropped.csv", keep_default_na=False)
    rows = pd.concat([judged, dropped[dropped["reason"] == "control"]])
    assert not rows.duplicated(["annotator_id", "query_id", "doc_id"]).any()
    return dict(zip(rows["query_id"] + rows["doc_id"], rows["label"], strict=True))


def test_a_written_page_tells_caption_and_item_alone_to_one_person(root: Path, page: dict[str, Any]) -> None:
    pairs = Rounds(root)[0].assignments["pair_id"]
    html = (root / "pages" / "A01" / "judge.html").read_text().partition("<style>")[2]  # without its hashes
    for secret in (*pairs, "v0.webm", "v1.webm", "q8", "overlap"):
        assert secret not in html
    assert "<img src=x" not in html
    texts = [caption["text"] for each in page["pages"] for caption in each["captions"]]
    other = content_of(root, "A02")
    texts += [caption["text"] for each in other["pages"] for caption in each["captions"]]
    assert HOSTILE.replace("\r\n", " ") in texts
    assert not set(tasks_of(page)) & set(tasks_of(other))
    shown = {each["media"] for each in page["pages"]}
    assert {path.read_bytes() for path in (root / "pages" / "A01" / "media").iterdir()} == {b"a clip"}
    assert all((root / "pages" / "A01" / media).is_file() for media in shown)
    assert "'A07' has no tasks here; expected one of A01, A02" in run("page", "write", "A07", code=1).stderr


def test_every_answer_counts_once_whatever_file_comes_first(root: Path, page: dict[str, Any]) -> None:
    """The newer file goes on where the older one ended; an answer that was taken back is asked again."""
    tasks = tasks_of(page)
    records = [answer(n, task, LABELS[n % 2]) for n, task in enumerate(tasks, start=1)]
    later = [*records, undo(20, tasks[0]), answer(21, tasks[0], "ambiguous", comment=HOSTILE)]
    older = save(root / "exports" / "old.jsonl", page["head"], records[:3])
    newer = save(root / "exports" / "new.jsonl", page["head"], later)
    assert "8 new, 1 edited, 1 deleted" in run("import", newer).stderr
    found = given(root)
    assert len(found) == len(tasks) == N_PAIRS
    assert sorted(found.values()) == sorted(["ambiguous", *(LABELS[n % 2] for n in range(2, 9))])
    for again in (older, newer):
        assert "0 new, 0 edited, 0 deleted, 0 restored" in run("import", again).stderr
    assert given(root) == found
    assert len(read_ledger(root / "campaign.sqlite")) == 10


def test_a_browsers_clock_that_was_set_back_eats_no_correction(root: Path, page: dict[str, Any]) -> None:
    task = tasks_of(page)[0]
    records = [answer(30, task), undo(20, task), answer(10, task, "irrelevant")]
    save(root / "exports" / "one.jsonl", page["head"], records[:1])
    run("import")
    save(root / "exports" / "one.jsonl", page["head"], records)
    run("import")
    assert list(given(root).values()) == ["irrelevant"]
    assert "0 new, 0 edited, 0 deleted, 0 restored" in run("import").stderr


def test_files_of_two_people_and_the_page_are_one_campaign(root: Path, page: dict[str, Any]) -> None:
    for name in ("A01", "A02"):
        content = content_of(root, name)
        rows = [answer(n, task) for n, task in enumerate(tasks_of(content), start=1)]
        save(root / "exports" / f"{name}.jsonl", content["head"], rows)
    assert "16 new" in run("import").stderr
    assert "0 new" in run("pull").stderr
    judged = pd.read_csv(root / "judgments" / "judgments.csv")
    assert len(judged) == 12  # 8 pairs, half of them twice
    assert set(judged["kind"]) == {"task", "overlap"}
    assert set(judged["duration_s"]) == {1.5}


def test_what_was_answered_in_a_file_or_on_the_page_is_asked_on_neither_again(
    root: Path, page: dict[str, Any]
) -> None:
    tasks = tasks_of(page)
    with office_of(root, read_guideline("caption-relevance-v1")) as (office, name):
        assert office.state(name)["total"] == len(tasks)
        records = [answer(n, task) for n, task in enumerate(tasks[:3], start=1)]
        run("import", save(root / "exports" / "a.jsonl", page["head"], records))
        state = office.opened(name)
        assert (state["done"], state["total"]) == (0, len(tasks) - 3)
        (caption,) = state["page"]["captions"]
        sent = {"task": caption["task"], "label": "relevant", "flags": [], "comment": "", "seconds": 1.0}
        office.act("answer", name, {"who": name, "key": "one", **sent})
    run("page", "write", "A01")
    assert set(tasks_of(content_of(root))) == {*tasks[3:]} - {caption["task"]}
    run("pull")
    with office_of(root, read_guideline("caption-relevance-v1")) as (office, name):
        state = office.act("undo", name, {"who": name, "key": "two"})
        assert (state["done"], state["total"]) == (0, len(tasks) - 3)


FOREIGN: dict[str, tuple[object, str]] = {
    "campaign": ("another", "answers of campaign another, this one is"),
    "annotator": ("A07", "expected one of A01, A02"),
    "guideline_sha256": ("0" * 64, "judged by guideline caption-relevance-v1 (000000000000), which"),
    "version": (2, "written in version 2, this reads version 1"),
}
WRONG: list[dict[str, object]] = [{"label": "maybe"}, {"seconds": -1}, {"at": "noon"}, {"kind": "guess"}]
WRONG += [{"task": 7}, {"position": 0}]


def test_a_file_that_is_foreign_or_not_whole_is_refused(root: Path, page: dict[str, Any]) -> None:
    path = root / "answers.jsonl"
    records = [answer(n, task) for n, task in enumerate(tasks_of(page), start=1)]
    for part, (value, words) in FOREIGN.items():
        file = save(path, page["head"] | {part: value}, records[:1])
        assert words in run("import", file, code=1).stderr
    for wrong in WRONG:
        file = save(path, page["head"], [records[0], records[1] | wrong])
        assert "answers.jsonl:3: " in run("import", file, code=1).stderr, wrong
    whole = Path(save(path, page["head"], records)).read_bytes()
    for cut in (200, whole.rfind(b"\n", 0, -1), len(whole) - 3):
        path.write_bytes(whole[:cut])
        assert "cut short or changed" in run("import", str(path), code=1).stderr
    path.write_bytes(whole.replace(b'"relevant"', b'"ambiguous"', 1))
    assert "cut short or changed" in run("import", str(path), code=1).stderr
    assert not has_answers(root)
    path.write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n"))
    assert "8 new" in run("import", str(path)).stderr


def test_answers_to_a_changed_caption_are_left_out_and_told(root: Path, page: dict[str, Any]) -> None:
    records = [answer(n, task) for n, task in enumerate(tasks_of(page), start=1)]
    file = save(root / "answers.jsonl", page["head"], records)
    text = page["pages"][0]["captions"][0]["text"]
    alter(root, "update asked set text = 'something else' where text = ?", text)
    told = run("import", file).stderr
    assert "7 new" in told
    assert "1 answers left out: their captions have changed" in told
