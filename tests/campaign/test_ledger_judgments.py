"""Judgments from the ledger carry the round and kind of the answer that counts."""

import json

from records import record_of, rows_of

from fire_toolkit.campaign.ledger import ANSWERED, DELETED
from fire_toolkit.campaign.views import record_to_judgments, seen_by_all
from fire_toolkit.formats.tables.guideline_files import read_guideline


def row(number: int, queue: str, day: int, labels: list[str]) -> dict[str, str]:
    key, moment = f"u{number}", f"2026-01-0{day}T00:00:00.000000Z"
    result = [{"from_name": "relevance", "value": {"choices": labels}}]
    answer = {"id": number, "unique_id": key, "completed_by": 1, "updated_at": moment, "result": result}
    values = {"source": "s", "project": "1", "annotation": key, "updated_at": moment, "state": ANSWERED}
    values |= {"seen_at": moment, "pair_id": "q|d", "task": "5", "queue": queue, "annotator_id": "A01"}
    return {**values, "answer": json.dumps(answer)}


def test_a_later_answer_that_is_not_a_vote_lends_its_round_to_no_judgment() -> None:
    rows = [row(1, "1/A01", 1, ["relevant"]), row(2, "2/A01", 2, ["relevant", "irrelevant"])]
    with record_of(rows=rows_of(rows)) as store:
        found = record_to_judgments(store, guideline=read_guideline("caption-relevance-v1"))
    assert found.judgments[["label", "round"]].values.tolist() == [["relevant", 1]]
    assert found.dropped["reason"].tolist() == ["several_labels"]


def test_an_answer_whose_last_row_is_a_deletion_is_no_judgment() -> None:
    first = row(1, "1/A01", 1, ["relevant"])
    rows = [first, {**first, "state": DELETED, "seen_at": "2026-01-02T00:00:00.000000Z"}]
    with record_of(rows=rows_of(rows)) as store:
        found = record_to_judgments(store, guideline=read_guideline("caption-relevance-v1"))
    assert found.judgments.empty
    assert found.dropped["reason"].tolist() == [DELETED]


def test_an_answer_to_a_task_that_names_no_pair_is_of_none_that_people_have_seen() -> None:
    rows = [row(1, "1/A01", 1, ["relevant"]), {**row(2, "1/A01", 1, ["relevant"]), "pair_id": ""}]
    with record_of(rows=rows_of(rows)) as store:
        assert seen_by_all(store, ["A01"]).to_numpy().tolist() == [["q", "d"]]
        found = record_to_judgments(store, guideline=read_guideline("caption-relevance-v1"))
    assert found.dropped[["reason", "detail"]].to_numpy().tolist() == [
        ["no_pair", "annotation 2 at task 5 of project 1"]
    ]
