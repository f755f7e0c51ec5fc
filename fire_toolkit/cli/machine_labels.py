"""A machine judge's labels in augmented qrels: only where they are named, and marked wherever they go."""

from __future__ import annotations

from typing import Any

from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_scores import labels_of_judge
from fire_toolkit.qrels import MACHINE, Augmented, include_machine


def with_machine(given: Given, found: Augmented, judge: str) -> tuple[Augmented, dict[str, Any]]:
    """Return augmented qrels with a judge's labels where there are no people's, and how many these are."""
    beside = given.needed("labels").with_name("disputes.csv")
    left_out = given.disputes if beside.is_file() else None
    both = include_machine(found, labels_of_judge(given, judge), judge=judge, left_out=left_out)
    own = both[0]["source"] == f"{MACHINE}:{judge}"
    n_positive = int((both[0].loc[own, "relevance"] >= 1).sum())
    return both, {"machine_positive": n_positive, "machine_irrelevant": int(own.sum()) - n_positive}
