"""The demo's world as files, and `demo --live`: to be judged on our own page or a Label Studio."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from fire_toolkit.campaign.records import read_campaign, read_rounds
from fire_toolkit.cli.common import give_command, n_of, say
from fire_toolkit.cli.labelstudio import LOCK, stop_server
from fire_toolkit.cli.media_links import addresses_here
from fire_toolkit.demo.film import render_clip, write_clips
from fire_toolkit.demo.models import score_clips
from fire_toolkit.demo.world import World, make_world
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_items, read_judgments
from fire_toolkit.labelstudio.carrier import LabelStudio
from fire_toolkit.labelstudio.connection import read_connection
from fire_toolkit.labelstudio.register import read_register
from fire_toolkit.labelstudio.secrets import SERVER_FOLDER
from fire_toolkit.measures.defaults import DEMO
from fire_toolkit.media.probe import load_pyav
from fire_toolkit.media.serving import is_free_port, stoppable, wait_to_be_stopped
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.config import CONFIG, config_text
from fire_toolkit.workspace.locks import is_locked
from fire_toolkit.workspace.manifests import write_files

if TYPE_CHECKING:
    from fire_toolkit.media.server import MediaServer

# So few that one person is done within some minutes, and some of them for both annotators.
N_CAPTIONS, DEPTH, OVERLAP = 12, 3, 0.25
ANNOTATORS = ("A01", "A02")
PAGE_PORT = 8792
ITEMS, SERVED = Path("collection/items.tsv"), Path("collection/items.served.tsv")


def run_live(root: Path, *, on_label_studio: bool = False) -> None:
    """Make or find the live demo in `root`, keep it up until Ctrl-C, then pull and print the tables."""
    load_pyav()  # a page for videos shows nothing else
    prepare_folder(root, "live" if on_label_studio else "live page")
    items = SERVED if on_label_studio else ITEMS
    if not (root / items).is_file():
        world = make_world(n_captions=N_CAPTIONS)
        say(
            f"a world of {n_of(len(world.items), 'clip')} and {n_of(len(world.queries), 'caption')} in {root}"
        )
        write_world(world, root, items=items, depth=DEPTH, overlap=OVERLAP)
    with contextlib.chdir(root):
        if on_label_studio:
            with _label_studio(), _media():
                _pool_once()
                for words in (["media", "check"], ["annotators", "add", *ANNOTATORS], ["push"]):
                    give_command(*words)
                _wait()
                give_command("pull")
        else:
            _run_on_own_page()
        _show_tables()
    _say_what_next(root, " --label-studio" if on_label_studio else "")


def _run_on_own_page() -> None:
    """Serve the page until Ctrl-C; it is there within seconds and needs nothing else."""
    _pool_once()
    people = [word for name in ANNOTATORS for word in ("--annotator", name)]
    give_command("push", "--carrier", "page", *people)
    say("\nOpen a link below, agree, and press 1, 2 or 3. Two people, or you in two browsers: some pairs are")
    say("asked of both. Ctrl-C here fetches the answers and prints the tables.")
    port = ["--port", "0"] if not is_free_port(PAGE_PORT) else []
    links = [word for name in ANNOTATORS for word in ("--new-link", name)]
    give_command("page", "serve", *links, *port)
    give_command("pull")


@contextmanager
def _label_studio() -> Iterator[None]:
    """Run the workspace's Label Studio; it is stopped afterwards unless it ran before."""
    folder = Path(SERVER_FOLDER).absolute()
    was_running = is_locked(folder / LOCK)
    try:
        give_command("labelstudio", "start")
        yield
    finally:
        if not was_running and stop_server(folder):
            say("Label Studio is stopped; its data stays")


@contextmanager
def _media() -> Iterator[MediaServer]:
    """Serve the clips in the background, at the address that the tasks hold if there are tasks."""
    from fire_toolkit.media.places import PORT
    from fire_toolkit.media.server import MediaServer, items_at, served_files

    items = read_items(ITEMS)
    known = urlsplit(read_items(SERVED)["media_url"][0]).port if SERVED.is_file() else None
    port = known or (PORT if is_free_port(PORT) else 0)
    names, _ = served_files(items, root=Path.cwd())
    origin = read_connection(Path.cwd(), environ={}).url
    addresses = addresses_here(names, f"http://127.0.0.1:{port}")
    files = {addresses[url]: name for url, name in names.items()}
    server = MediaServer(Path.cwd(), files, origins=[origin], port=port, report=say)
    say(f"\n$ fire-toolkit media serve {ITEMS} --port {server.server_port} --write-items {SERVED}")
    with server:
        if not SERVED.is_file():
            text = delimited_text(items_at(items, server.base_url, addresses), delimiter="\t")
            write_files({SERVED: text.encode()})
        say(f"{n_of(len(names), 'clip')} at {server.base_url}, for pages of {origin}")
        yield server


