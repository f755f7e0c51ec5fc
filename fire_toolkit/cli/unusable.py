"""Queries that annotators found unusable: flagged, kept or dropped by `augment`, counted in every score."""

from __future__ import annotations

from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.formats.tables.table_files import read_query_labels
from fire_toolkit.inference.background import Unusable
from fire_toolkit.workspace.manifests import writer_of

FILE = "unusable.csv"


def unusable_of(inputs: Inputs) -> Unusable | None:
    """Return the unusable queries that `augment` wrote beside the augmented qrels; None without any."""
    is_its_own = not inputs.values.get("qrels") or inputs.values.get("augmented")
    path = inputs.found("augmented") if is_its_own else None
    writer = writer_of(path) if path else None
    found = writer.parameters if writer else {}
    if path is None or "unusable" not in found:
        return None
    table = read_query_labels(inputs.use(path.with_name(FILE)))
    return Unusable(found["unusable"], table, int(found["n_queries"]), int(found["n_labelled"]))
