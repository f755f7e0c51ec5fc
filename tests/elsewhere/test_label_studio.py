"""Label Studio projects that were not made here: fields and controls of their own."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from answer_files import table, votes
from command import run as fire

from examples import some
from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.elsewhere.answers import read_elsewhere
from fire_toolkit.elsewhere.tables import how_to_read
from fire_toolkit.errors import FireError

pytestmark = pytest.mark.usefixtures("workspace")
PAIR = ("--columns", "query=data.caption_id,doc=data.video_id")
LABELS = ("--label", "match:Yes=relevant", "--label", "match:No=irrelevant", "--label", "match:Unsure=-")


def choice(value: str | list[str], control: str = "match") -> dict[str, Any]:
    values = [value] if isinstance(value, str) else value
    return {
        **{"value": {"choices": values}, "id": "PLQUagIM2e", "from_name": control, "to_name": "video"},
        **{"type": "choices", "origin": "manual"},
    }


def annotation(number: int, by: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As the JSON export has it (label-studio 1.23.2)."""
    return {
        **{"id": number, "completed_by": by, "updated_by": 1, "was_cancelled": False, "ground_truth": False},
        **{"created_at": "2026-11-20T12:02:46.815491Z", "updated_at": "2026-11-20T12:03:16.655919Z"},
        **{"draft_created_at": None, "lead_time": 7.166, "unique_id": f"b09f5cac-{number}", "project": 22},
        **{"prediction": {}, "parent_prediction": None, "result_count": 1, "result": list(results)},
        **more,
    }


def task(query: Any, doc: Any, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"caption": "a dog", "caption_id": query, "video_id": doc, "video": "/data/upload/v.mp4"}
    return {
        **{"id": 110052, "inner_id": 1, "project": 22, "data": fields, "meta": {}, "drafts": []},
        **{"predictions": [], "annotations": list(annotations), **more},
    }


def save(*tasks: dict[str, Any], name: str = "export.json") -> str:
    Path(name).write_text(json.dumps(tasks))
    return name


def test_without_the_options_it_is_refused_and_says_what_to_type() -> None:
    file = save(task("NA", "v1", annotation(1, 3, choice("Yes"), choice("blurry", "quality"))))
    error = fire("import", file, code=1).stderr
    assert "a project that was not made here (its tasks name no pair_id)? Found data.caption, " in error
    assert "--columns 'query=data.caption_id,doc=data.video_id' --label CONTROL:VALUE=LABEL" in error
    assert not Path("judgments").exists()
    wrong = fire("import", file, *PAIR, "--label", "Yes=relevant", code=1).stderr
    assert "expected CONTROL:VALUE=LABEL, with one of match, quality" in wrong
    assert "controls: match, quality" in fire("import", file, *PAIR, code=1).stderr


@pytest.mark.parametrize("name", ["tasks.A01.csv", "tasks.A01.json"])
def test_a_short_export_of_tasks_made_here_is_asked_for_as_json(name: str) -> None:
    """Its columns named, the answers would be a second vote of the same person under a pseudonym."""
    row = {"annotation_id": 1, "annotator": "3", "caption": "a dog", "created_at": "2026-11-20T12:02:46Z"}
    row |= {"lead_time": 7.1, "pair_id": pair_id("NA", "v1"), "relevance": "relevant", "id": 2}
    table_of_one = ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"
    Path(name).write_text(table_of_one if name.endswith("csv") else json.dumps([row]))
    error = fire("import", name, code=1).stderr
    assert "JSON" in error
    assert "--columns" not in error


def test_every_answer_is_a_vote_or_has_its_reason() -> None:
    file = save(
        task(
            *("NA", "v1"),
            annotation(1, 3, choice("Yes"), choice("blurry", "quality")),
            annotation(2, {"id": 4, "email": "ann@example.org"}, choice("No")),
            annotation(3, "Bob@example.org", choice("Yes")),
            annotation(4, None, choice("No")),
            drafts=[{"id": 8, "user": "Bob", "result": [choice("No")]}],
            predictions=[33006],
        ),
        task("007", 7, annotation(5, 3, choice(["Yes", "No"])), annotation(6, 4, choice("Unsure"))),
        task(
            "1e5", "v3", annotation(7, 3, was_cancelled=True), annotation(9, 4, choice("blurry", "quality"))
        ),
    )
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\nv1\tu\n7\tu\nv3\tu\n")
    done = fire("import", file, *PAIR, *LABELS)
    assert votes() == [("NA", "v1", "irrelevant")] * 2 + [("NA", "v1", "relevant")] * 2
    dropped = sorted((row["query_id"], row["doc_id"], row["reason"]) for row in table("dropped.csv"))
    assert dropped == [
        *(("007", "7", "several_labels"), ("007", "7", "skipped")),
        *(("1e5", "v3", "no_label"), ("1e5", "v3", "skipped")),
    ]
    judged = table("judgments.csv")
    assert {row["kind"] for row in judged} == {"elsewhere"}
    assert sorted({row["annotator_id"][:7] for row in judged}) == ["deleted", "worker-"]
    assert judged[0]["duration_s"] == "7.166"
    assert "1 drafts" in done.stderr
    assert "1 predictions" in done.stderr
    assert "1 annotations are by deleted accounts" in done.stderr
    everything = b"".join(path.read_bytes() for path in Path("judgments").iterdir()).lower()
    assert b"example.org" not in everything


