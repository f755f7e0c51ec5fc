"""What of a model's scores is refused, as no model means it, and how it is said."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.words import n_of

FLOOD_DOCS = 10
CONSTANT_DOCS = 3
# Of each anomaly: which allowance it needs, none where there is no such, and how it is described.
_KINDS = {
    "n_plus_inf": ("", "{scores} +inf (query {query}, doc {other}), which cannot be ordered; fix the scores"),
    "n_nan": ("nan", "{scores} NaN (the first at query {query}, doc {other})"),
    "n_minus_inf": ("inf", "{scores} -inf (the first at query {query}, doc {other})"),
    "flood": ("flood", "in {queries} half of the docs or more share the lowest score ({query})"),
    "constant": ("constant", "one score for all docs in {queries} ({query})"),
    "duplicates": ("duplicates", "{n:,} of {of:,} queries repeat another's list ({query} that of {other})"),
    "places": (
        "places",
        "the scores of {queries} are whole numbers without a gap, as places (argsort) and ranks are "
        "({query}); save scores, or minus the ranks, or lists of places: json.dump(x[:, :100].tolist(), f)",
    ),
}
ALLOWANCES = tuple(name for name, _ in _KINDS.values() if name)


@dataclass
class ScoreAnomalies:
    """Anomalies in a model's scores, and counts of their ties.

    n_nan, n_minus_inf, n_plus_inf: cells. flood: queries of which half the docs or more (and ten or
    more) share the lowest score. places: queries whose scores are the whole numbers from 0 or 1, each once.
    constant: queries with one score for all of three docs or more.
    duplicates: queries whose list equals an earlier query's, scores and all. padding: rows without any
    score, left out. tied_in_top: queries with equal scores in the part that is kept. tied_at_cut: queries
    where the cut goes through a tie. tied_positives: positives that share their score with another doc.
    first: an example of each kind: a query, and a doc or an earlier query.
    """

    n_nan: int = 0
    n_minus_inf: int = 0
    n_plus_inf: int = 0
    places: int = 0
    flood: int = 0
    constant: int = 0
    duplicates: int = 0
    padding: int = 0
    tied_in_top: int = 0
    tied_at_cut: int = 0
    tied_positives: int = 0
    first: dict[str, tuple[str, str]] = field(default_factory=dict)

    def count(self, name: str, found: Bools, example: Callable[[int], tuple[str, str]]) -> None:
        """Add what was found to a count; example: returns the ids of a place in `found`."""
        if n_found := int(np.count_nonzero(found)):
            setattr(self, name, getattr(self, name) + n_found)
            self.first.setdefault(name, example(int(np.argmax(found))))

    def add(self, other: ScoreAnomalies) -> None:
        """Add the counts of later queries."""
        for name, n in other.counts().items():
            setattr(self, name, getattr(self, name) + n)
        self.first = other.first | self.first

    def counts(self) -> dict[str, int]:
        """Return the counts by name, for manifests."""
        return {name: value for name, value in vars(self).items() if name != "first"}


def parse_allowances(text: str) -> frozenset[str]:
    """Return the names in a list such as `nan,flood`.

    Raises:
        UsageError: a name is not known.
    """
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    unknown = sorted(names - set(ALLOWANCES))
    if unknown:
        raise UsageError(f"--allow {', '.join(unknown)}: expected some of {', '.join(ALLOWANCES)}")
    return names


def refuse_anomalies(
    anomalies: ScoreAnomalies, n_queries: int, *, allow: Collection[str], where: str
) -> list[str]:
    """Return descriptions of what was found and allowed.

    Duplicates and places need to be if they are more than half of the queries: captions with the same text
    have equal rows in correct matrices, five of a thousand in MSR-VTT's test.

    Raises:
        TableError: an anomaly is not allowed, or a score is plus infinity, which never is.
    """
    found = dict[str, str]()
    for kind, (allowance, words) in _KINDS.items():
        n = getattr(anomalies, kind)
        if n and (kind not in ("duplicates", "places") or 2 * n > max(n_queries, 3)):
            scores = f"{n_of(n, 'score')} {'is' if n == 1 else 'are'}"
            query, other = anomalies.first[kind]
            counted = {"n": n, "of": n_queries, "scores": scores, "queries": n_of(n, "query")}
            found[allowance] = words.format(**counted, query=query, other=other)
    if "" in found:
        raise TableError(f"{where}: {found['']}")
    if refused := [words for kind, words in found.items() if kind not in allow]:
        raise TableError(
            f"{where}: {'; '.join(refused)}; if this is intended, give `add-run` --allow {','.join(found)}; "
            "NaN, -inf and floods are then left out, equal scores are ties"
        )
    return list(found.values())
