"""Judgments from the ledger carry the round and kind of the answer that counts."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.campaign import ledger_judgments, progress
from fire_toolkit.campaign.exports import vote_table
from fire_toolkit.campaign.ledger import ANSWERED, LEDGER, Ledger, check_ledger, row_id
from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
from fire_toolkit.errors import FireError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.model import Guideline


def row(number: int, queue: str, day: int, labels: list[str]) -> dict[str, str]:
    key, moment = f"u{number}", f"2026-01-0{day}T00:00:00.000000Z"
    result = [{"from_name": "relevance", "value": {"choices": labels}}]
    answer = {"id": number, "unique_id": key, "completed_by": 1, "updated_at": moment, "result": result}
    values = {"source": "s", "project": "1", "annotation": key, "updated_at": moment, "state": ANSWERED}
    values |= {"seen_at": moment, "pair_id": "q|d", "task": "5", "queue": queue, "annotator_id": "A01"}
    identity = row_id("s", "1", key, moment, ANSWERED, moment)
    return {"row_id": identity, **values, "answer": json.dumps(answer)}


def test_a_later_answer_that_is_not_a_vote_lends_its_round_to_no_judgment() -> None:
    rows = [row(1, "1/A01", 1, ["relevant"]), row(2, "2/A01", 2, ["relevant", "irrelevant"])]
    ledger = check_ledger(pd.DataFrame(rows, columns=list(LEDGER.names)))
    found = ledger_to_judgments(ledger, [], guideline=read_guideline("caption-relevance-v1"))
    assert found.judgments[["label", "round"]].values.tolist() == [["relevant", 1]]
    assert found.dropped["reason"].tolist() == ["several_labels"]


RELEVANT = {
    "from_name": "relevance",
    "type": "choices",
    "origin": "manual",
    "value": {"choices": ["relevant"]},
}
SEVERAL = {**RELEVANT, "value": {"choices": ["relevant", "irrelevant"]}}
EMPTY = {**RELEVANT, "value": {"choices": [""]}}
REMARK = {"from_name": "comment", "type": "textarea", "value": {"text": ["blurred"]}}
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "result": st.sampled_from([[], [SEVERAL], [EMPTY], [RELEVANT, REMARK]]),
        "lead_time": st.sampled_from([None, 4.5, -1, 1e300]),
        "updated_by": st.sampled_from([None, 1, 2]),
        "completed_by": st.sampled_from([None, 1]),
        "unique_id": st.sampled_from(["", None]),
        "created_at": st.sampled_from(["", "2026-01-01", "2026-01-01T00:00:00.000000Z"]),
        "was_cancelled": st.booleans(),
        "page": st.just("p1"),
        "position": st.just(1),
        "elsewhere": st.just("x"),
    },
)
ANSWER = st.tuples(
    st.integers(1, 9), st.sampled_from(["q|d", "q2|d", ""]), st.sampled_from(["A01", "A02", ""]), CHANGES
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(ANSWER, max_size=6))
def test_plain_votes_are_read_as_all_answers_are(given_answers: list[tuple[int, str, str, dict]]) -> None:
    rows = []
    for number, (day, pair, name, changes) in enumerate(given_answers):
        if "page" in changes:
            changes = {"position": 1, **changes}
        base = row(number, "1/A01" if number % 2 else "", day, [])
        moment = base["updated_at"]
        content = {"created_at": moment, "lead_time": 3.0, **json.loads(base["answer"]), "result": [RELEVANT]}
        rows.append(base | {"pair_id": pair, "annotator_id": name, "answer": json.dumps(content | changes)})
    ledger = check_ledger(pd.DataFrame(rows, columns=list(LEDGER.names), dtype="str"))
    guideline = read_guideline("caption-relevance-v1")
    found = said(ledger, guideline), labels(ledger)
    with pytest.MonkeyPatch.context() as patch:
        for module in (ledger_judgments, progress):
            patch.setattr(module, "plain_votes", lambda *columns: vote_table([]))
        assert found == (said(ledger, guideline), labels(ledger))


def labels(ledger: Ledger) -> dict[object, str]:
    return {key: answer.label for key, answer in progress._answers_by_queue(ledger, []).items()}


def said(ledger: Ledger, guideline: Guideline) -> tuple[str, ...]:
    try:
        found = ledger_to_judgments(ledger, [], guideline=guideline)
    except FireError as error:
        return (str(error),)
    return (found.judgments.to_csv(), found.dropped.to_csv(), *found.notes)
