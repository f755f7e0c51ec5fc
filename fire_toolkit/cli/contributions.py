"""`contributions`: what each run brought to the pool."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import format_option, n_of
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import choice_option, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.inference import contributions as count


@click.command()
@reads("pool_sources", "labels", "qrels", "own_item")
@choice_option("--show", ["runs", "sets"], "Count by run, or by set of runs, as an UpSet plot does.")
@format_option
def contributions(given: Given, show: str) -> None:
    """Count the pairs that each run pooled, those that it alone pooled, and how they were judged.

    Original positives that were confirmed are counted apart from new positives. What a run's own pairs
    change in the scores of a measure, `reusability -m` and `report table4 -m` say.
    """
    sources, labels = given.sources, given.labels
    with Progress(f"what became of {n_of(len(sources), 'row')} of pool sources"):
        found = count(sources, labels, given.original)
    print_table({"runs": found.by_run, "sets": found.by_set}[show], given.form, basis=given.basis())
