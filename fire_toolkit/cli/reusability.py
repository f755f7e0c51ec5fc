"""`reusability`: what scores and places are without each run's own judgments."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import format_option, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import choice_option, measure_option, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.errors import UsageError
from fire_toolkit.inference import leave_out
from fire_toolkit.measures.defaults import REUSABILITY


@click.command()
@reads("runs", "qrels", "augmented", "pool_sources", "own_item")
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME=RUN,RUN...",
    help="Runs that are left out together (may be repeated); the others one by one.",
)
@measure_option
@choice_option(
    "--show",
    ["own", "orders", "all"],
    "Each run left out, the orders that remain, or every run under each leaving-out.",
)
@format_option
def reusability(given: Given, families: tuple[str, ...], measures: tuple[str, ...], show: str) -> None:
    """Leave out each run's own judgments, or a family's: how far do scores and places move?

    A run that falls far would have been underrated had it come later; so will be one like it.
    """
    with Progress("ranks of judged docs"):
        found = leave_out(
            *given.runs_and_qrels,
            measures or REUSABILITY,
            sources=given.sources,
            families=_families(families),
        )
    say_notes(found.notes)
    given.say_unpooled()
    own = found.scores[found.scores["is_left_out"]].drop(columns="is_left_out")
    table = {"own": own, "orders": found.orders, "all": found.scores}[show]
    print_table(table, given.form, basis=given.basis())


def _families(given: tuple[str, ...]) -> dict[str, str]:
    families: dict[str, str] = {}
    for each in given:
        name, equals, members = each.partition("=")
        if not equals or not name or not members:
            raise UsageError(f"--family {each!r}; expected NAME=RUN,RUN, as in clip=clip-b,clip-l")
        for run_id in members.split(","):
            if run_id in families:
                raise UsageError(f"--family: run {run_id!r} is in {families[run_id]!r} and in {name!r}")
            families[run_id] = name
    return families
