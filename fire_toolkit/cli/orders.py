"""`orders`: the order of runs under two labellings or more."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.as_augmented import as_augmented
from fire_toolkit.cli.common import (
    chosen_path,
    format_option,
    n_of,
    say_notes,
    setting_or_default,
    workspace_path,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import (
    accept_unpooled_option,
    choice_option,
    cluster_options,
    draw_options,
    measure_option,
    reads,
)
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.sampled_qrels import check_settled
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.inference import compare_orders


@click.command()
@reads("runs", "own_item")
@click.option(
    "--qrels",
    "labellings",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Two qrels or more, the original first. [default: the workspace's original and augmented]",
)
@measure_option
@choice_option(
    "--show", ["agreement", "swaps", "scores"], "Tau of the orders, every pair of runs, or every place."
)
@cluster_options
@draw_options
@format_option
@accept_unpooled_option
def orders(
    given: Given, labellings: tuple[str, ...], measures: tuple[str, ...], show: str, accept_unpooled: bool
) -> None:
    """Compare the order of runs under two or more qrels: original and augmented, or several rules.

    Tau and tau_AP say how alike the orders are; --show swaps gives, for every two runs, how often they
    would be ordered differently had other captions been drawn.
    """
    files = _files_of(labellings, given)
    read = {name: read_qrels(given.use(path)) for name, path in files.items()}
    first, *others = read
    original = given.own.original(read[first])
    if not labellings:
        original = as_augmented(original, *given.grade_beside)
        original = original if given.unusable is None else given.unusable.counted(original)
    qrels = {first: original} | {name: given.own.corrected(read[name], original, name) for name in others}
    names = tuple(setting_or_default(measures, "score", "measures"))
    check_settled(given, names, accept=accept_unpooled, files=list(files.values()))
    with Progress() as tell:
        found = compare_orders(given.stored_runs, qrels, names, **given.draws, tell=tell)
    say_notes(found.notes)
    table = {"agreement": found.agreement, "swaps": found.swaps, "scores": found.scores}[show]
    sizes = ", ".join(f"{name} {len(own) - given.own.n_added:,} pairs" for name, own in qrels.items())
    n_queries = next(iter(qrels.values()))["query_id"].nunique()
    print_table(table, given.form, basis=given.basis(n_of(int(n_queries), "query"), sizes))
    if not labellings:
        given.say_unpooled()


def _files_of(labellings: tuple[str, ...], given: Given) -> dict[str, Path]:
    """Return the files of the qrels named, else the workspace's original and augmented, by their names."""
    if not labellings:
        path = chosen_path(None, workspace_path("augmented/qrels.txt"), "--qrels")
        own = given.needed("qrels")
        return {"original": own, "augmented": path}
    found: dict[str, Path] = {}
    for each in labellings:
        name, equals, path_text = each.partition("=")
        is_named = bool(equals) and "/" not in name
        path = Path(path_text if is_named else each)
        label = name if is_named else path.name
        if label in found:
            raise UsageError(f"two qrels are called {label!r}; name them, as in a={path} b=...")
        found[label] = path
    return found
