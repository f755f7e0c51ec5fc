"""The commands of `media`, as a person types them."""

import json
import shutil
from pathlib import Path

import pytest
from command import run as fire

from fire_toolkit.media.server import MediaServer


@pytest.fixture
def folder(tmp_path: Path, clips: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with videos below it, and no workspace around."""
    (tmp_path / "videos").mkdir()
    for name in ("h264.mp4", "vp9.webm", "mpeg4.avi", "a.png", "text.mp4"):
        shutil.copy(clips / name, tmp_path / "videos" / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRE_LABEL_STUDIO_URL", raising=False)
    return tmp_path


def write_items(folder: Path, *urls: str, name: str = "items.tsv") -> Path:
    path = folder / name
    path.write_text("doc_id\tmedia_url\n" + "".join(f"{Path(url).stem}\t{url}\n" for url in urls))
    return path


def test_check_shows_what_will_not_play_and_ends_with_1(folder: Path) -> None:
    write_items(folder, "videos/h264.mp4", "videos/mpeg4.avi", "videos/gone.mp4")
    result = fire("media", "check", "items.tsv", code=1)
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["mpeg4", "gone"]
    assert lines[2].rstrip().endswith("fire-toolkit media transcode")
    assert "3 items: 1 play, 2 do not play" in result.stderr
    assert "next: fire-toolkit media transcode" in result.stderr


def test_paths_start_in_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_items(folder, "h264.mp4")
    fire("media", "check", "items.tsv", code=1)
    monkeypatch.chdir(folder / "videos")
    fire("media", "check", "../items.tsv")


def test_without_label_studio_addresses_are_checked_but_for_its_pages(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MediaServer(folder, {"v.mp4": "videos/h264.mp4"}, origins=[], port=0) as server:
        write_items(folder, f"{server.base_url}/v.mp4")
        told = fire("media", "check", "items.tsv").stderr
        assert "1 item: 1 play" in told
        assert "may read addresses was not checked; set FIRE_LABEL_STUDIO_URL" in told
        monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", "http://127.0.0.1:8080")
        assert "(CORS)" in fire("media", "check", "items.tsv", code=1).stdout
    assert "does not answer (ConnectError)" in fire("media", "check", "items.tsv", code=1).stdout


def test_a_workspace_knows_items_root_and_page(folder: Path) -> None:
    (folder / "fire.toml").write_text('[collection]\nitems = "collection/items.tsv"\n')
    (folder / "collection").mkdir()
    write_items(folder / "collection", "videos/h264.mp4", "videos/a.png")
    result = fire("media", "check", code=1)
    assert "a.png" in result.stdout
    assert "its kind is image, and the guideline's page shows video" in result.stdout
    assert "h264.mp4" not in result.stdout


def test_bad_input_is_named(folder: Path) -> None:
    assert "gone.tsv: no such file" in fire("media", "check", "gone.tsv", code=1).stderr
    (folder / "bad.tsv").write_text("doc_id\turl\nv\tx\n")
    assert "no column media_url" in fire("media", "check", "bad.tsv", code=1).stderr
    assert "ITEMS is needed" in fire("media", "check", code=2).stderr


def test_transcode_makes_new_items_that_play(folder: Path) -> None:
    write_items(folder, "videos/h264.mp4", "videos/mpeg4.avi")
    result = fire("media", "transcode", "items.tsv", "--out", "new")
    assert "1 plays, 1 transcoded; new/items.tsv names what is to be shown" in result.stderr
    assert "next: fire-toolkit media check new/items.tsv" in result.stderr
    checked = fire("media", "check", "new/items.tsv")
    assert checked.stdout == ""
    assert "next: fire-toolkit media serve" in checked.stderr
    written = {path: path.read_bytes() for path in (folder / "new").iterdir()}
    again = fire("media", "transcode", "items.tsv", "--out", "new")
    assert {path: path.read_bytes() for path in (folder / "new").iterdir()} == written
    assert "1 plays, 1 done before" in again.stderr


def test_transcode_ends_with_1_and_names_what_failed(folder: Path) -> None:
    write_items(folder, "videos/text.mp4", "videos/mpeg4.avi")
    result = fire("media", "transcode", "items.tsv", "--out", "new", "--to", "vp9", code=1)
    assert "videos/text.mp4: neither video nor picture" in result.stderr
    assert "1 transcoded" in result.stderr
    assert "videos/text.mp4" in (folder / "new/items.tsv").read_text()


def test_in_a_workspace_the_videos_go_to_media(folder: Path) -> None:
    (folder / "fire.toml").write_text('[collection]\nitems = "items.tsv"\n')
    write_items(folder, "videos/mpeg4.avi")
    result = fire("media", "transcode")
    assert 'items = "media/transcoded/items.tsv"' in result.stderr
    assert "media/transcoded/mpeg4-" in (folder / "media/transcoded/items.tsv").read_text()
    (folder / "fire.toml").unlink()
    assert "--out is needed outside a workspace" in fire("media", "transcode", "items.tsv", code=2).stderr


def captions_as_items(folder: Path, *urls: str) -> None:
    """Make a workspace whose queries are seen and whose items are read."""
    (folder / "fire.toml").write_text(
        '[collection]\nqueries = "queries.tsv"\nitems = "items.tsv"\nqrels = "qrels.txt"\n'
    )
    rows = "".join(f"{Path(url).stem}\t{url}\t{number}\n" for number, url in enumerate(urls))
    (folder / "queries.tsv").write_text("query_id\tmedia_url\tsource\n" + rows)
    (folder / "items.tsv").write_text("doc_id\ttext\nc1\ta dog runs\n")


def test_where_captions_are_the_items_the_queries_are_looked_at(folder: Path) -> None:
    captions_as_items(folder, "videos/h264.mp4", "videos/mpeg4.avi")
    result = fire("media", "check", "--format", "json", code=1)
    found = [(row["query_id"], row["state"]) for row in json.loads(result.stdout)]
    assert found == [("h264", "plays"), ("mpeg4", "no")]
    assert fire("media", "check", "queries.tsv", code=1).stdout.split()[0] == "query_id"


def test_where_captions_are_the_items_new_queries_are_written(folder: Path) -> None:
    captions_as_items(folder, "videos/h264.mp4", "videos/mpeg4.avi")
    result = fire("media", "transcode")
    file = folder / "media" / "transcoded" / "queries.tsv"
    header, *rows = file.read_text().splitlines()
    assert header == "query_id\tmedia_url\tsource"
    assert [row.split("\t")[0::2] for row in rows] == [["h264", "0"], ["mpeg4", "1"]]
    assert 'queries = "media/transcoded/queries.tsv"' in result.stderr
    fire("media", "check", file)


def test_items_lie_where_fire_toml_says(tmp_path: Path, clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "videos").mkdir()
    shutil.copy(clips / "h264.mp4", tmp_path / "videos" / "h264.mp4")
    (tmp_path / "secret.txt").write_text("not an item")
    fire("init", tmp_path / "work")
    root = tmp_path / "work"
    monkeypatch.chdir(root)
    write_items(root / "collection", "h264.mp4")
    (root / "collection/queries.tsv").write_text("query_id\ttext\nq0\ta car\n")
    (root / "pool").mkdir()
    (root / "pool/pool.csv").write_text("query_id,doc_id\nq0,h264\n")
    words = fire("media", "check", code=1).stdout
    assert f"put it at {root}/h264.mp4, or say where paths start ([media] root in fire.toml)" in words
    config = (root / "fire.toml").read_text()
    (root / "fire.toml").write_text(config.replace('root = ""', 'root = "../videos"'))
    fire("media", "check")
    fire("tasks", "--overlap", "0")
    (task,) = json.loads((root / "tasks/tasks.json").read_text())
    assert "/m/" in task["data"]["video"]
    fire("push", "--carrier", "page", "--annotator", "A01")
    write_items(root / "collection", "../secret.txt")
    monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", "http://127.0.0.1:8080")
    said = fire("media", "serve", code=1).stderr
    assert "1 files are outside" in said
    assert "[media] root in fire.toml" in said
