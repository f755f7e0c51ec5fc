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
from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.campaign.task_json import task_lines, tasks_to_json
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.errors import FormatError, JoinError
from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Choices, Guideline
from fire_toolkit.tables import Tasks, check_items, check_pool, check_queries

VIDEO = read_guideline("caption-relevance-v1")
IMAGE = read_guideline("caption-image-relevance-v1")


def tasks_of(n: int, overlap: float = 0.5) -> Tasks:
    docs = [f"v{number}" for number in range(n)]
    told = {"best_rank": 1, "n_runs": 2, "is_original": True}
    pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": docs, **told}))
    queries = check_queries(pd.DataFrame({"query_id": ["q"], "text": ["a dog"]}))
    return make_tasks(pool, queries, guideline=VIDEO, overlap=overlap)


def test_a_task_has_three_keys_and_its_round_stands_beside_what_annotators_see() -> None:
    tasks = tasks_of(1)
    (first,), (again,) = (tasks_to_json(each, VIDEO)[1] for each in (tasks, Tasks(tasks.assign(round=2))))
    key = first["data"]["pair_id"]
    assert first == {"data": {"caption": "a dog", "video": "v0", "pair_id": key}}
    assert split_pair_id(key) == ("q", "v0")
    assert again == first | {"meta": {"round": 2}}


def test_batches_and_positions_are_kept() -> None:
    tasks = tasks_of(9)
    batches = tasks_to_json(tasks, VIDEO)
    assert {number: len(batch) for number, batch in batches.items()} == {1: 9, 2: 5}
    found = [task["data"]["pair_id"] for number in (1, 2) for task in batches[number]]
    assert found == list(tasks["pair_id"])
    assert tasks_to_json(tasks_of(0), VIDEO) == {1: []}


def test_tasks_for_another_guideline_are_refused() -> None:
    words = "made for guideline caption-relevance-v1, not for caption-image-relev"
    with pytest.raises(JoinError, match=words):
        tasks_to_json(tasks_of(1), IMAGE)


captions = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
asked = st.tuples(captions, st.sampled_from([1, 2, 3]), st.booleans())


@given(st.lists(asked, max_size=6), st.sampled_from([VIDEO, IMAGE]))
def test_lines_are_the_json_of_each_task(rows: list[tuple[str, int, bool]], guideline: Guideline) -> None:
    table = {
        "batch": [1 + (doubled and n > 0) for n, (_, _, doubled) in enumerate(rows)],
        "text": pd.array([text for text, _, _ in rows], dtype="str"),
        "media_url": pd.array([f"v.mp4?{text}" for text, _, _ in rows], dtype="str"),
        "pair_id": pd.array([f"k{n}" for n in range(len(rows))], dtype="str"),
        "round": [number for _, number, _ in rows],
        "guideline": guideline.name,
    }
    tasks = Tasks(pd.DataFrame(table))
    found = {n: content.decode() for n, content in task_lines(tasks, guideline).items()}
    for number, batch in tasks_to_json(tasks, guideline).items():
        lines = ",\n".join(json.dumps(task, ensure_ascii=False) for task in batch)
        assert found.pop(number) == (f"[\n{lines}\n]\n" if batch else "[]\n")
    assert found == {}


XML = VIDEO.label_config


def test_headings_objects_choices_and_variables_are_read() -> None:
    config = parse_label_config(XML)
    assert config.headers == ("Does the caption describe this video?",)
    assert config.objects == {"caption": ("Text", "$caption"), "video": ("HyperText", "$video")}
    assert config.controls == {"relevance": "Choices", "flags": "Choices", "comment": "TextArea"}
    hotkeys = {"relevant": "1", "irrelevant": "2", "ambiguous": "3"}
    flags = Choices("video", multiple=True, required=False, hotkeys={"sensitive": "4"})
    answers = Choices("video", multiple=False, required=True, hotkeys=hotkeys)
    assert config.choices == {"relevance": answers, "flags": flags}


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
    turned = XML.replace('name="video" value="$video"', "value='$video' name='video'")
    assert {config_sha256(xml) for xml in (re.sub(r">\s+<", "><", XML), turned)} == {config_sha256(XML)}
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


def test_the_sdk_finds_the_controls_and_objects(interface: Any, guideline: Guideline) -> None:
    assert {control.name for control in interface.controls} == {"relevance", "flags", "comment"}
    assert {item.name for item in interface.objects} == set(guideline.data_keys)
    assert interface.is_valid


def test_the_sdk_takes_our_tasks_and_misses_what_is_taken_away(interface: Any, guideline: Guideline) -> None:
    ids = ["q1", "q2"]
    pool = check_pool(pd.DataFrame({"query_id": ids, "doc_id": "v1"}))
    texts = ["a dog", '"quoted", <b>é</b>']  # composed queries start from an item
    queries = check_queries(pd.DataFrame({"query_id": ids, "text": texts, "reference": "v2"}))
    media = ["v1", "v2"]
    items = check_items(pd.DataFrame({"doc_id": media, "media_url": media, "text": "a <b>text</b>"}))
    tasks = tasks_to_json(make_tasks(pool, queries, items=items, guideline=guideline), guideline)[1]
    assert [interface.validate_task(task) for task in tasks] == [True, True]
    content = {key: value for key, value in tasks[0]["data"].items() if key != guideline.data_keys[-1]}
    assert not interface.validate_task({"data": content})


def test_the_sdk_takes_every_label_and_flag_and_no_other(interface: Any, guideline: Guideline) -> None:
    good = [("relevance", label) for label in guideline.grades] + [("flags", guideline.flags[0].name)]
    bad = [("relevance", "sensitive"), ("relevance", "Relevant"), ("flags", "relevant")]
    for control, choice in good + bad:
        value = {"type": "choices", "value": {"choices": [choice]}}
        said = {"result": [{"from_name": control, "to_name": guideline.data_keys[-1], **value}]}
        errors = interface.validate_prediction(said, return_errors=True)
        assert [choice in error for error in errors] == ([] if (control, choice) in good else [True])
