"""Composed queries and captions alone before a judge: what it is shown, and that no label changes."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import ChatServer, with_probability
from click.testing import Result
from command import run as fire
from judge import judge_file

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.tables.table_files import read_machine_judgments
from fire_toolkit.machines.prompts import read_prompt

Run = Callable[..., Result]


def test_a_composed_query_shows_its_reference_first(folder: Path, ask: Run) -> None:
    (folder / "queries.tsv").write_text("query_id\ttext\treference\nq1\ta dog in red\tb\nq2\tis bigger\ta\n")
    server = ChatServer()
    composed = ("--guideline", "composed-image-relevance-v1")
    ask(server, *composed)
    first = next(body for body in server.bodies if "dog" in body["messages"][1]["content"][0]["text"])
    parts = first["messages"][1]["content"]
    assert [part.get("text", "picture") for part in parts] == [
        '{"caption": "a dog in red"}',
        "reference:",
        "picture",
        "candidate:",
        "picture",
    ]
    shown = {name: (folder / f"media/{name}.png").read_bytes() for name in "ab"}
    sent = [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts[2::2]]
    assert sent[0] == shown["b"]
    (folder / "media/b.png").write_bytes(shown["a"])  # another reference of q1, another candidate of q2
    ask(server, *composed)
    assert server.times_asked == {"a dog in red": 4, "is bigger": 3}


def test_a_composed_query_without_its_reference_fails_by_name(folder: Path, ask: Run) -> None:
    (folder / "queries.tsv").write_text(
        "query_id\ttext\treference\nq1\ta dog in red\tgone\nq2\tis bigger\ta\n"
    )
    with (folder / "items.tsv").open("a") as items:
        items.write("gone\tmedia/gone.png\n")
    server = ChatServer()
    done = ask(server, "--guideline", "composed-image-relevance-v1")
    assert "failed 2 times: " in done.stderr
    assert "gone.png: no such file" in done.stderr
    assert set(server.asked) == {"is bigger"}


@pytest.fixture
def validity(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of its own on the captions of the workspace around it."""
    (folder / "pool.csv").unlink()
    fire("init", ".")
    (folder / "collection/queries.tsv").write_text("query_id\ttext\nq1\ta dog runs\nq2\ta video\n")
    (folder / "collection/qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    fire("init", "validity", "--guideline", "query-validity-v1")
    monkeypatch.chdir(folder / "validity")
    return folder / "validity"


def test_captions_alone_are_suggested_and_no_label_changes(validity: Path) -> None:
    server = ChatServer(
        says=lambda caption, pictures: (
            with_probability("yes", 0.9) if "dog" in caption else with_probability("no", 0.02)
        )
    )
    with server.serve() as local:
        endpoint = f"http://127.0.0.1:{local.server_port}/v1"
        fire("machine", "run", judge_file("vlm", endpoint=endpoint, model="vlm"))
    assert all(len(body["messages"][1]["content"]) == 1 for body in server.bodies)  # the caption, no picture
    found = read_machine_judgments(validity / "machine/vlm/machine.csv")
    assert found[["query_id", "doc_id", "label"]].values.tolist() == [
        ["q1", "*", "usable"],
        ["q2", "*", "unusable"],
    ]
    before = {path: path.read_bytes() for path in validity.rglob("*") if path.is_file()}
    before.pop(validity / "campaign.sqlite")  # which takes up what is handed out
    fire("tasks", "--annotator", "A01")
    assert all(path.read_bytes() == text for path, text in before.items())
    shown = json.loads((validity / "tasks/tasks.json").read_text())
    assert {key for task in shown for key in task["data"]} == {"pair_id", "caption"}


def test_answers_on_captions_alone_are_no_labels_of_pairs(
    validity: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (validity / "said.csv").write_text("query_id,doc_id,score\nq1,*,0.9\n")
    monkeypatch.chdir(validity.parent)
    fire("machine", "import", "validity/said.csv", "--judge", "vlm")
    Path("labels").mkdir()
    Path("labels/labels.csv").write_text("query_id,doc_id,label,relevance\nq1,b,relevant,1\n")
    refused = fire("augment", "--include-machine", "vlm", code=1)
    assert "judge 'vlm': doc '*' marks captions that were judged alone" in refused.stderr
    judge = judge_file("m", endpoint="http://127.0.0.1:9/v1", model="m")
    refused = fire("machine", "run", judge, "--guideline", "query-validity-v1", code=1)
    assert "campaign of its own" in refused.stderr


def test_a_check_names_a_prompt_that_was_written_for_another_version(folder: Path) -> None:
    from fire_toolkit.formats.tables.guideline_files import guideline_folder

    fire("guideline", "mine-v1", "--like", "query-validity-v1")
    assert not (folder / "mine-v1/machine.toml").exists()
    fire("guideline", "mine-v1")
    prompt = guideline_folder("query-validity-v1") / "machine.toml"
    (folder / "mine-v1/machine.toml").write_text(prompt.read_text())
    found = fire("guideline", "mine-v1", code=1)
    assert "mine-v1/machine.toml: written for another version of mine-v1" in found.stderr
    sha256 = found.stderr.rpartition('= "')[2].partition('"')[0]
    _, rules = read_prompt("query-validity-v1")
    text = prompt.read_text().replace(rules.sha256, sha256)
    (folder / "mine-v1/machine.toml").write_text(text)
    fire("guideline", "mine-v1")


def test_a_guideline_for_sounds_is_refused_with_the_reason() -> None:
    with pytest.raises(FormatError, match="sent pictures and texts, and no sounds"):
        read_prompt("caption-sound-relevance-v1")
