"""`machine doubts`: labels that a judge would look at again, and queries that it would."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import Range, format_option, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_scores import scores_of_judge
from fire_toolkit.cli.options import reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.machines.doubts import doubtful_labels, doubtful_queries
from fire_toolkit.tables.validity import ALONE


@click.command()
@click.argument("judge", metavar="JUDGE")
@reads("labels", "qrels", machine="Machine judgments (machine.csv). [default: the workspace's]")
@click.option(
    "--least",
    type=Range(0.5, 1, min_open=True),
    default=0.9,
    show_default=True,
    help="From which doubt on: P(yes) of a label that is not relevant, 1 - P(yes) of one that is.",
)
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="The N most doubtful. [default: all]")
@click.option(
    "--queries", "of_queries", is_flag=True, help="Queries whose own positives the judge doubts, instead."
)
@format_option
@click.option("--out", metavar="FILE", help="Also write them as CSV, which `next-round --recheck` reads.")
def doubts(given: Given, judge: str, least: float, most: int | None, of_queries: bool) -> None:
    """Print people's labels that a judge considers wrong, the most doubtful first.

    These are suggestions. `next-round --recheck FILE` asks people again about them; their answers are of
    kind recheck and enter no rate of errors, since the judge, not chance, chose them. With --queries it
    prints queries of which the judge finds no original positive right, or whose captions, where it saw them
    alone, it finds unusable: read their captions.
    """
    scores = scores_of_judge(given, judge)
    if of_queries:
        are_alone = (scores["doc_id"] == ALONE).all()
        original = None if are_alone else given.original
        found = doubtful_queries(original, scores, most=round(1 - least, 9))
    else:
        found = doubtful_labels(given.labels, scores, least=least)
    n_all = len(found)
    found = found.head(most) if most else found
    print_table(found, given.form)
    what = "query" if of_queries else "label"
    say(f"{n_of(n_all, what)} doubted by judge {judge} at {least:g} or more; suggestions, not errors")
    if given.values["out"]:
        given.keep(found, "machine doubts", {"judge": judge, "least": least, "most": most})
        if not of_queries and len(found):
            say(f"next: fire-toolkit next-round --recheck {given.values['out']}")
