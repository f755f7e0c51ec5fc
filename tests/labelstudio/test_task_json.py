"""Tasks and pages as Label Studio has them: what they hold and refuse, also in the hands of its own SDK."""

import json
import re
import warnings
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import cases
from fire_toolkit.campaign.task_json import task_lines, tasks_to_json
from fire_toolkit.campaign.tasks import make_tasks, split_pair_id
from fire_toolkit.errors import FormatError, JoinError
from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Choices, Guideline
from fire_toolkit.tables import Tasks, check_items, check_pool, check_queries

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


XML = read_guideline("caption-relevance-v1").label_config


def test_headings_objects_choices_and_variables_are_read() -> None:
    config = parse_label_config(XML)
    assert config.headers == ("Does the caption describe this video?",)
    assert config.objects == {"caption": ("Text", "$caption"), "video": ("HyperText", "$video")}
    assert config.variables == ("caption", "video")
    assert config.controls == {"relevance": "Choices", "flags": "Choices", "comment": "TextArea"}
    hotkeys = {"relevant": "1", "irrelevant": "2", "ambiguous": "3"}
    assert config.choices["relevance"] == Choices("video", multiple=False, required=True, hotkeys=hotkeys)
    assert config.choices["flags"] == Choices(
        "video", multiple=True, required=False, hotkeys={"sensitive": "4"}
    )


def test_a_choice_is_known_by_its_alias_as_in_answers() -> None:
    xml = '<View><Choices name="c" toName="t"><Choice value="Yes!" alias="yes"/></Choices></View>'
    assert dict(parse_label_config(xml).choices["c"].hotkeys) == {"yes": ""}


@cases("xml", "complaint")
def test_a_config_that_cannot_be_meant_is_refused(xml: str, complaint: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_label_config(xml, where="project 7")
    assert str(error.value).startswith(f"project 7: {complaint}")


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_no_text_gives_another_error(xml: str) -> None:
    for function in (parse_label_config, config_sha256):
        with pytest.raises(FormatError):
            function(xml)


def test_the_hash_ignores_layout_and_sees_every_change_of_meaning() -> None:
    assert config_sha256(XML) == config_sha256(re.sub(r">\s+<", "><", XML))
    assert config_sha256(XML) == config_sha256(
        XML.replace('name="video" value="$video"', "value='$video' name='video'")
    )
    changed = [XML.replace("ambiguous", "unclear"), XML.replace("$video", "$clip"), XML.replace('"3"', '"5"')]
    assert len({config_sha256(xml) for xml in (XML, *changed)}) == 4


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
