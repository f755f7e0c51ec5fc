"""`demo`: the whole loop on a small world whose truth is known; every stage is the real command."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import click

from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.cli.common import drawn, give_command, n_of, say
from fire_toolkit.cli.demo_live import run_live
from fire_toolkit.cli.demo_world import prepare_folder, write_world
from fire_toolkit.commands.types import Option
from fire_toolkit.demo.annotators import annotators_seen, answer_tasks
from fire_toolkit.demo.encode import media_suffix
from fire_toolkit.demo.truth import TruthReport, compare_with_truth
from fire_toolkit.demo.world import World, make_world
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.tables.table_files import read_labels, read_pool
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import DEMO, DEMO_SHOWN
from fire_toolkit.workspace.manifests import write_files


def demo(
    *,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    seed: int = 0,
    live: bool = False,
    label_studio: bool = False,
) -> None:
    """Run the whole loop on rendered clips, real small models and annotators with known habits.

    About 60 clips of moving shapes are rendered and encoded; each caption's own clip is its only
    original positive, though others match too. Five models rank the clips from their pixels; four
    annotators (careful, hasty, lenient, strict) answer. The truth of every pair is known, so at the
    end the corrected scores stand beside the true ones.

    Args:
        out: Where the demo's workspace is made. [default: fire-demo, fire-demo-live with --live]
        seed: Another seed makes another world.
        live: Judge yourself, in the browser: a smaller world on our own page, until Ctrl-C.
        label_studio: With --live: on a Label Studio on this machine (installed on first use: about 4 minutes,
            1 GB).
    """
    if live:
        run_live(Path(out or "fire-demo-live"), seed, on_label_studio=label_studio)
        return
    if label_studio:
        raise click.UsageError("--label-studio goes with --live")
    root = Path(out or "fire-demo")
    prepare_folder(root, "")
    world = make_world(seed=seed, media_suffix=_media_suffix())
    say(f"a world of {n_of(len(world.items), 'clip')} and {n_of(len(world.queries), 'caption')} in {root}")
    write_world(world, root, seed)
    with contextlib.chdir(root):
        give_command("pool")
        give_command("tasks")
        seen = _answer(world, "tasks/tasks.json", "first", batch=1, seed=seed, seen={})
        seen = _answer(world, "tasks/tasks.overlap.json", "second", batch=2, seed=seed, seen=seen)
        for words in (["import"], ["resolve"], ["next-round"]):
            give_command(*words)
        _third_labels(world, seed, seen)
        for words in (["augment"], ["score"], ["compare"], ["gallery"], ["report", "html"]):
            give_command(*words)
        _compare_with_truth(world)
    _say_what_next(root)


def _media_suffix() -> str:
    """Return the kind of file the clips are written as, and say so when it is not video."""
    suffix = media_suffix()
    if suffix != ".webm":
        say("note: PyAV is not installed (pip install av): clips are animated pictures")
    return suffix


def _answer(
    world: World, task_file: str, name: str, *, batch: int, seed: int, seen: dict[str, set[str]]
) -> dict[str, set[str]]:
    """Let the annotators answer a file of tasks, write their exports, return who has seen which pair."""
    tasks = json.loads(Path(task_file).read_text(encoding="utf-8"))
    keys = [task["data"]["pair_id"] for task in tasks]
    exports = answer_tasks(
        tasks,
        pair_ids={key: split_pair_id(key) for key in keys},
        pairs=world.pairs,
        seen=seen,
        batch=batch,
        seed=seed,
    )
    files = {f"{name}-{who}.json": json.dumps(export, indent=1) for who, export in exports.items() if export}
    if files:
        write_files({Path("exports") / file: text.encode() for file, text in files.items()})
    say(f"\n{len(exports)} annotators answered {n_of(len(tasks), 'task')}: {', '.join(sorted(files))}")
    answered = annotators_seen(exports)
    return {key: seen.get(key, set()) | answered.get(key, set()) for key in {*seen, *answered}}


def _third_labels(world: World, seed: int, seen: dict[str, set[str]]) -> None:
    """Ask a third annotator about every dispute, and resolve again."""
    words = ["--overlap", "0", "--out", "tasks/third.json"]
    give_command("tasks", "plan/round-2", *words)
    _answer(world, "tasks/third.json", "third", batch=3, seed=seed, seen=seen)
    for words in (["import"], ["agree"], ["resolve"]):
        give_command(*words)


def _compare_with_truth(world: World) -> None:
    """Print how near labels and scores came to the truth."""
    report = compare_with_truth(
        world,
        labels=read_labels("labels"),
        pool=read_pool("pool"),
        runs=[read_run(path) for path in sorted(Path("runs").glob("*.npz"))],
        augmented=read_qrels("augmented/qrels.txt"),
        measures=[name for name in DEMO if parse_measure(name).definition.is_score],
    )
    click.echo("\nBeside the truth, which only a made world has:")
    for line in (
        f"{report.n_right:,} of {n_of(report.n_labels, 'label')} are right "
        f"({report.n_right / report.n_labels:.1%})",
        f"the original qrels hold {report.n_original} of {report.n_positives} positives: "
        f"the other {report.n_positives - report.n_original} count as wrong answers",
        f"the pool holds {report.n_pooled} of them ({report.n_pooled / report.n_positives:.1%}); "
        "the rest stays unjudged",
    ):
        click.echo(f"  {line}")
    click.echo("\n" + drawn(*_drawn_report(report), "table"), nl=False)


def _drawn_report(report: TruthReport) -> tuple[list[list[str]], list[str]]:
    """Return rows and header: two measures by the original, the corrected and the true labels."""
    shown, columns = DEMO_SHOWN, ("original", "corrected", "true")
    values = report.scores.set_index(["run_id", "measure"])
    rows = [
        [run_id, *(f"{100 * values.loc[(run_id, name), column]:.1f}" for name in shown for column in columns)]
        for run_id in dict.fromkeys(report.scores["run_id"])
    ]
    return rows, ["run", *(f"{name}\n{column}" for name in shown for column in columns)]


def _say_what_next(root: Path) -> None:
    say(f"\nThe demo is a workspace: {root}. Next, look around in it:")
    for line in (
        f"cd {root}",
        "fire-toolkit status",
        "open report.html           # scores, agreement and what is uncertain, for your browser",
        "open gallery/index.html    # every caption with each model's top clips, playing, and their labels",
        "fire-toolkit score --per-query --format csv | head",
        "fire-toolkit agree --by annotator_id",
        "fire-toolkit guideline caption-relevance-v1",
        "fire-toolkit demo --live   # judge yourself, in the browser",
    ):
        say(f"  {line}")
    say("and then run `fire-toolkit init` in a folder of your own, with your own models' runs.")
