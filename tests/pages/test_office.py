"""What is behind the page: it goes on record by record, and an answer costs the same in any queue."""

import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from command import rows
from page_site import make_workspace, office_of, run

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.campaign.store import Store
from fire_toolkit.cli import push
from fire_toolkit.errors import FireError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.pages import office as offices
from fire_toolkit.pages.office import Office, Refused

RULES = read_guideline("caption-relevance-v1")


def waiting(state: dict[str, Any]) -> list[str]:
    captions = state["page"]["captions"] if state["page"] else []
    return [each["task"] for each in captions if each["label"] is None]


def answered(office: Office, name: str, key: str, label: str = "relevant", **more: object) -> None:
    (task, *_) = waiting(office.state(name))
    content = {"task": task, "label": label, "flags": [], "comment": "", "seconds": 1.0, **more}
    office.act("answer", name, {"who": name, "key": key, **content})


def n_steps(ask: Callable[[], None]) -> int:
    """Return how often Python went to a line of the page's modules, or on with a loop in it."""
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        if "/pages/" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        ask()
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("captions", ["1", "3"])
def test_the_page_goes_on_as_one_that_is_opened_anew(here: Path, captions: str) -> None:
    make_workspace(here, captions=captions, n_pairs=24)
    chance, campaign = random.Random(0), Rounds(here).campaign
    assert campaign is not None
    with office_of(here, RULES) as (office, name):
        for step in range(60):
            what = chance.choice(["relevant", "irrelevant", "relevant", "", "undo", "named"])
            state = office.state(name)
            if what in ("undo", "named"):
                last = [each["task"] for each in state["last"]]
                task = chance.choice(last) if last and what == "named" else ""
                office.act("undo", name, {"who": name, "key": f"k{step}", "task": task})
            elif waiting(state):
                answered(office, name, f"k{step}", what)
            anew = Office(here, campaign, RULES, office._store, consent="agreed", files=office._files)
            assert anew.state(name) == office.state(name)
        with pytest.raises(Refused, match="no such task"):
            office.act("answer", name, {"who": name, "key": "x", "task": "?", "label": "", "flags": []})


def test_an_answer_takes_no_longer_in_a_long_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for n_pairs in (40, 400):
        root = tmp_path / str(n_pairs)
        root.mkdir()
        monkeypatch.chdir(root)
        make_workspace(root, n_pairs=n_pairs)
        with office_of(root, RULES) as (office, name):
            for number in range(8):
                answered(office, name, f"k{number}")
            found.append(n_steps(lambda: answered(office, name, "last")))
    assert found[0] == found[1]


def test_half_a_character_or_any_number_in_an_answer_stops_nobodys_judgments(root: Path) -> None:
    with office_of(root, RULES) as (office, name):
        answered(office, name, "half", comment="\ud83d cut")
        answered(office, name, "number", seconds=10**400)
        answered(office, name, "plain")
    assert "3 new" in run("pull").stderr
    found = rows(root / "judgments" / "judgments.csv") + rows(root / "judgments" / "dropped.csv")
    assert len(found) == 3
    with Store(root / "campaign.sqlite") as store:
        said = store.select("select comment, duration_s from counted join said using (number)")
    assert sorted(said) == [("", 1.0), ("", 86400.0), ("cut", 1.0)]


def test_a_report_is_kept_whole_or_not_at_all(root: Path) -> None:
    with office_of(root, RULES) as (office, name):
        before = office.state(name)
        stop = 'when new.record like \'%"n":3,%\' begin select raise(abort, "stopped"); end'
        office._store.select(f"create trigger stop before insert on page {stop}")
        with pytest.raises(FireError, match="stopped"):
            answered(office, name, "report", "")
        assert [record["kind"] for record in office._store.page_records()] == ["consent"]
        assert office.state(name) == before
        office._store.select("drop trigger stop")
        answered(office, name, "report", "")
        found = office._store.page_records()
        assert [record["n"] for record in found] == [*range(1, len(found) + 1)]
        assert len({record["at"] for record in found}) == len(found) > 2


def correct(root: Path, text: str) -> None:
    """Correct the captions, and make the tasks again."""
    (root / "collection/queries.tsv").write_text(text)
    (root / "collection/manifest.json").unlink(missing_ok=True)
    assert "captions or addresses have changed" in run("tasks").stderr


def next_pair(office: Office, name: str) -> dict[str, Any]:
    """Answer the controls, which are in no file of tasks, until another caption is shown."""
    plain = {f"caption {n}" for n in range(1, 8)}
    while (shown := office.state(name)["page"]["captions"][0])["text"] not in plain:
        answered(office, name, shown["task"])
    return dict(shown)


def test_a_corrected_caption_is_shown_from_then_on_unless_it_was_answered(root: Path) -> None:
    before = (root / "collection/queries.tsv").read_text()
    with office_of(root, RULES) as (office, name):
        given = next_pair(office, name)["text"]
        answered(office, name, "a vote")  # and nothing was pulled
        correct(root, before.replace(given, "another caption"))
        refused = run("push", code=1).stderr
        assert "1 tasks have another caption or media_url now, and 1 of them were answered already" in refused
        shown = next_pair(office, name)
        correct(root, before.replace(shown["text"], "a corrected caption"))
        run("push")
        with pytest.raises(Refused, match="no such task"):
            office.act("answer", name, {"who": name, "key": "old", "task": shown["task"]})
        assert office.state(name)["page"]["captions"][0]["text"] == "a corrected caption"


def test_an_answer_in_the_moment_of_a_correction_is_not_kept_or_stops_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, begin = (root / "collection/queries.tsv").read_text(), push.begin
    with office_of(root, RULES) as (office, name):
        correct(root, before.replace(next_pair(office, name)["text"], "a corrected caption"))
        keep, seen = office._store.add_page_records, office.state(name)["done"]
        with monkeypatch.context() as patched:
            patched.setattr(office._store, "add_page_records", lambda *of, **c: (run("push"), keep(*of, **c)))
            with pytest.raises(Refused, match="not the current one"):
                answered(office, name, "too late")
        shown = office.state(name)
        assert (shown["done"], shown["page"]["captions"][0]["text"]) == (seen, "a corrected caption")
        correct(root, before.replace("caption 7", "once more"))

        def answer_first(*given: Any) -> None:
            while waiting(state := office.state(name)):
                answered(office, name, str(state["done"]))
            begin(*given)

        monkeypatch.setattr(push, "begin", answer_first)
        assert "were answered already" in run("push", code=1).stderr


def test_a_clock_that_was_ahead_is_ahead_for_its_own_answers_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with office_of(root, RULES) as (office, name), monkeypatch.context() as patched:
        patched.setattr(offices, "time_now", lambda: "2099-01-01T00:00:00.000000Z")
        answered(office, name, "ahead")
        patched.undo()
        office.act("undo", name, {"who": name, "key": "back"})
        answered(office, name, "again", "irrelevant")
        answered(office, name, "another")
        years = [record["at"][:4] for record in office._store.page_records()[-4:]]
        assert [year == "2099" for year in years] == [True, True, True, False]
    run("pull")
    found = rows(root / "judgments/judgments.csv") + rows(root / "judgments/dropped.csv")
    assert max(found, key=lambda row: row["created_at"])["label"] == "irrelevant"
