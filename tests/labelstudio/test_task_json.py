"""Tasks as Label Studio imports them hold caption, item and key, and nothing else."""

import pandas as pd
import pytest

from fire_toolkit.errors import JoinError
from fire_toolkit.formats.guideline_files import read_guideline
from fire_toolkit.labelstudio.task_json import tasks_to_json
from fire_toolkit.tables import Tasks, check_pool, check_queries
from fire_toolkit.tasks import make_tasks, split_pair_id

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
