"""The labeling config: what is read from it, what is refused, and what its hash ignores."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import cases
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Choices

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
