"""What was asked before a pool is made, as the files given and the workspace know it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from fire_toolkit.cli.common import current_workspace, file_in, made_file, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.formats.releases import judged_file
from fire_toolkit.formats.tables.table_files import judged_pairs, read_pool, read_pool_sources
from fire_toolkit.tables import Pool, PoolSources
from fire_toolkit.workspace.rounds import begun_rounds, planned_rounds


@dataclass(frozen=True)
class Earlier:
    """What was asked before: a pool and its sources, judged pairs, the round that new pairs get.

    is_whole: whether all pairs of the pool's file were asked. durations: the seconds of the workspace's
    judgments, as text; None where it has none.
    """

    pool: Pool | None
    sources_file: Path | None
    judged: pd.DataFrame | None
    next_round: int | None
    is_whole: bool = True
    durations: pd.Series | None = None

    @cached_property
    def sources(self) -> PoolSources | None:
        """Which run brought which pair of the pool."""
        return read_pool_sources(self.sources_file) if self.sources_file else None


def read_earlier(given: Given, judged: tuple[str, ...], previous: str | None) -> Earlier:
    """Return what was asked before, as the files given and the workspace know it."""
    workspace = current_workspace()
    own = made_file("judgments/judgments.csv") or made_file("labels/labels.csv")
    given_files = [judged_file(Path(name)) for name in judged]
    files = {file.absolute(): file for file in [*given_files, *([own] if own else [])]}
    known = {at: judged_pairs(given.use(file)) for at, file in files.items()}
    pairs = pd.concat([found for found, _ in known.values()], ignore_index=True) if known else None
    durations = known[own.absolute()][1] if own else None
    rounds = begun_rounds(workspace.root) if workspace else set()
    rounds |= set(pairs["round"].unique().tolist()) if pairs is not None else set()
    taken = rounds | planned_rounds(workspace.root) if workspace and rounds else rounds
    at = previous or workspace_path("pool")
    file = file_in(at, "pool.csv") if at else None
    if file is None or not (previous or (rounds and file.is_file())):
        return Earlier(None, None, pairs, 1 + max(taken) if taken else None, durations=durations)
    found = read_pool(given.use(file, goes_on=True) if previous else file)
    n_pooled = len(found)
    if not previous:  # what was pooled and never asked is as new as the rest
        is_asked = found["round"].isin(rounds)
        found = found if is_asked.all() else Pool(found[is_asked])
    beside = file.with_name("pool_sources.csv")
    number = 1 + max({*taken, *found["round"].unique().tolist()}, default=0)
    is_whole = len(found) == n_pooled
    return Earlier(found, beside if beside.is_file() else None, pairs, number, is_whole, durations)
