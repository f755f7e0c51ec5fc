"""Kinds of judged pairs, and what the votes on each say of relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.label_errors import (
    ErrorRates,
    VoteCounts,
    class_rate,
    estimated_relevance,
    moment_rates,
)
from fire_toolkit.tables.design import CLASSES


class Judged(Protocol):
    """Judged pairs that are not originals: design_class, band and relevance of each, and what it counts."""

    @property
    def pairs(self) -> pd.DataFrame:
        """The pairs."""

    @property
    def n_bands(self) -> int:
        """How many bands of ranks have rates of their own."""

    @property
    def counted(self) -> Floats:
        """(n_pairs, 4): what each pair adds to the counts that rates come from."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of judged pairs: class × band × label (0, 1), and last the original positives.

    code: place of class, band and label in that order.
    """

    n_bands: int

    def __len__(self) -> int:
        return 2 * len(CLASSES) * self.n_bands

    def code(self, pairs: pd.DataFrame) -> Ints:
        """Return the kind of each pair."""
        place = pairs["design_class"].map({name: n for n, name in enumerate(CLASSES)}).to_numpy()
        kind = (place * self.n_bands + pairs["band"].to_numpy()) * 2 + pairs["relevance"].to_numpy()
        return np.asarray(kind, dtype=np.int64)

    @property
    def errors(self) -> Floats:
        """Standard errors of what rates rest on beside the counts; of votes there is nothing else."""
        return np.empty(0)

    def rates(self, counts: Floats, moved: Floats | None = None) -> ErrorRates:
        """Return the rates of each band, (..., n_bands), from (..., 4 × n_bands) counts.

        moved: what is added to each of those things that `errors` are of.
        """
        each = counts.reshape(*counts.shape[:-1], self.n_bands, 4)
        return moment_rates(VoteCounts(*np.moveaxis(each, -1, 0)))

    def of_classes(self, rates: ErrorRates) -> tuple[Floats, Floats]:
        """Return t and f of labels by design, (..., n_classes × n_bands)."""
        found = (
            np.concatenate([np.asarray(class_rate(rate, name)) for name in CLASSES], axis=-1)
            for rate in (rates.t, rates.f)
        )
        t, f = found
        return t, f

    def relevance(self, rates: ErrorRates) -> Floats:
        """Return p̂ of each kind, and 1 for originals."""
        t, f = self.of_classes(rates)
        both = np.stack([estimated_relevance(label, t, f) for label in (0.0, 1.0)], axis=-1)
        flat = both.reshape(*both.shape[:-2], -1)
        return np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)

    def odds(self, cells: Floats, rates: ErrorRates) -> Floats:
        """Return the odds that a pair of each kind is relevant, (..., n_kinds).

        cells: (..., n_kinds) pairs of each kind.
        """
        t, f = self.of_classes(rates)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = cells[..., 1::2] / (cells[..., ::2] + cells[..., 1::2])
            prevalence = np.nan_to_num(np.clip((share - f) / (t - f), 0, 1))
            prior = prevalence / (1 - prevalence)
            both = np.stack([prior * (1 - t) / (1 - f), prior * t / f], axis=-1)
        return both.reshape(*both.shape[:-2], -1)


def rate_columns(votes: Judged) -> Floats:
    """Return what each pair adds to the counts of its band, (n_pairs, 4 × n_bands)."""
    bands = np.eye(votes.n_bands)[votes.pairs["band"].to_numpy()]
    return np.asarray((bands[:, :, None] * votes.counted[:, None, :]).reshape(len(bands), -1))
