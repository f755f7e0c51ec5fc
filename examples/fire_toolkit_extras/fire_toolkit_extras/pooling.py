"""A pool for a small budget: what two runs agree on."""

from collections.abc import Mapping

import pandas as pd

from fire_toolkit.tables import Run

PAIR = ["query_id", "doc_id"]


def twice(runs: Mapping[str, Run]) -> dict[str, Run]:
    """Return of each run the docs that stand in the top of two runs or more."""
    pairs = pd.concat([run[PAIR].astype("str") for run in runs.values()])
    shared = pd.MultiIndex.from_frame(pairs[pairs.duplicated()])
    return {
        run_id: Run(run[pd.MultiIndex.from_frame(run[PAIR].astype("str")).isin(shared)])
        for run_id, run in runs.items()
    }
