"""What becomes of each query's own item in the runs that a command reads: chosen once, counted, said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.files import STDIN
from fire_toolkit.formats.collections import own_item_rule_of
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.table_files import has_columns, read_queries
from fire_toolkit.matching.own_items import (
    COLUMN,
    RULES,
    LeftOut,
    OwnItems,
    drop_own_items,
    is_own_pair,
    own_items_of,
    qrels_with_own_pairs,
    qrels_without_own_pairs,
    without_own_pairs,
)
from fire_toolkit.matching.ranking import top
from fire_toolkit.tables import Qrels
from fire_toolkit.workspace.manifests import MANIFEST, read_manifest


class _Itself(Mapping[str, str]):
    """Each query is an item of the collection, under one id: as in class retrieval (NN, FT, ST)."""

    def __getitem__(self, query: str) -> str:
        return query

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


@dataclass
class OwnItemRule:
    """The own item of each query, whether runs keep it, and why.

    counts: what was left out, by run; n_pairs: own pairs left out of tables, by the table's name; n_added:
    own pairs that the qrels were given as not relevant.
    """

    of_query: OwnItems
    is_dropped: bool
    why: str
    counts: dict[str, LeftOut] = field(default_factory=dict)
    n_pairs: dict[str, int] = field(default_factory=dict)
    n_added: int = 0

    def applied(self, run: Any, depth: int | None = None) -> Any:
        """Return a run without own items where they are dropped, cut to `depth`."""
        if not self.is_dropped:
            return run
        tell = partial(self.counts.__setitem__, run_id_of(run))
        run = drop_own_items(run, self.of_query, tell=tell)
        return top(run, depth) if depth else run

    def depth_to_read(self, depth: int | None) -> int | None:
        """Return how deep a run must be read so that `depth` docs are left."""
        return depth + 1 if depth and self.is_dropped else depth

    def original(self, qrels: Qrels) -> Qrels:
        """Return the original qrels as the rule has them: own items out of them, or judged not relevant."""
        if not self.of_query:
            return qrels
        if self.is_dropped:
            self._count(qrels, "original qrels")
            return qrels_without_own_pairs(qrels, self.of_query)
        found = qrels_with_own_pairs(qrels, self.of_query)
        self.n_added = len(found) - len(qrels)
        return found

    def corrected(self, qrels: Qrels, original: Qrels, name: str) -> Qrels:
        """Return other qrels of the queries of `original`, which are as the rule has them."""
        if not self.of_query:
            return qrels
        self._count(qrels, name)
        if self.is_dropped:
            return qrels_without_own_pairs(qrels, self.of_query)
        return qrels_with_own_pairs(qrels, self.of_query, original=original)

    def pairs(self, table: Any, name: str) -> Any:
        """Return labels or pool sources without own items, of which nobody is asked."""
        if not self.of_query:
            return table
        self._count(table, name)
        return without_own_pairs(table, self.of_query)

    def _count(self, table: Any, name: str) -> None:
        self.n_pairs[name] = int(is_own_pair(table, self.of_query).sum())

    @property
    def parameters(self) -> dict[str, Any]:
        """The rule and what was left out, for a manifest; nothing where no query has an own item."""
        if not self.of_query:
            return {}
        left_out = {run_id: found.n_queries for run_id, found in self.counts.items()}
        return (
            {"own_item": "drop", "own_items_left_out": left_out} if self.is_dropped else {"own_item": "keep"}
        )

    def in_words(self) -> list[str]:
        """Return which rule holds and what was left out so far; nothing where no query has an own item."""
        if not self.of_query:
            return []
        pairs = ", ".join(f"{name} {n:,}" for name, n in self.n_pairs.items() if n)
        if not self.is_dropped:
            words = [f"queries' own items kept in the rankings, as not relevant ({self.why})"]
            return words + ([f"judgments of own items left out: {pairs}"] if pairs else [])
        counts = self.counts.items()
        counted = ", ".join(f"{run_id} {found.n_queries:,}" for run_id, found in counts)
        words = [f"queries' own items left out of the rankings ({self.why}): {counted or 'none'}"]
        if pairs:
            words.append(f"pairs of a query and its own item left out: {pairs}")
        unknown = ", ".join(f"{run_id} {found.n_unknown:,}" for run_id, found in counts if found.n_unknown)
        if unknown:
            words.append(
                f"queries whose own item has no known rank: {unknown}; a positive below the top may be one "
                "rank higher (run add-run again)"
            )
        return words


def choose_own_items(inputs: Inputs) -> OwnItemRule:
    """Return the rule that was asked for, else the collection's, else to keep; and the own items.

    They are those of the queries given, else of the workspace's. Where these name none and dropping was
    asked for, each query's own item is the one of its id.
    """
    option = inputs.values.get("own_item")
    of_query = queries_own_items(inputs)
    if option is not None:
        is_dropped = option == "drop"
        return OwnItemRule(of_query or (_Itself() if is_dropped else {}), is_dropped, f"--own-item {option}")
    path = inputs.found("queries")
    if path is None or not of_query:
        return OwnItemRule({}, False, "")
    rule, why = _protocol(path)
    return OwnItemRule(of_query, rule == "drop", why)


def queries_own_items(inputs: Inputs) -> OwnItems:
    """Return the own items of the queries given, else of the workspace's, by query; often there are none.

    A file that names none is not read further.
    """
    path = inputs.found("queries")
    if path is None or str(path) == STDIN or not has_columns(path, COLUMN):
        return {}
    return own_items_of(read_queries(inputs.use(path)))


def _protocol(queries: Path) -> tuple[str, str]:
    """Return the rule of the collection that a file of queries belongs to, and how it is known."""
    at = queries.with_name(MANIFEST)
    manifest = read_manifest(at) if at.is_file() else None
    recorded = manifest.parameters if manifest and queries.name in manifest.outputs else {}
    rule = recorded.get("own_item")
    if rule in RULES:
        return rule, "the collection's protocol"
    if "own_item" in recorded or not recorded:
        return "keep", "no protocol is known for these queries; --own-item drop leaves them out"
    readers = recorded.get("readers")
    rule = own_item_rule_of(readers.values() if isinstance(readers, dict) else ())
    return rule or "keep", "assumed, as the collection's manifest does not say; run add-collection again"
