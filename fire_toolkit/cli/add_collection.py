"""`add-collection`: a benchmark's own files to queries.tsv, items.tsv and qrels.txt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fire_toolkit.cli.common import as_files, n_of, say, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import current_workspace, say_next
from fire_toolkit.collections.assembly import turned
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.registry import own_item_rule_of, read_collection
from fire_toolkit.formats.collections.tables import ROLES
from fire_toolkit.formats.columns import named_columns
from fire_toolkit.formats.releases import said_at
from fire_toolkit.formats.tables.table_files import read_items, read_queries
from fire_toolkit.formats.written import as_text
from fire_toolkit.matching.own_items import COLUMN
from fire_toolkit.workspace.manifests import MANIFEST, manifest_at
from fire_toolkit.workspace.rounds import handed_out, has_campaign

if TYPE_CHECKING:
    import pandas as pd


def add_collection(
    files: Annotated[Sequence[str], Option(is_argument=True, metavar="FILE...")],
    *,
    name: str | None = None,
    split: str | None = None,
    columns: Annotated[Sequence[str], Option(metavar="ROLE=COLUMN,...")] = (),
    own_item: Literal["drop", "keep"] | None = None,
    texts_as_items: bool = False,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    as_json: bool,
) -> None:
    """Read a benchmark's files, whatever their form, and write its queries, items and original qrels.

    FILE... is recognised by its content: MSR-VTT, MSVD, COCO, Flickr30k, LAVIS and BLIP, DiDeMo,
    ActivityNet, LSMDC, VATEX, YouCook2, Clotho, AudioCaps, MultiVENT, CUHK-PEDES, CIRR, CIRCO,
    FashionIQ, BEIR and MIRACL folders, qrels, plain tables. A list of ids among the files says which items
    the split has; `-` is standard input.

    Args:
        files: The benchmark's files.
        name: The collection's name, for the manifest. [default: the first file's name]
        split: The split to keep, where a file has several; `all` keeps all. [default: test, else
            evaluation]
        columns: Which column of a table is what, where its name does not tell; ROLE: query_id, doc_id, text,
            media_url, start_s, end_s, reference, relevance. Columns of texts can be a pattern, as in
            text=caption_*; a role may be named once for each table.
        own_item: Whether each query's own item (column reference) is left out of its ranking. [default: as
            the benchmark's scorer does]
        texts_as_items: Read it the other way round (image to text): items are the queries, and texts are what
            is ranked.
        out: Folder for queries.tsv, items.tsv, qrels.txt and manifest.json.
    """
    inputs = Given({"out": out, "as_json": as_json})
    folder = inputs.out("collection")
    paths = as_files(files)
    named = named_columns(columns, ROLES, are_several=True)
    collection, recognised = read_collection(paths, split=split, columns=named)
    collection = turned(collection) if texts_as_items else collection
    for found in recognised:
        inputs.use(found.path)
        say(f"{found.path}: {found.reader} ({found.why})")
    say_notes(collection.notes)
    beside: dict[str, pd.DataFrame] = {"qrels.txt": collection.qrels, "qrels.target.txt": collection.targets}
    beside |= {"groups.tsv": collection.groups}
    tables: dict[str, pd.DataFrame] = {"queries.tsv": collection.queries, "items.tsv": collection.items}
    tables |= {name: table for name, table in beside.items() if len(table)}
    parameters: dict[str, Any] = {
        "name": name or paths[0].name.split(".")[0],
        "split": split or "test",
        "readers": {found.path.name: found.reader for found in recognised},
        "notes": collection.notes,
    }
    of_roles = {role: names[0] if len(names) == 1 else names for role, names in named.items()}
    more = {"columns": of_roles, "texts_as_items": texts_as_items, "encoded_ids": collection.encoded}
    parameters |= {key: value for key, value in more.items() if value}
    if COLUMN in collection.queries:
        rule = own_item or own_item_rule_of(found.reader for found in recognised)
        told = (said_at(path, "own_item") for path in paths if path.is_dir())
        rule = rule or next(filter(None, told), None)
        parameters["own_item"] = rule
        say(f"note: queries' own items: {_OWN_ITEMS[rule]}")
    n, n_targets = collection.counts, len(collection.targets)
    _refuse_while_out(folder, tables)
    words = (
        f"{n_of(n['queries'], 'query')}, {n_of(n['items'], 'item')}, {n_of(n['qrels'], 'pair')} in the qrels"
    )
    words += f"; {n_of(n_targets, 'target')} in qrels.target.txt" if n_targets else ""
    words += f"; {n_of(n['groups'], 'row')} of groups" if n["groups"] else ""
    words += f"; split {split}" if split else ""
    inputs.write(folder, tables, "add-collection", parameters, n, words)
    queries, pairs, out = (quote(str(folder / name)) for name in ("queries.tsv", "qrels.txt", "audit"))
    qrels = f" --qrels {pairs}" if len(collection.qrels) else ""
    of_these = f"--queries {queries}{qrels} --out {out}"
    say_next(*([f"audit {of_these}"] if inputs.values["out"] else ["audit", of_these]))


def _refuse_while_out(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Raise `UsageError` where another collection would be replaced of which people have tasks.

    One that differs only in captions and in where its items lie is no other one: they may be put right.
    """
    workspace, before = current_workspace(), manifest_at(folder / MANIFEST).outputs
    if workspace is None or not before or not (has_campaign(workspace.root) or handed_out(workspace.root)):
        return
    named = (workspace.path("collection", name) for name in ("queries", "items", "qrels"))
    if folder.resolve() not in {path.resolve().parent for path in named if path}:
        return
    texts = {name: as_text(name, table) for name, table in tables.items()}
    raw = {name: text.encode() if isinstance(text, str) else text for name, text in texts.items()}
    now = {name: hashlib.sha256(content).hexdigest() for name, content in raw.items()}
    changed = [name for name in before | now if before.get(name) != now.get(name)]
    if all(_goes_on(folder / name, tables) for name in changed):
        return
    raise UsageError(
        f"{folder}: tasks of this collection are out, and more than captions and addresses differs; another "
        "collection needs another --out or workspace"
    )


def _goes_on(path: Path, tables: Mapping[str, pd.DataFrame]) -> bool:
    """Whether the table of this name has every query or item of the one that is there, as they were."""
    same: dict[str, tuple[Callable[..., pd.DataFrame], list[str]]] = {
        "queries.tsv": (read_queries, ["query_id", COLUMN]),
        "items.tsv": (read_items, ["doc_id", "start_s", "end_s"]),
    }
    if path.name not in same or not path.is_file():
        return False
    read, parts = same[path.name]
    was, now = (each.reindex(columns=parts).astype("str") for each in (read(path), tables[path.name]))
    return len(was.merge(now)) == len(was)


_OWN_ITEMS = {
    "drop": "never pooled, and left out of rankings (score --own-item keep keeps them)",
    "keep": "never pooled, and kept in rankings (score --own-item drop leaves them out)",
    None: "never pooled; no protocol for rankings is known, so they are kept there: --own-item drop here, "
    "or with score, leaves them out",
}
