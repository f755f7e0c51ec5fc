"""The circularity guard: what is said, and refused, where a judge and a run share a backbone."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from fire_toolkit.cli.common import current_workspace, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_scores import answers_of_judge
from fire_toolkit.pooling.registry import parse_strategy
from fire_toolkit.workspace.backbones import shared_backbones

MACHINE_SAMPLE = "machine_sample.csv"


def shared_runs(given: Given, judge: str, run_ids: Iterable[str]) -> dict[str, str]:
    """Return the runs that share a backbone with a judge, by fire.toml and the judge's own table, and why."""
    from fire_toolkit.errors import UsageError

    try:
        named = answers_of_judge(given, judge)["backbone"]
    except UsageError:  # the sample is here and the judge's table is not
        named = pd.Series([], dtype="str")
    known = named.iloc[0] if len(named) and named.nunique() == 1 else ""
    return shared_backbones(current_workspace(), judge, run_ids, known=str(known))


def say_circular(given: Given, strategy: str, sources: pd.DataFrame) -> None:
    """Say which runs share a backbone with the judge in whose order their pairs are pooled."""
    chosen = parse_strategy(strategy)
    if not chosen.reads_machine:
        return
    judge = chosen.parameters["judge"]
    shared = shared_runs(given, judge, sorted(sources["run_id"].unique()))
    if shared:
        say(
            f"warning: this is the order of judge {judge}, which may share errors with {', '.join(shared)} "
            f"({next(iter(shared.values()))}); backbones are named in fire.toml: [runs.NAME] and "
            "[machines.NAME], backbone"
        )
