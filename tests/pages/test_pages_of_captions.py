"""A campaign whose pages have several captions, from the tasks to a further round."""

from pathlib import Path

import pandas as pd
import pytest
from page_site import make_workspace, office_of, run
from test_answer_files import answer, content_of, save

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.formats.tables.guideline_files import read_guideline


@pytest.fixture
def root(here: Path) -> Path:
    """8 pairs on 2 clips and a control on each; one of the two pages of tasks is judged twice."""
    make_workspace(here, captions="10")
    return here


def judge(root: Path, name: str, label: str) -> None:
    """Give everything on an annotator's written page one label, a second each, and import it."""
    run("page", "write", name)
    content = content_of(root, name)
    rows = [
        (caption["task"], page["id"], place)
        for page in content["pages"]
        for place, caption in enumerate(page["captions"], start=1)
    ]
    records = [
        answer(n, task, label, page=page, position=place, seconds=2.0)
        for n, (task, page, place) in enumerate(rows, start=1)
    ]
    run("import", save(root / "exports" / f"{name}-{len(rows)}.jsonl", content["head"], records))


@pytest.mark.slow
def test_pages_stay_together_through_a_campaign_and_make_new_ones(root: Path) -> None:
    (entry,) = Rounds(root)
    assert entry.n_captions == 10
    held = entry.assignments.merge(entry.tasks[["pair_id", "media_url"]], on="pair_id")
    votes = held[held["kind"] != "control"]
    assert sorted(votes.groupby(["annotator_id", "media_url"]).size()) == [4, 4, 4]
    assert (votes.groupby(["media_url", "pair_id"]).size().groupby("media_url").nunique() == 1).all()
    judge(root, "A01", "relevant")
    judge(root, "A02", "irrelevant")
    judgments = pd.read_csv(root / "judgments" / "judgments.csv")
    assert len(judgments) == 12
    assert (judgments["page_s"] == 10).all()  # four tasks and a control, 2 s each
    assert (judgments["duration_s"] == 2).all()
    said = run("agree").stderr
    assert "several captions were judged on one page (3 pages); such answers are not independent" in said
    assert "intervals draw items whole; mean place of positives 0.500, 0.500 by chance (p nan)" in said
    run("resolve")
    run("next-round", "--annotator", "A03")
    later = Rounds(root)[1]
    assert later.n_captions == 10
    run("page", "write", "A03")
    (page,) = content_of(root, "A03")["pages"]
    assert len(page["captions"]) == 4  # the four disputed pairs of the doubled item


def test_a_page_half_answered_in_its_file_asks_the_other_half_alone(root: Path) -> None:
    run("page", "write", "A01")
    content = content_of(root)
    page = content["pages"][0]
    first, second, *others = [caption["task"] for caption in page["captions"]]
    records = [answer(n, task, page=page["id"], position=n) for n, task in [(1, first), (2, second)]]
    run("import", save(root / "exports" / "a.jsonl", content["head"], records))
    with office_of(root, read_guideline("caption-relevance-v1")) as (office, name):
        state = office.state(name)
        assert [caption["task"] for caption in state["page"]["captions"]] == others
        assert state["page"]["id"] != page["id"]  # its seconds are not those of the first look
        assert state["next"]["id"] == content["pages"][1]["id"]
        whole = sum(len(each["captions"]) for each in content["pages"])
        assert (state["done"], state["total"]) == (0, whole - 2)
    run("page", "write", "A01")
    assert [caption["task"] for caption in content_of(root)["pages"][0]["captions"]] == others
