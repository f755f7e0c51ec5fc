"""What a campaign rests on and cannot be read is named; it never counts as nothing."""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from brought import refused
from command import StandIn, as_json, given, named, run
from page_site import make_workspace
from small_release import set_in

from examples import cases
from fire_toolkit.campaign.ledger import ANSWERED, DELETED
from fire_toolkit.campaign.salvage import salvage
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import UsageError
from fire_toolkit.workspace.database import STORE

_NOBODY = 65534


def begin() -> None:
    make_workspace(Path.cwd())


@pytest.fixture
def begun(stand_in: StandIn) -> Path:
    return stand_in(begin)


@contextmanager
def without_rights(path: Path, left: int = 0) -> Iterator[None]:
    """Take everybody's rights on a folder but those left, and from root its power over them."""
    is_root = os.geteuid() == 0
    path.chmod(left)
    try:
        if is_root:
            os.seteuid(_NOBODY)
        yield
    finally:
        if is_root:
            os.seteuid(0)
        path.chmod(0o755)


@pytest.fixture
def shared(begun: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same workspace, where somebody who is not root can come to it."""
    place = Path(tempfile.mkdtemp())
    shutil.copytree(begun, place / "w")
    for path in (place, *place.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, _NOBODY, _NOBODY)
    monkeypatch.chdir(place / "w")
    yield place / "w"
    monkeypatch.chdir(begun)
    shutil.rmtree(place)


commands = pytest.mark.parametrize("command", ["progress", "status", "pull"])


@commands
def test_a_record_that_nobody_may_read_is_named(shared: Path, command: str) -> None:
    with without_rights(shared / "campaign.sqlite"):
        told = run(command, code=1).stderr
    assert "campaign.sqlite" in told
    assert "Permission denied" in told


def test_a_workspace_in_which_nobody_may_write_is_read(shared: Path) -> None:
    """As on a disk that is mounted for reading alone: SQLite would make files beside the record."""
    with without_rights(shared, 0o555):
        assert "round 1" in run("status").stderr
        assert as_json("progress")


@commands
def test_a_link_to_a_disk_that_is_not_there_is_named(begun: Path, command: str) -> None:
    (begun / "campaign.sqlite").unlink()
    (begun / "campaign.sqlite").symlink_to("/mnt/nowhere/record")
    told = run(command, code=1).stderr
    assert "campaign.sqlite: cannot be read: it leads to /mnt/nowhere/record, which is not there" in told


def test_status_says_of_a_record_what_doctor_does(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(STORE).write_bytes(b"")
    told = run("status", code=1).stderr
    assert "sqlite: damaged: no such table: rounds; `fire-toolkit doctor` says what to do" in told
    assert "sqlite: damaged: an empty file; restore it from a copy" in run("doctor", code=1).stderr
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    words = "sqlite: cannot be read or written: No space left on device; free some space"
    assert words in run("status", code=1).stderr


@pytest.mark.parametrize(("state", "n_judgments"), [(ANSWERED, 1), (DELETED, 0)])
def test_a_deletion_without_its_answer_is_no_judgment(begun: Path, state: str, n_judgments: int) -> None:
    """As where another site's record was merged of which only a part could be salvaged."""
    asked = [row["pair_id"] for row in given(begun) if (row["annotator_id"], row["kind"]) == ("A01", "task")]
    said = {"type": "choices", "from_name": "relevance", "value": {"choices": ["relevant"]}}
    day = "2026-01-01T00:00:00.000000Z"
    answer = json.dumps({"id": 1, "result": [said], "lead_time": 2.0, "created_at": day})
    found = {"source": "http://s", "project": "1", "annotation": "a", "task": "5", "state": state}
    found |= {"queue": "1/A01", "annotator_id": "A01", "pair_id": asked[0], "answer": answer}
    found |= dict.fromkeys(("updated_at", "seen_at"), day)
    with Store(begun / "campaign.sqlite") as store:
        store.add_rows([found])
    assert f"{n_judgments} judgment" in run("pull").stderr
    queues = as_json("progress")
    assert [each["n_done"] for each in queues if each["annotator_id"] == "A01"] == [n_judgments]


@pytest.mark.parametrize("mode", [0o644, 0o777])
def test_a_key_whose_rights_a_disk_does_not_keep_is_taken_with_a_word(begun: Path, mode: int) -> None:
    key = begun / ".fire/private" / "media.key"
    key.chmod(mode)
    told = run("page", "write", "A01").stderr
    assert told.count(f"media.key: contains a key and others can access it ({mode:04o})") == 1
    assert key.stat().st_mode & 0o777 == mode


def test_our_own_page_is_not_begun_without_the_items(begun: Path) -> None:
    for name in ("v0.webm", "v1.webm"):
        (begun / "media" / name).rename(begun / name)
    (begun / "campaign.sqlite").unlink()
    shutil.rmtree("campaign")
    push = ("push", "--carrier", "page", "--annotator", "A01,A02")
    told = run(*push, code=1).stderr
    assert "error: 2 items of 8 tasks not there (" in told
    assert "push with --check-media 0" in told
    assert not given(begun)
    (begun / "v1.webm").rename(begun / "media" / "v1.webm")
    assert "error: 1 item of 4 tasks not there (" in run(*push, code=1).stderr
    run(*push, "--check-media", 0)
    assert given(begun)


@cases("table", "change", "n")
def test_a_changed_row_of_what_was_asked_is_damage_and_salvage_tells_of_it(
    begun: Path, table: str, change: str, n: int | None
) -> None:
    run("annotators", "retire", "A02")
    with closing(sqlite3.connect(STORE)) as db, db:
        db.execute(change)
        (n_rows,) = db.execute(f"select count(*) from {table}").fetchone()
    told = f"damaged: the rows of `{table}` are not those that were kept; restore it from a copy"
    assert told in run("doctor", code=1).stdout
    assert told in run("annotators", "retire", "A01", code=1).stderr
    assert salvage(Path(STORE)) == {table: n or n_rows}
    assert "record" not in run("doctor").stdout


def test_a_record_that_is_gone_is_named_before_a_campaign_begins_in_its_place(begun: Path) -> None:
    """Nothing was pulled yet: what people answered on the page is gone with it."""
    copy = Path(STORE).rename("copy.sqlite")
    again = ("push", "--carrier", "page", "--annotator", "A01,A02")
    for command in (again, ("pull",), ("progress",), ("page", "serve"), ("annotators", "reassign", "A01")):
        told = run(*command, code=1).stderr
        assert "error: campaign.sqlite: is gone, with its answers and who was asked; restore it" in told
        assert "to begin anew, move campaign/ away" in told
    assert "BAD   record      campaign.sqlite: is gone" in run("doctor", code=1).stdout
    assert run("status").stderr.splitlines()[-1].startswith("campaign.sqlite: is gone")
    assert not Path(STORE).exists()
    run("import", copy)
    assert named(run("status")) == "page serve"


def test_the_doctor_reads_the_guideline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("init", tmp_path)
    monkeypatch.chdir(tmp_path)
    run("guideline", "mine-v1", "--like", "caption-relevance-v1")
    set_in(tmp_path, guideline="mine-v1")
    assert "guideline" not in run("doctor", code=1).stdout
    Path("mine-v1/labels.toml").write_text("[[label]")
    told = run("doctor", code=1).stdout
    assert "BAD   guideline " in told
    assert "mine-v1/labels.toml: not TOML" in told


@pytest.mark.parametrize("lost", ["campaign", "tasks"])
def test_a_round_on_the_page_needs_no_file_of_its_tasks_any_more(begun: Path, lost: str) -> None:
    """As where the record alone was copied into another workspace, or the files were cleared away."""
    shutil.rmtree(lost)
    run("push")
    assert named(run("status")) == "page serve"


def test_a_record_that_is_open_is_not_salvaged_and_an_interrupted_salvage_is_told(begun: Path) -> None:
    path, content = Path(STORE), Path(STORE).read_bytes()
    with Store(path) as store:  # as a page that is served has it
        assert not store.has_answers()
        refused("another command, or the page, has it open; stop it first", salvage, path, by=UsageError)
    assert not Path(f"{STORE}.new").exists()
    assert salvage(path) == {}
    assert Path(f"{STORE}.damaged").read_bytes() == content
    path.rename(f"{STORE}.new")
    refused("no such file; ... sqlite.new is what was salvaged: rename it", salvage, path, by=UsageError)


@pytest.mark.parametrize("is_old_first", [False, True])
def test_what_a_salvage_lost_of_a_round_comes_back_from_an_older_copy(
    begun: Path, *, is_old_first: bool
) -> None:
    path, copy, other = Path(STORE), begun / "copy.sqlite", begun / "other.sqlite"
    shutil.copy(path, copy)
    before = sorted(map(str, given(begun)))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("delete from moves where number % 2")
        db.execute("delete from asked where rowid = 2")
    assert set(salvage(path)) == {"given", "asked"}
    if is_old_first:
        path.rename(other)
        copy.rename(path)
    assert "another began" not in run("import", other if is_old_first else copy).stderr
    assert sorted(map(str, given(begun))) == before
    with Store(path) as store:
        query = "select max(round) = 1 and count(*) = count(distinct pair_id) from asked"
        assert store.select(query) == [(1,)]
