"""Our labeling configs and tasks in the hands of the real label-studio-sdk."""

import warnings
from typing import Any

import pandas as pd
import pytest

from fire_toolkit.campaign.task_json import tasks_to_json
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import check_items, check_pool, check_queries


@pytest.fixture(params=list_guidelines())
def guideline(request: pytest.FixtureRequest) -> Guideline:
    return read_guideline(request.param)


@pytest.fixture
def interface(guideline: Guideline) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the SDK's own imports warn of
        from label_studio_sdk.label_interface import LabelInterface
    return LabelInterface(guideline.label_config)


def answer(guideline: Guideline, control: str, *choices: str) -> dict[str, Any]:
    result = {"from_name": control, "to_name": guideline.data_keys[-1], "type": "choices"}
    return {"result": [{**result, "value": {"choices": list(choices)}}]}


def test_the_sdk_finds_the_controls_and_objects(interface: Any, guideline: Guideline) -> None:
    assert {control.name for control in interface.controls} == {"relevance", "flags", "comment"}
    assert {item.name for item in interface.objects} == set(guideline.data_keys)
    assert interface.is_valid


def test_the_sdk_takes_our_tasks_and_misses_what_is_taken_away(interface: Any, guideline: Guideline) -> None:
    pool = check_pool(pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["v1", "v1"]}))
    queries = check_queries(pd.DataFrame({"query_id": ["q1", "q2"], "text": ["a dog", '"quoted", <b>é</b>']}))
    queries["reference"] = "v2"  # composed queries start from an item
    items = check_items(
        pd.DataFrame({"doc_id": ["v1", "v2"], "media_url": ["v1", "v2"], "text": "a <b>text</b>"})
    )
    tasks = tasks_to_json(make_tasks(pool, queries, items=items, guideline=guideline), guideline)[1]
    assert [interface.validate_task(task) for task in tasks] == [True, True]
    content = {key: value for key, value in tasks[0]["data"].items() if key != guideline.data_keys[-1]}
    assert not interface.validate_task({"data": content})


def test_the_sdk_takes_every_label_and_flag_and_no_other(interface: Any, guideline: Guideline) -> None:
    for label in guideline.grades:
        assert interface.validate_prediction(answer(guideline, "relevance", label), return_errors=True) == []
    flag = answer(guideline, "flags", guideline.flags[0].name)
    assert interface.validate_prediction(flag, return_errors=True) == []
    for control, choice in (("relevance", "sensitive"), ("relevance", "Relevant"), ("flags", "relevant")):
        errors = interface.validate_prediction(answer(guideline, control, choice), return_errors=True)
        assert len(errors) == 1
        assert choice in errors[0]
