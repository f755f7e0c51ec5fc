"""`demo`: the whole loop on a small world whose truth is known; every stage is the real command."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import click

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.cli.common import give_command, n_of, say
from fire_toolkit.commands.types import Option
from fire_toolkit.demo.annotators import answer_tasks
from fire_toolkit.demo.film import figure_in_text, media_suffix, prepare_folder, write_world
from fire_toolkit.demo.world import World, compare_with_truth, make_world
from fire_toolkit.errors import FireError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.tables.table_files import read_judgments, read_labels, read_pool
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import DEMO, DEMO_SHOWN, FIRST
from fire_toolkit.media.probe import load_pyav
from fire_toolkit.media.serving import is_free_port
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import text_in
from fire_toolkit.workspace.manifests import write_files

# Live: so few that one person is done within some minutes, and some of them for both annotators.
N_CAPTIONS, DEPTH, OVERLAP = 12, 3, 0.25
ANNOTATORS = ("A01", "A02")
PAGE_PORT = 8792


def demo(
    *,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    live: bool = False,
) -> None:
    """Run the whole loop on rendered clips, real small models and annotators with known habits.

    About 60 clips of moving shapes are rendered; each caption's own clip is its only original positive,
    though others match too. Five models rank the clips from their pixels (one has seen half of the captions
    before), and four annotators (careful, hasty, lenient, strict) answer. The truth of every pair is known,
    so the corrected scores stand beside the true ones.

    Args:
        out: Where the demo's workspace is made. [default: fire-demo, fire-demo-live with --live]
        live: Judge yourself, in the browser: a smaller world on our own page, until Ctrl-C.
    """
    if live:
        run_live(Path(out or "fire-demo-live"))
        return
    root = Path(out or "fire-demo")
    prepare_folder(root, "")
    if (suffix := media_suffix()) != ".webm":
        say("note: PyAV is not installed (pip install av): clips are animated pictures")
    world = make_world(media_suffix=suffix)
    _say_world(world, root)
    write_world(world, root)
    with contextlib.chdir(root):
        give_command("pool")
        give_command("tasks")
        seen: dict[str, set[str]] = {}
        _answer(world, "tasks/tasks.json", "first", batch=1, seen=seen)
        _answer(world, "tasks/tasks.overlap.json", "second", batch=2, seen=seen)
        for words in (["import"], ["resolve"], ["next-round"]):
            give_command(*words)
        give_command("tasks", "plan/round-2", "--overlap", "0")
        _answer(world, "tasks/round-2/tasks.json", "third", batch=3, seen=seen)  # of every dispute
        for words in (["import"], ["agree"], ["resolve"], ["augment"], ["score"], ["compare"], ["gallery"]):
            give_command(*words)
        told, scores = compare_with_truth(
            world,
            labels=read_labels("labels"),
            pool=read_pool("pool"),
            runs=[read_run(path) for path in sorted(Path("runs").glob("*.npz"))],
            augmented=read_qrels("augmented/qrels.txt"),
            measures=[name for name in DEMO if parse_measure(name).definition.is_score],
            shown=DEMO_SHOWN,
        )
        click.echo(told, nl=False)
        give_command("report", "html")
    scores = scores[scores["measure"] == FIRST]
    scores = scores.sort_values("corrected", ascending=False, kind="stable")
    click.echo(f"\n{FIRST} by the benchmark (o) and corrected (#):")
    click.echo("\n".join(figure_in_text(scores)))
    say(text_in("demo", "closing.txt").format(root=root).rstrip())


def run_live(root: Path) -> None:
    """Make or find the live demo in `root`, serve its page until Ctrl-C, then pull and print the tables."""
    load_pyav()  # a page for videos shows nothing else
    prepare_folder(root, "live page")
    if not (root / "collection/items.tsv").is_file():
        world = make_world(n_captions=N_CAPTIONS)
        _say_world(world, root)
        write_world(world, root, depth=DEPTH, overlap=OVERLAP)
    with contextlib.chdir(root):
        if not Path("tasks/tasks.json").is_file():
            give_command("pool")
            give_command("tasks")
        people = [word for name in ANNOTATORS for word in ("--annotator", name)]
        give_command("push", "--carrier", "page", *people)
        say("\nOpen a link below, agree, and press 1, 2 or 3. Two people, or you in two browsers: some pairs")
        say("are asked of both. Ctrl-C here fetches the answers and prints the tables.")
        port = ["--port", "0"] if not is_free_port(PAGE_PORT) else []
        links = [word for name in ANNOTATORS for word in ("--new-link", name)]
        give_command("page", "serve", *links, *port)
        give_command("pull")
        _show_tables()
    say(text_in("demo", "live.txt").format(root=root).rstrip())


def _say_world(world: World, root: Path) -> None:
    say(f"a world of {n_of(len(world.items), 'clip')} and {n_of(len(world.queries), 'caption')} in {root}")


def _show_tables() -> None:
    """Print what can be said from the answers so far."""
    judgments = read_judgments("judgments/judgments.csv")
    if judgments.empty:
        say("no answer yet")
        return
    by_both = judgments.groupby(PAIR)["annotator_id"].nunique().max() > 1
    for word in (*(["agree"] if by_both else []), "resolve", "augment", "score"):
        try:
            give_command(word)
        except FireError as error:
            say(f"error: {error}")
            return
    if not by_both:
        say("no pair was judged by both yet, so there is no agreement to compute")


def _answer(world: World, task_file: str, name: str, *, batch: int, seen: dict[str, set[str]]) -> None:
    """Let the annotators answer a file of tasks, write their exports, and note who has seen which pair."""
    tasks = json.loads(Path(task_file).read_text(encoding="utf-8"))
    keys = [task["data"]["pair_id"] for task in tasks]
    exports = answer_tasks(
        tasks, pair_ids={key: split_pair_id(key) for key in keys}, pairs=world.pairs, seen=seen, batch=batch
    )
    files = {f"{name}-{who}.json": json.dumps(export, indent=1) for who, export in exports.items() if export}
    if files:
        write_files({Path("exports") / file: text.encode() for file, text in files.items()})
    say(f"\n{len(exports)} annotators answered {n_of(len(tasks), 'task')}: {', '.join(sorted(files))}")
    for who, export in exports.items():
        for task in export:
            seen.setdefault(task["data"]["pair_id"], set()).add(who)