def test_an_unmapped_value_is_refused_by_name_and_counted() -> None:
    file = save(task("NA", "v1", *(annotation(n, n, choice("Perhaps")) for n in (1, 2))))
    error = fire("import", file, *PAIR, *LABELS, code=1).stderr
    assert "2 answers have a value that no --label names: 'Perhaps' (2); say which label each is (" in error
    assert "(irrelevant, relevant, ambiguous), as in --label VALUE=LABEL" in error
    found = fire("import", file, *PAIR, "--label", "match:Perhaps=yes", code=1).stderr
    assert "the guideline has no label 'yes'" in found
    assert not Path("campaign.sqlite").exists()


def test_the_same_file_adds_nothing_and_an_edit_is_a_newer_version() -> None:
    fire("import", save(task("NA", "v1", annotation(1, 3, choice("Yes")))), *PAIR, *LABELS)
    assert "0 new, 0 edited" in fire("import", "export.json", *PAIR, *LABELS).stderr
    edited = annotation(1, 3, choice("No"), updated_at="2026-11-21T08:00:00Z")
    done = fire("import", save(task("NA", "v1", edited), name="later.json"), *PAIR, *LABELS)
    assert "0 new, 1 edited" in done.stderr
    assert votes() == [("NA", "v1", "irrelevant")]
    assert [row["reason"] for row in table("dropped.csv")] == ["edited"]
    assert "0 new, 0 edited" in fire("import", "export.json", *PAIR, *LABELS).stderr  # the older one again
    assert votes() == [("NA", "v1", "irrelevant")]


def test_why_an_answer_is_no_vote_can_be_edited() -> None:
    other = annotation(2, 4, choice("Yes"))
    fire("import", save(task("NA", "v1", annotation(1, 3, choice(["Yes", "No"])), other)), *PAIR, *LABELS)
    skipped = annotation(1, 3, was_cancelled=True, updated_at="2026-11-21T08:00:00Z")
    done = fire("import", save(task("NA", "v1", skipped, other)), *PAIR, *LABELS)
    assert "0 new, 1 edited" in done.stderr
    assert "skipped" in {row["reason"] for row in table("dropped.csv")}


def test_ratings_and_numbers_are_values_too() -> None:
    kinds = ({"rating": 4}, {"number": 4.0}, {"text": ["4"]}, {"taxonomy": [["4"]]})
    results = [{"from_name": "score", "type": "any", "value": value} for value in kinds]
    file = save(*(task("NA", "v1", annotation(n, n, result)) for n, result in enumerate(results, start=1)))
    fire("import", file, *PAIR, "--label", "score:4=relevant")
    assert votes() == [("NA", "v1", "relevant")] * 4
    box = {"from_name": "score", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["4"]}}
    save(task("NA", "v1", annotation(9, 9, box, results[0])))
    error = fire("import", file, *PAIR, "--label", "score:4=relevant", code=1).stderr
    assert "control score is of type rectanglelabels, which does not answer" in error


@pytest.mark.parametrize("query", [1.5, None, "two\twords", ""])
def test_an_id_that_is_none_is_refused_with_its_task(query: Any) -> None:
    file = save(task("NA", "v1", annotation(1, 3, choice("Yes"))), task(query, "v1", annotation(2, 3)))
    found = fire("import", file, *PAIR, *LABELS, code=1).stderr
    assert "export.json: task 2 (id 110052): data.caption_id" in found


@pytest.mark.parametrize("odd", some([None, "x", [1], 5, [], {}, [None], True], 3))
def test_an_export_of_any_shape_is_read_or_refused_in_a_line(odd: Any) -> None:
    whole = task("NA", "v1", annotation(1, 3, choice("Yes")))
    shapes = [
        whole | {name: odd} for name in ("id", "data", "annotations", "drafts", "predictions", "project")
    ]
    shapes += [task("NA", "v1", annotation(1, 3, choice("Yes"), **{name: odd})) for name in annotation(1, 3)]
    shapes += [{name: value for name, value in whole.items() if name != "id"}]
    for shape in shapes:
        path = Path(save(shape))
        how_to_read(path, "refused")
        with suppress(FireError):
            assert read_elsewhere(path, {"query": "caption_id", "doc": "video_id"}).n_answers <= 1


@pytest.mark.slow
def test_accounts_of_two_servers_are_other_people() -> None:
    fire("import", save(task("NA", "v1", annotation(1, 3, choice("Yes")))), *PAIR, *LABELS)
    other = save(task("NA", "v1", annotation(2, 3, choice("No"), unique_id="c1")), name="other.json")
    fire("import", other, *PAIR, *LABELS, "--source", "other-server")
    assert votes() == [("NA", "v1", "irrelevant"), ("NA", "v1", "relevant")]
