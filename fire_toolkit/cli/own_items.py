"""What becomes of each query's own item in the runs that a command reads: chosen once, counted, said."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.files import STDIN
from fire_toolkit.formats.collections import own_item_rule_of
from fire_toolkit.formats.tables.table_files import has_columns, read_queries
from fire_toolkit.matching.own_items import COLUMN, RULES, OwnItemRule, OwnItems, own_items_of
from fire_toolkit.workspace.manifests import MANIFEST, read_manifest


def choose_own_items(inputs: Inputs) -> OwnItemRule:
    """Return the rule that was asked for, else the collection's, else to keep; and the own items.

    They are those of the queries given, else of the workspace's. Where these name none and dropping was
    asked for, each query's own item is the one of its id.
    """
    option = inputs.values.get("own_item")
    of_query = queries_own_items(inputs)
    if option is not None:
        return OwnItemRule.chosen(option, of_query)
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
