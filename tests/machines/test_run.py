"""`machine run` against a real server, also a bad one: what is asked, shown and kept, and what it costs."""

import base64
import json
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import ChatServer, said, with_probability
from click.testing import Result
from command import run as fire
from judge import arguments, judge_file
from starlette.responses import JSONResponse, Response

from examples import cases
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.tables.guideline_files import guideline_folder
from fire_toolkit.formats.tables.table_files import read_machine_judgments
from fire_toolkit.machines import chat
from fire_toolkit.machines.judge import read_prompt

Ask = Callable[..., Result]


def table(folder: Path) -> list[list[object]]:
    found = read_machine_judgments(folder / "machine/toy")
    return found[["query_id", "doc_id", "score", "label", "status"]].values.tolist()


def test_answers_with_their_probabilities_and_nothing_is_asked_twice(folder: Path, ask: Ask) -> None:
    server = ChatServer(
        says=lambda caption, _: with_probability(*(("yes", 0.9) if "dog" in caption else ("no", 0.25)))
    )
    ask(server, price=[10, 20], backbone="clip", revision="r7")
    yes, no = pytest.approx(0.9), pytest.approx(0.25)
    assert table(folder) == [
        ["q1", "a", yes, "relevant", "ok"],
        ["q1", "b", yes, "relevant", "ok"],
        ["q2", "a", no, "irrelevant", "ok"],
        ["q2", "b", no, "irrelevant", "ok"],
    ]
    whole = read_machine_judgments(folder / "machine/toy/machine.csv")
    assert whole["cost"].tolist() == [pytest.approx((100 * 10 + 1 * 20) / 1e6)] * 4
    assert set(whole["revision"]) == {"r7"}
    assert set(whole["backbone"]) == {"clip"}
    assert sorted(server.asked) == ["a cat", "a cat", "a dog runs", "a dog runs"]
    assert {body["temperature"] for body in server.bodies} == {0}
    again = ask(server, revision="r7", at_once=1)
    assert "4 answers of toy in machine/toy (4 were there before); 0 failed" in again.stderr
    assert len(server.asked) == 4


def test_a_new_pair_or_a_changed_caption_is_asked_and_nothing_else(folder: Path, ask: Ask) -> None:
    server = ChatServer()
    ask(server)
    (folder / "pool.csv").write_text("query_id,doc_id\nq1,a\nq1,b\nq2,a\n")
    (folder / "queries.tsv").write_text("query_id\ttext\nq1\ta dog runs\nq2\ta dog sits\n")
    ask(server)
    assert server.asked[4:] == ["a dog sits"]
    # the caption as it is now counts for q2 a; q2 b was not asked of again, and keeps its last answer
    assert [row[:2] + row[3:4] for row in table(folder)][2:] == [
        ["q2", "a", "relevant"],
        ["q2", "b", "irrelevant"],
    ]


def test_what_cannot_be_read_is_a_failure_that_is_not_asked_again(folder: Path, ask: Ask) -> None:
    server = ChatServer(says=lambda caption, _: "yes" if "dog" in caption else "I would say 0")
    done = ask(server)
    assert "failed 2 times: answered 'I would say 0', expected yes or no" in done.stderr
    assert [row[2:] for row in table(folder)[2:]] == [
        [pytest.approx(float("nan"), nan_ok=True), "", "failed"]
    ] * 2
    ask(server)
    assert len(server.asked) == 4


def test_a_request_that_failed_is_asked_again_and_only_that(folder: Path, ask: Ask) -> None:
    server = ChatServer(
        says=lambda caption, _: Response("no images here", 400) if "cat" in caption else "yes"
    )
    done = ask(server)
    assert "failed 2 times: HTTP 400 (no images here)" in done.stderr
    server.says = lambda caption, _: "no"
    ask(server)
    assert server.times_asked == {"a dog runs": 2, "a cat": 4}
    assert [row[3] for row in table(folder)] == ["relevant"] * 2 + ["irrelevant"] * 2


def test_an_error_in_the_place_of_an_answer_is_asked_again(folder: Path, ask: Ask) -> None:
    server = ChatServer(first=[JSONResponse({"error": "overloaded"}), Response("<html>", 200)])
    done = ask(server, at_once=1)
    assert "failed 2 times: no answer of the chat-completions protocol (choices)" in done.stderr
    assert "versions of itself" not in done.stderr  # an error names none
    server.says = lambda caption, _: said("yes") | {"system_fingerprint": "fp2"}
    again = ask(server)
    assert len(server.asked) == 4 + 2
    assert {row[4] for row in table(folder)} == {"ok"}
    assert "note: the server named 2 versions of itself" in again.stderr


