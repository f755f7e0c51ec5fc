"""Tasks as Label Studio imports them hold caption, item and key, and nothing else."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.campaign.task_json import task_lines, tasks_to_json
from fire_toolkit.campaign.tasks import make_tasks, split_pair_id
from fire_toolkit.errors import JoinError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import Tasks, check_pool, check_queries

VIDEO = read_guideline("caption-relevance-v1")
IMAGE = read_guideline("caption-image-relevance-v1")


def tasks_of(n: int, overlap: float = 0.5) -> Tasks:
    docs = [f"v{number}" for number in range(n)]
    pool = check_pool(
        pd.DataFrame({"query_id": "q", "doc_id": docs, "best_rank": 1, "n_runs": 2, "is_original": True})
    )
    queries = check_queries(pd.DataFrame({"query_id": ["q"], "text": ["a dog"]}))
    return make_tasks(pool, queries, guideline=VIDEO, overlap=overlap)


def test_a_task_has_three_keys_and_no_more() -> None:
    batches = tasks_to_json(tasks_of(1), VIDEO)
    key = batches[1][0]["data"]["pair_id"]
    assert batches[1] == [{"data": {"caption": "a dog", "video": "v0", "pair_id": key}}]
    assert split_pair_id(key) == ("q", "v0")


def test_a_later_round_stands_beside_what_annotators_see() -> None:
    (first,) = tasks_to_json(tasks_of(1), VIDEO)[1]
    (again,) = tasks_to_json(Tasks(tasks_of(1).assign(round=2)), VIDEO)[1]
    assert again == first | {"meta": {"round": 2}}


def test_batches_and_positions_are_kept() -> None:
    tasks = tasks_of(9)
    batches = tasks_to_json(tasks, VIDEO)
    assert {number: len(batch) for number, batch in batches.items()} == {1: 9, 2: 5}
    found = [task["data"]["pair_id"] for number in (1, 2) for task in batches[number]]
    assert found == list(tasks["pair_id"])


def test_no_tasks_give_an_empty_first_batch() -> None:
    assert tasks_to_json(tasks_of(0), VIDEO) == {1: []}


def test_tasks_for_another_guideline_are_refused() -> None:
    with pytest.raises(
        JoinError, match="made for guideline caption-relevance-v1, not for caption-image-relev"
    ):
        tasks_to_json(tasks_of(1), IMAGE)


captions = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
asked = st.tuples(captions, st.sampled_from([1, 2, 3]), st.booleans())


@given(st.lists(asked, min_size=1, max_size=6), st.sampled_from([VIDEO, IMAGE]))
def test_lines_are_the_json_of_each_task(rows: list[tuple[str, int, bool]], guideline: Guideline) -> None:
    tasks = Tasks(
        pd.DataFrame(
            {
                "batch": [1 + (doubled and n > 0) for n, (_, _, doubled) in enumerate(rows)],
                "text": pd.array([text for text, _, _ in rows], dtype="str"),
                "media_url": pd.array([f"v.mp4?{text}" for text, _, _ in rows], dtype="str"),
                "pair_id": pd.array([f"k{n}" for n in range(len(rows))], dtype="str"),
                "round": [number for _, number, _ in rows],
                "guideline": guideline.name,
            }
        )
    )
    listed = tasks_to_json(tasks, guideline)
    lines = {n: ",\n".join(json.dumps(t, ensure_ascii=False) for t in batch) for n, batch in listed.items()}
    assert {n: f"[\n{text}\n]\n" for n, text in lines.items()} == {
        n: content.decode() for n, content in task_lines(tasks, guideline).items()
    }


def test_no_tasks_are_an_empty_list() -> None:
    assert task_lines(tasks_of(1).iloc[:0], VIDEO) == {1: b"[]\n"}  # type: ignore[arg-type]
