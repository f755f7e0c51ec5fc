"""What a pool's design says of the qrels made of it: its sample, and the runs that it is settled for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_scores import MACHINE_SAMPLE
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import mark_sample
from fire_toolkit.files import read_bytes
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import has_columns, read_pool, read_query_design
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.tables.designs import DEEP, UNDRAWN
from fire_toolkit.workspace.settled import settled_by

DESIGN, UNDRAWN_FILE = "query_design.csv", "undrawn.csv"


def designed(given: Given, qrels: Qrels, name: str) -> tuple[Qrels, dict[str, Any], dict[str, Any]]:
    """Return augmented qrels as their pool's design has them, the files beside them, and parameters.

    Where the pool is a sample, the qrels get its strata, and beside them stand the same as CSV with the
    inclusion probabilities, and which queries were judged deep.
    """
    path = given.found("pool")
    if path is None:
        return qrels, {}, {}
    settled = settled_by(path)
    if settled is not None:
        given.use(path)
        if n_open := settled.open_queries:
            say(f"note: {n_of(n_open, 'query')} not settled yet for {settled.measure}: pool again")
    parameters = {} if settled is None else settled.parameters
    if (sample := path.with_name(MACHINE_SAMPLE)).is_file():  # apart, as other labels stand beside it
        given.use(sample)
        return qrels, {MACHINE_SAMPLE: read_bytes(sample)}, parameters
    if not has_columns(path, "stratum", "inclusion_probability"):
        return qrels, {}, parameters
    left = path.with_name(UNDRAWN_FILE)
    undrawn = check_table(UNDRAWN, read_delimited(given.use(left))) if left.is_file() else None
    pool = read_pool(given.use(path))
    marked = mark_sample(qrels, pool, undrawn)
    _say_open(given, pool[pair_rows(pool, qrels) < 0])
    beside: dict[str, Any] = {Path(name).stem + ".csv": marked}
    if (design := path.with_name(DESIGN)).is_file():
        read_query_design(given.use(design))
        beside[DESIGN] = read_bytes(design)
    return marked, beside, parameters


def _say_open(given: Given, missing: pd.DataFrame) -> None:
    """Say which pairs of a sample have no label, so that estimates take them as not relevant."""
    n_deep, n = int((missing["stratum"] == DEEP).sum()), int((missing["stratum"] != "").sum())
    if not n:
        return
    beside = given.needed("labels").with_name("disputes.csv")
    n_disputed = int((pair_rows(missing, given.disputes) >= 0).sum()) if beside.is_file() else 0
    of_deep = f" ({n_deep:,} of them of queries judged deep)" if n_deep else ""
    say(
        f"warning: {n_of(n, 'pair')} of the sample without a label{of_deep}, {n_disputed:,} in dispute: "
        "estimates take them as not relevant; judge them and settle disputes first (`next-round`)"
    )


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
