"""`gallery` in a workspace of small files: what is written, left out for others, refused and served."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from brought import put
from command import Fire

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def workspace(fire: Fire, folder: Path) -> Path:
    """Two judged queries, of which one is hostile; items with a file, an address, and a lost file."""
    (folder / "collection").mkdir()
    (folder / "queries.tsv").write_text(f"query_id\ttext\n1\ta red circle\n2\t{HOSTILE}\n")
    items = "doc_id\tmedia_url\na\tmedia/a b.webm\nb\thttps://example.org/b.mp4\nc\tmedia/lost.webm\n"
    items += "NA\thttp://127.0.0.1:1/x.mp4\n007\tmedia/7.png\n"
    (folder / "collection/items.tsv").write_text(items)
    put(folder / "media/a b.webm", b"webm")
    (folder / "media/7.png").write_bytes(b"png")
    text = (folder / "judgments.csv").read_text().replace("00:00:02Z,2.5,,", "00:00:02Z,2.5,,it is an apple")
    put(folder / "judgments/judgments.csv", text)
    settings = '[collection]\nqueries = "queries.tsv"\nqrels = "qrels.txt"\n[runs]\nfiles = ["*.run"]\n'
    (folder / "fire.toml").write_text(settings)
    fire("resolve")
    return folder


def data(gallery: Path, name: str) -> Any:
    text = (gallery / "data" / f"{name}.js").read_text()
    return json.loads(f"[{text[text.index('(') + 1 : text.rindex(')')]}]")[-1]


def test_a_gallery_holds_media_votes_and_labels(fire: Fire, workspace: Path) -> None:
    told = fire("gallery", "--depth", 2)
    assert "note: 1 file of items not there" in told.stderr
    assert "gallery: 2 queries, 7 pairs, media of 4 items" in told.stderr
    shard, index = data(workspace / "gallery", "0000"), data(workspace / "gallery", "index")
    assert index["texts"] == ["a red circle", HOSTILE]
    media = dict(zip(shard["docs"], shard["media"], strict=True))
    assert media == {
        "a": ["../media/a%20b.webm", "video", None, None],
        "b": ["https://example.org/b.mp4", "video", None, None],
        "c": None,
        "007": ["../media/7.png", "image", None, None],
        "NA": ["http://127.0.0.1:1/x.mp4", "video", None, None],
    }
    assert shard["vote"]["notes"] == [[2, "", "it is an apple"]]
    page = (workspace / "gallery/index.html").read_text()
    assert "media-src 'self' http://127.0.0.1:1 https://example.org;" in page
    whole = "".join(path.read_text() for path in (workspace / "gallery").rglob("*") if path.is_file())
    assert "ann" not in whole.replace("annotator", "").replace("cannot", "").replace("Cannot", "")


def test_what_is_seen_of_a_query_is_shown_beside_its_text(fire: Fire, workspace: Path) -> None:
    queries = "query_id\ttext\tmedia_url\n1\ta red circle\tmedia/7.png\n2\ta cat\tmedia/lost.webm\n"
    (workspace / "queries.tsv").write_text(queries)
    fire("gallery")
    assert data(workspace / "gallery", "0000")["starts"] == [["../media/7.png", "image", None, None], None]
    assert data(workspace / "gallery", "index")["start"] == "The query"


def test_the_public_gallery_shows_what_has_a_licence(fire: Fire, workspace: Path) -> None:
    told = fire("gallery", "--public", "--out", "for-all")
    assert "note: no captions: [licences] captions of fire.toml names no licence" in told.stderr
    assert told.stderr.count("note: no media") == 1
    whole = "".join(path.read_text() for path in Path("for-all").rglob("*") if path.is_file())
    secrets = ("apple", "red circle", "alert(1)", "example.org", "a%20b", "a b.webm", '"vote"', '"links"')
    assert not [secret for secret in secrets if secret in whole]
    shard = data(Path("for-all"), "0000")
    assert (sum(shard["for"]), sum(shard["against"])) == (4, 2)
    with Path("fire.toml").open("a") as config:
        config.write('[licences]\ncaptions = "CC BY 4.0"\nmedia = "CC BY 4.0"\n')
    fire("gallery", "--public", "--out", "for-all")
    shard = data(Path("for-all"), "0000")
    media = dict(zip(shard["docs"], shard["media"], strict=True))
    assert data(Path("for-all"), "index")["texts"][0] == "a red circle"
    assert media["NA"] is None  # an address of this machine
    assert Path("for-all", media["a"][0]).read_bytes() == b"webm"
    assert media["b"][0] == "https://example.org/b.mp4"
    (workspace / "collection/items.tsv").write_text("doc_id\tmedia_url\ttext\na\ta\tA passage.\n")
    Path("fire.toml").write_text(Path("fire.toml").read_text().replace('captions = "CC BY 4.0"', ""))
    assert "not there" not in fire("gallery", "--public", "--out", "for-all").stderr  # texts are no files


def test_its_own_folder_is_made_again_and_others_are_not_touched(fire: Fire, workspace: Path) -> None:
    put("mine/notes.txt", "mine")
    assert "error: mine: already exists, and is no gallery" in fire("gallery", "--out", "mine", code=1).stderr
    fire("gallery")
    first = {path: path.read_bytes() for path in Path("gallery").rglob("*") if path.is_file()}
    fire("gallery")
    assert {path: path.read_bytes() for path in Path("gallery").rglob("*") if path.is_file()} == first
    Path("gallery/recheck.csv").write_text("query_id,doc_id\n1,a\n")
    told = fire("gallery", code=1)
    assert "gallery/recheck.csv: was not written by `gallery`, which would delete it" in told.stderr
    Path("gallery/recheck.csv").unlink()
    before = {path.name for path in workspace.iterdir()}
    Path("clip.run").write_text("damaged\n")
    fire("gallery", code=1)
    assert {path.name for path in workspace.iterdir()} == before  # nothing half-written
    assert data(Path("gallery"), "index")["runs"] == ["clip", "ssb"]


def test_the_server_answers_the_gallery_and_its_media_alone(fire: Fire, workspace: Path) -> None:
    from fire_toolkit.media.server import GalleryServer

    fire("gallery")
    media = [workspace / "media/a b.webm"]
    served = GalleryServer(workspace / "gallery", media, port=0)
    with served as server, httpx.Client(trust_env=False) as client:
        page = client.get(server.address)
        start = server.address.removesuffix("gallery/index.html")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        part = client.get(f"{start}media/a%20b.webm", headers={"Range": "bytes=1-2"})
        assert (part.status_code, part.content, part.headers["content-type"]) == (206, b"eb", "video/webm")
        for other in ("fire.toml", "judgments/judgments.csv", "gallery/..%2Ffire.toml", "gallery/", ""):
            assert client.get(f"{start}{other}").status_code == 404
        assert client.get(server.address, headers={"Host": "evil.example"}).status_code == 400
        assert client.post(server.address).status_code == 405
