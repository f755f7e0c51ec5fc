"""How the judged pairs were chosen, and with which chance each pair of a join was to be judged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.tables import QueryDesign
from fire_toolkit.tables.columns import PAIR


class Design(NamedTuple):
    """How the judged pairs were chosen.

    pairs: those that were drawn or could be: query_id, doc_id, stratum (`shallow`: judged for every query;
    `deep`: judged because the query was drawn; `from:to:rate`, `original`: of pairs drawn in strata; empty:
    judged for another reason, which no estimate uses), inclusion_probability, and of strata is_drawn.
    queries: which of them were judged deep; None where pairs were drawn. sample: of a machine judge, see
    `check_machine_sample`; then no other is read. shared: runs that may share its backbone, with the reason.
    """

    pairs: pd.DataFrame
    queries: QueryDesign | None
    sample: pd.DataFrame | None = None
    shared: Mapping[str, str] = MappingProxyType({})


def chances_of(joined: JudgedPairs, design: Design | None) -> Floats | None:
    """Return with which probability each pair of a join was to be judged, 0 where the design did not ask it.

    None where no people's sample was drawn.
    """
    if design is None or design.sample is not None:
        return None
    _, is_of_design, probability = drawn_pairs_of(joined, design)
    return np.where(is_of_design, probability, 0.0)


def unlabelled_of(joined: JudgedPairs, design: Design, is_labelled: Bools) -> Bools:
    """Return which pairs of a join a design asks people about and have no label: in dispute, or no answer."""
    asked = design.pairs[design.pairs["stratum"].fillna("") != ""]
    if design.queries is None:
        asked = asked[asked["is_drawn"]] if "is_drawn" in asked else asked[:0]
    place = joined.find_rows(asked)
    found = np.zeros(len(joined.pairs), dtype=bool)
    found[place[place >= 0]] = True
    return found & ~is_labelled


def pairs_of_sample(design: Design | None) -> list[pd.DataFrame]:
    """Return the pairs that a design could draw, as runs and qrels are joined with them; none without one."""
    if design is None or design.queries is not None:
        return []
    return [(design.pairs if design.sample is None else design.sample)[PAIR].assign(relevance=0)]


def drawn_pairs_of(joined: JudgedPairs, design: Design) -> tuple[Bools, Bools, Floats]:
    """Return of each pair of a join whether it was judged for every query, at all, and with which chance."""
    stratum = design.pairs["stratum"].fillna("").astype(str).to_numpy()
    place = joined.find_rows(design.pairs)
    held = (stratum != "") & (place >= 0)
    is_shallow, is_of = np.zeros((2, len(joined.pairs)), dtype=bool)
    is_shallow[place[held & (stratum == "shallow")]] = True
    is_of[place[held]] = True
    chance = pd.to_numeric(design.pairs["inclusion_probability"], errors="coerce").fillna(1.0)
    probability = np.ones(len(joined.pairs))
    probability[place[held]] = chance.to_numpy(dtype=np.float64)[held]
    return is_shallow, is_of, probability
