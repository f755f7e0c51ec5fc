"""What a pool's design says of the qrels made of it: its sample, and the runs that it is settled for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.workspace.settled import settled_by


def check_settled(given: Given, measures: Sequence[str], *, accept: bool, files: Sequence[Path] = ()) -> None:
    """Say what scores by settled qrels are not; refuse a run that they are not settled for, unless accepted.

    files: qrels, the first that are settled count; none: the augmented ones.

    Raises:
        UsageError: a run outside was not accepted.
    """
    path = None if files else given.found("augmented")
    known = [path] if path and given.augmented_if_any is not None else files
    settled = next((found for each in known if (found := settled_by(each)) is not None), None)
    if settled is None:
        return
    for_runs = f"settled for {settled.measure} of {', '.join(settled.runs)}"
    runs = [run_id_of(run) for run in given.stored_runs]
    outside = [name for name in runs if settled.runs.get(name) != given.run_hashes[name]]
    if outside:
        words = f"{', '.join(outside)}: the augmented qrels are {for_runs}, and what only another run finds"
        words += " was never asked"
        if not accept:
            raise UsageError(
                f"{words}; pool it too with the same strategy, or add --accept-unpooled: its scores are then "
                "too low beside the others"
            )
        say(f"note: {words}: its scores are too low beside the others")
    if n_open := settled.open_queries:
        say(f"note: {n_of(n_open, 'query')} not settled yet, so {settled.measure} can still rise: pool again")
    if others := [name for name in measures if name != settled.measure]:
        say(f"note: the augmented qrels are {for_runs}; further answers could change {', '.join(others)}")