def test_a_question_about_videos_is_not_asked_of_pictures(ask: Ask) -> None:
    server = ChatServer()
    done = ask(server, "--guideline", "caption-relevance-v1", code=1)
    assert "the items are images by their names, and caption-relevance-v1 shows a video" in done.stderr
    assert server.asked == []


@pytest.mark.slow
def test_a_server_that_is_busy_is_given_the_time_that_it_asks_for(folder: Path, ask: Ask) -> None:
    busy = [Response("slow down", 429, {"Retry-After": "0.4"}), Response("", 503, {"Retry-After": "0"})]
    server = ChatServer(first=busy)
    began = time.monotonic()
    ask(server, at_once=1)
    assert time.monotonic() - began > 0.4
    assert len(server.asked) == 6
    assert {row[4] for row in table(folder)} == {"ok"}


def test_a_server_that_asks_for_hours_ends_the_run(ask: Ask) -> None:
    server = ChatServer(says=lambda *_: Response("", 429, {"Retry-After": "7200"}))
    done = ask(server, code=3)
    assert "asks to wait 7,200 s; run the command again later" in done.stderr


def test_the_key_goes_to_the_server_alone(folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRE_MACHINE_KEY", "sk-secret")
    server = ChatServer()
    done = ask(server, "--out", "machine/moved", at_once=1, path="/moved", code=3)
    assert "redirects to /v1/chat/completions; neither key nor media follow" in done.stderr
    assert server.asked == []
    ask(server)
    assert set(server.keys) == {"Bearer sk-secret"}
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"sk-secret" not in written


def test_a_refused_key_ends_the_run_and_is_not_shown(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRE_MACHINE_KEY", "sk-secret")
    refusal = JSONResponse({"error": {"message": "Incorrect API key: sk-secret"}}, 401)
    server = ChatServer(says=lambda *_: refusal)
    done = ask(server, at_once=1, code=3)
    assert "401: refuses the key (Incorrect API key: ***)" in done.stderr
    assert len(server.asked) == 1


@cases("endpoint", "key", "more", "message")
@pytest.mark.usefixtures("folder")
def test_nothing_is_sent_where_it_must_not_go(
    endpoint: str, key: str, more: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRE_MACHINE_KEY", key)
    done = fire(*arguments(endpoint, *more), code=1)
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert "pw" not in done.stderr


def test_a_server_that_is_not_there_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "ATTEMPTS", 1)
    with ChatServer().serve() as local:
        port = local.server_port
    done = fire(*arguments(f"http://127.0.0.1:{port}/v1"), code=3)
    assert "no connection" in done.stderr
    assert "is the server running, timeout_s" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_budget_ends_the_run_before_it_is_exceeded(folder: Path, ask: Ask) -> None:
    server = ChatServer()
    done = ask(server, "--budget", "0.000250", price=[1, 1], at_once=1)  # 101 tokens an answer
    assert len(server.asked) == 2
    assert "the budget is spent: 2 not asked" in done.stderr
    ask(server, "--budget", "0.000608", price=[2, 2], at_once=1)
    assert len(server.asked) == 3  # earlier answers count, at the price that is named now
    server.says = lambda *_: said("yes") | {"usage": None}
    (folder / "queries.tsv").write_text("query_id\ttext\nq1\ta bird\nq2\ta fish\n")
    refused = ask(server, "--budget", "9", price=[1, 1], at_once=1, code=3)
    assert "does not say how many tokens an answer took" in refused.stderr
    assert len(server.asked) == 4


@pytest.mark.slow
def test_requests_go_out_together_and_no_more_than_asked_for(ask: Ask) -> None:
    server = ChatServer(delay_s=0.1, together=3)
    ask(server, at_once=3)
    assert server.most_at_once == 3


@pytest.mark.slow
def test_samples_need_a_temperature_and_are_rows_of_their_own(folder: Path, ask: Ask) -> None:
    server = ChatServer()
    assert "samples above 1 needs a temperature above 0" in ask(server, samples=3, code=1).stderr
    ask(server, samples=3, temperature=0.7)
    assert len(server.asked) == 12
    found = read_machine_judgments(folder / "machine/toy")
    assert found["sample_number"].tolist() == [1, 2, 3] * 4
    ask(server, samples=4, temperature=0.7)
    assert len(server.asked) == 16


def test_a_changed_judge_or_prompt_is_another_judge(folder: Path, ask: Ask) -> None:
    server = ChatServer()
    ask(server)
    for change in ({"frames": 4}, {"longest_answer": 9}, {"revision": "other"}):
        done = ask(server, code=1, **change)
        assert "belongs to another judge" in done.stderr
        assert "give it a file of its own" in done.stderr
    own = shutil.copytree(guideline_folder("caption-image-relevance-v1"), folder / "own")
    prompt = own / "machine.toml"
    prompt.write_text(prompt.read_text().replace("Answer with one word", "Reply with one word"))
    assert "prompt_sha256" in ask(server, "--guideline", own, code=1).stderr
    assert len(server.asked) == 4


def test_media_that_are_not_there_are_failures_and_the_others_are_asked(folder: Path, ask: Ask) -> None:
    (folder / "items.tsv").write_text("doc_id\tmedia_url\na\tmedia/a.png\nb\thttps://example.org/b.png\n")
    server = ChatServer()
    done = ask(server)
    assert "failed 2 times: https://example.org/b.png: an address" in done.stderr
    assert [row[4] for row in table(folder)] == ["ok", "failed"] * 2
    assert len(server.asked) == 2


@pytest.mark.slow
def test_twenty_failures_in_a_row_end_the_run(folder: Path, ask: Ask) -> None:
    (folder / "queries.tsv").write_text(
        "query_id\ttext\n" + "".join(f"q{n}\tcaption {n}\n" for n in range(30))
    )
    (folder / "pool.csv").write_text("query_id,doc_id\n" + "".join(f"q{n},a\n" for n in range(30)))
    server = ChatServer(says=lambda *_: "maybe")
    done = ask(server, at_once=1, code=3)
    assert "20 answers in a row failed, the last one: answered 'maybe'" in done.stderr
    assert len(server.asked) == 20
    assert len(read_machine_judgments(folder / "machine/toy")) == 20  # what had come is kept


def test_the_manifest_says_where_media_went(folder: Path, ask: Ask) -> None:
    ask(ChatServer(), "--send-media-to", "127.0.0.1")
    manifest = json.loads((folder / "machine/toy/machine.csv.manifest.json").read_text())
    assert manifest["parameters"]["send_media_to"] == "127.0.0.1"
    assert set(manifest["inputs"]) == {"pool.csv", "queries.tsv", "items.tsv"}
    assert manifest["counts"] == {"answers": 4, "failed": 0, "in_flight_when_killed": 0}


def test_a_composed_query_shows_its_reference_first(folder: Path, ask: Ask) -> None:
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


def test_a_composed_query_without_its_reference_fails_by_name(folder: Path, ask: Ask) -> None:
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
    """A workspace of its own on the captions of the workspace around it."""
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
    files = (path for path in validity.rglob("*") if path.is_file())
    # The record, with what SQLite keeps beside it, takes up what is handed out.
    before = {path: path.read_bytes() for path in files if not path.name.startswith("campaign.sqlite")}
    fire("tasks", "--annotator", "A01")
    assert all(path.read_bytes() == text for path, text in before.items())
    shown = json.loads((validity / "tasks/tasks.json").read_text())
    assert {key for task in shown for key in task["data"]} == {"pair_id", "caption"}


def test_answers_on_captions_are_no_labels_of_pairs(validity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (validity / "said.csv").write_text("query_id,doc_id,score\nq1,*,0.9\n")
    monkeypatch.chdir(validity.parent)
    fire("machine", "import", "validity/said.csv", "--judge", "vlm")
    Path("labels").mkdir()
    Path("labels/labels.csv").write_text("query_id,doc_id,label,relevance\nq1,b,relevant,1\n")
    refused = fire("augment", "--include-machine", "vlm", code=1)
    assert "judge 'vlm': doc '*' marks captions that were judged alone" in refused.stderr
    judge = judge_file("m", endpoint="http://127.0.0.1:9/v1", model="m")
    refused = fire("machine", "run", judge, "--guideline", "query-validity-v1", code=1)
    assert "workspace of its own" in refused.stderr


def test_a_check_names_a_prompt_that_was_written_for_another_version(folder: Path) -> None:
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


@pytest.mark.usefixtures("folder")
def test_a_server_that_never_answers_ends_the_run_and_one_that_once_did_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat, "ATTEMPTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        done = fire(*arguments(endpoint, timeout_s=0.1, at_once=1), code=3)
    assert "no answer (ReadTimeout); is the server running, timeout_s long enough?" in done.stderr
