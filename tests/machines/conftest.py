"""Two captions, two pictures, four pairs; a server; and `machine run` on them as a person would."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from chat_server import ChatServer
from click.testing import Result
from command import run as fire
from judge import arguments

PAIRS = "query_id,doc_id\nq1,a\nq1,b\nq2,a\nq2,b\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from PIL import Image

    (tmp_path / "media").mkdir()
    for name, grey in (("a", 200), ("b", 30)):
        Image.new("RGB", (64, 48), (grey, grey, grey)).save(tmp_path / "media" / f"{name}.png")
    (tmp_path / "queries.tsv").write_text("query_id\ttext\nq1\ta dog runs\nq2\ta cat\n")
    (tmp_path / "items.tsv").write_text("doc_id\tmedia_url\na\tmedia/a.png\nb\tmedia/b.png\n")
    (tmp_path / "pool.csv").write_text(PAIRS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRE_MACHINE_KEY", raising=False)
    return tmp_path


@pytest.fixture
def ask(folder: Path) -> Iterator[Callable[..., Result]]:
    """`machine run` against a server, which keeps its port until the test is over."""
    with ExitStack() as stack:
        ports: dict[int, int] = {}

        def run(
            server: ChatServer, *more: object, path: str = "/v1", code: int = 0, **settings: object
        ) -> Result:
            if id(server) not in ports:
                ports[id(server)] = stack.enter_context(server.serve()).server_port
            return fire(
                *arguments(f"http://127.0.0.1:{ports[id(server)]}{path}", *more, **settings), code=code
            )

        yield run