def _pool_once() -> None:
    """Make pool and tasks; what is there already stays."""
    if not Path("tasks/tasks.json").is_file():
        give_command("pool")
        give_command("tasks")


def _wait() -> None:
    """Say where to judge, and wait until Ctrl-C or SIGTERM."""
    people = {row.pseudonym: row for row in read_register(Path(SERVER_FOLDER).absolute())}
    say("\nReady to be judged. Log in, then press 1, 2 or 3 and the space bar:")
    root, campaign = Path.cwd(), read_campaign(Path.cwd())
    if campaign is not None:
        found = LabelStudio(read_connection(root, environ={}), root).where(campaign, read_rounds(root))
        for queue in sorted(found, key=str):
            name, person = queue.annotator_id, people[queue.annotator_id]
            say(f"  {name}: {found[queue]}\n       log in as {person.email}, password {person.password}")
    say("Two people, or you in two browser windows (one of them private): some pairs are asked of both.")
    say("\nCtrl-C here fetches the answers, prints the tables and stops both servers.")
    with stoppable() as stopped:
        wait_to_be_stopped(stopped)


def _show_tables() -> None:
    """Print what can be said from the answers so far."""
    judgments, _ = read_judgments("judgments/judgments.csv")
    if judgments.empty:
        say("no answer yet")
        return
    by_both = judgments.groupby(PAIR)["annotator_id"].nunique().max() > 1
    steps: Sequence[Sequence[str]] = (["resolve"], ["augment"], ["score"])
    for words in ([["agree"]] if by_both else []) + [list(step) for step in steps]:
        try:
            give_command(*words)
        except FireError as error:
            say(f"error: {error}")
            return
    if not by_both:
        say("no pair was judged by both yet, so there is no agreement to compute")


def _say_what_next(root: Path, how: str) -> None:
    say(f"\nThe live demo is a workspace: {root}. Next:")
    for line in (
        f"fire-toolkit demo --live{how} --out {root}   # judge on where you stopped",
        f"cd {root} && fire-toolkit status",
    ):
        say(f"  {line}")


def prepare_folder(root: Path, kind: str) -> None:
    """Make the demo's folder; one that is there must hold a demo of the same kind."""
    mark = root / ".fire-demo"
    if root.exists() and not (mark.is_file() and mark.read_text(encoding="utf-8") == kind):
        other = "another demo" if mark.is_file() else "no demo"
        raise UsageError(f"{root}: already exists and is {other}; choose another --out")
    write_files({mark: kind.encode()})


def write_world(
    world: World,
    root: Path,
    *,
    items: Path = Path("collection/items.tsv"),
    depth: int = 10,
    overlap: float = 0.15,
) -> None:
    """Write clips, collection, runs and fire.toml (which names `items`): what a researcher would bring.

    depth, overlap: deep enough that most positives are pooled, shallow enough that some stay unjudged.
    """
    frames = [render_clip(clip) for clip in world.clips]
    write_clips(world, root / "media", frames)
    settings: dict[str, dict[str, Any]] = {
        "collection": {"items": items.as_posix()},
        "pool": {"depth": depth},
        "tasks": {"overlap": overlap, "seed": 0},
        "score": {"measures": list(DEMO)},
    }
    write_files({root / CONFIG: config_text(settings).encode()})
    paths = world.items.assign(media_url="media/" + world.items["media_url"])
    collection = {
        "queries.tsv": delimited_text(world.queries, delimiter="\t"),
        "items.tsv": delimited_text(paths, delimiter="\t"),
        "qrels.txt": trec_qrels_text(world.original),
    }
    write_files({root / "collection" / name: text.encode() for name, text in collection.items()})
    ids = {"query_ids": list(world.queries["query_id"]), "doc_ids": list(world.items["doc_id"])}
    own = [ids["doc_ids"].index(doc_id) for doc_id in world.original["doc_id"]]
    scored = score_clips(list(world.queries["text"]), frames, own)
    for run_id, sims in scored.items():
        arrays: dict[str, Any] = {"sims": sims, **ids}
        np.savez_compressed(stream := io.BytesIO(), **arrays)
        write_files({root / "runs" / f"{run_id}.npz": stream.getvalue()})
    (root / "exports").mkdir(exist_ok=True)
