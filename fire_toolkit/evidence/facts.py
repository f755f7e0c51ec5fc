"""All that is known of each pair, and of the whole: what `augment` makes, and every score reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.tables.checks import checks_as

MOST_ROWS = 1_000_000  # of a CSV; more are written as Parquet
UNJUDGED, TAKEN_OUT = "unjudged", "unusable"  # sources beside those of `augment_qrels`

check_evidence = checks_as(pd.DataFrame, "evidence")


class Settled(NamedTuple):
    """What labels are settled for: a measure, the runs (id → sha256 of its file), and queries that wait."""

    measure: str
    runs: Mapping[str, str]
    open_queries: int

    @property
    def parameters(self) -> dict[str, Any]:
        """The same as it stands in a manifest."""
        return {"settled": self._asdict()}


@dataclass(frozen=True)
class Facts:
    """What is known of evidence as a whole.

    policy: on rejected originals. original_grade: at which original positives count, None: as in their
    file. highest_grade: of the guideline, None: not known, or 1. unusable: what
    becomes of unusable queries (`flag`, `keep`, `drop`), empty where nobody was asked; n_queries: of the
    original qrels, and n_labelled: how many of them are known to be usable or not. settled: for what the
    labels are, None: for any run. counts: of `augment`: labels that were shared, errors of labels, a
    machine's labels. backbone: of the machine judge whose sample was drawn, backbones: of runs. experts: the
    labels drawn for them, and their answers.
    """

    policy: str = "union"
    original_grade: int | None = None
    highest_grade: int | None = None
    unusable: str = ""
    n_queries: int = 0
    n_labelled: int = 0
    settled: Settled | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    backbone: str = ""
    backbones: Mapping[str, str] = field(default_factory=dict)
    experts: tuple[pd.DataFrame, pd.DataFrame] | None = None


class Evidence(NamedTuple):
    """All that is known of each pair (see `check_evidence`), and of the whole."""

    pairs: pd.DataFrame
    facts: Facts = Facts()


def words_of_machine(facts: Mapping[str, Any]) -> list[str]:
    """Return what no person labelled, by the parameters and counts of `augment`; nothing without.

    Examples:
        >>> words_of_machine({"include_machine": "vlm", "machine_positive": 2, "machine_irrelevant": 5})
        ['7 pairs labelled by the machine judge vlm and by no person, 2 of them positive']
    """
    if not facts.get("include_machine"):
        return []
    n, n_positive = (facts.get(f"machine_{name}", 0) for name in ("irrelevant", "positive"))
    named = f"the machine judge {facts['include_machine']}"
    return [f"{n + n_positive:,} pairs labelled by {named} and by no person, {n_positive:,} of them positive"]
