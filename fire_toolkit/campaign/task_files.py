"""Task files back to Tasks: what `tasks` wrote, or somebody else in the same form."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.asking import HandedOut
from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import CORRECTED, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import META, PAIR_ID, ROUND, task_lines
from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.campaign.views import pairs_of_keys
from fire_toolkit.errors import FileNote, FireError, FormatError, UsageError
from fire_toolkit.files import opened, read_text
from fire_toolkit.guidelines.model import CAPTION, REFERENCE, Guideline
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables import TASKS, Tasks, check_pool, check_tasks
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import Manifest, manifest_of
from fire_toolkit.workspace.rounds import begun_rounds, carrier_of_tasks, handed_out, next_round_number

_KEY = re.compile(rb'"%b"\s*:\s*"([\w-]+)"' % PAIR_ID.encode())


def overlap_file(path: Path) -> Path:
    """Return where the tasks of doubled pairs lie beside a file of tasks.

    Examples:
        >>> overlap_file(Path("tasks/tasks.json")).as_posix()
        'tasks/tasks.overlap.json'
    """
    return path.parent / f"{path.name.removesuffix('.json')}.overlap.json"


def task_keys(path: Path) -> set[str]:
    """Return the pair_id of every task in a file of tasks.

    Raises:
        FormatError: not such a file.
    """
    return {entry["data"][PAIR_ID] for entry in _entries(path)}


def keys_among(path: Path, keys: Collection[str]) -> set[str]:
    """Return which of these pair_ids the tasks in a file have, without memory for all of them."""
    with opened(path) as stream:
        return {key for line in stream for each in _KEY.findall(line) if (key := each.decode()) in keys}


def rounds_handed_out(root: Path) -> dict[str, int]:
    """Return the last round in which each pair was handed out, of those that were in a later one."""
    query = "select pair_id, max(round) from given where to_annotator_id <> '' and round > 1 group by pair_id"
    with Store.at(root / STORE) as store:
        found = dict(store.select(query))
    for number, path in handed_out(root).items():
        if number > 1:
            found |= {key: max(number, found.get(key, 1)) for key in task_keys(path)}
    return found


def waiting_in_files(root: Path, answers: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of later rounds whose tasks were handed out as files and have not come back.

    answers: query_id, doc_id and round of what came back, of each round and pair a row for each answer; a
    row without a round is of any.
    """
    waits = [pairs_of_keys([])]
    for number, path in handed_out(root).items():
        if number > 1:
            pairs, back = pairs_of_keys(sorted(task_keys(path))), answers["round"]
            is_back = pair_rows(pairs, answers[back.isna() | (back == number)]) >= 0
            waits.append(pairs[~is_back])
    return pd.concat(waits, ignore_index=True)


def handed_out_here(root: Path) -> HandedOut:
    """Return what the workspace `root` has handed out."""
    query = "select distinct pair_id from given where kind not in (?, ?)"
    with Store.at(root / STORE) as store:
        given = {pair for (pair,) in store.select(query, [TRAINING, CONTROL])}
    files = {number: task_keys(path) for number, path in handed_out(root).items()}
    return HandedOut(files, given, begun_rounds(root), next_round_number(root))


def read_task_files(path: Path, guideline: Guideline, *, with_overlap: bool = True) -> Tasks:
    """Return the tasks in a file of `tasks` as batch 1, and those of its `.overlap.json` as batch 2.

    The round is what the tasks say in `meta`, 1 where they say nothing.

    Raises:
        FormatError: not such a file; a task without caption, item or pair_id, with a further key, which
            annotators would see, or of a round that is not a number; tasks of several rounds.
    """
    files = [path]
    overlap = overlap_file(path)
    if with_overlap and overlap.is_file():
        files.append(overlap)
    rows = [
        _row(entry, f"{file}: task {place}", guideline) | {"batch": batch, "position": place}
        for batch, file in enumerate(files, start=1)
        for place, entry in enumerate(_entries(file), start=1)
    ]
    for row in rows:
        try:
            row["query_id"], row["doc_id"] = split_pair_id(str(row["pair_id"]))
        except FireError as error:
            raise FormatError(f"{row['place']}: {error}") from None
    names = [name for name in TASKS.names if name != REFERENCE_URL or guideline.shows_reference]
    tasks = check_tasks(pd.DataFrame(rows, columns=names, dtype=object), where=str(path))
    if tasks["round"].nunique() > 1:
        numbers = ", ".join(map(str, sorted(tasks["round"].unique())))
        raise FormatError(f"{path}: tasks of rounds {numbers}; expected those of one round")
    return tasks


def renewed_rounds(
    rounds: Sequence[Round], files: Mapping[int, Path], guideline: Guideline
) -> tuple[list[Round], list[Path], list[str]]:
    """Return rounds whose tasks were made again with other captions or addresses, with these.

    Also which of the files of tasks, by round, made since they were sent, say so, and notes on the others.
    """
    made: dict[str, tuple[str, str]] = {}
    used, notes = list[Path](), list[str]()
    for entry in rounds:
        if (file := files.get(entry.number)) is None:
            continue
        tasks, asked = read_task_files(file, guideline), entry.drawn  # without those that all had seen
        if asked.loc[~asked["kind"].isin([TRAINING, CONTROL]), "pair_id"].isin(tasks["pair_id"]).all():
            used.append(file)
            made |= zip(tasks["pair_id"], zip(tasks["text"], tasks["media_url"], strict=True), strict=True)
        else:
            notes.append(f"{file} has other pairs than round {entry.number}, which has begun; it is not sent")
    renewed = []
    for entry in rounds:
        old = list(zip(entry.tasks["text"], entry.tasks["media_url"], strict=True))
        new = [made.get(pair, shown) for pair, shown in zip(entry.tasks["pair_id"], old, strict=True)]
        if new != old:
            text, media_url = (list(column) for column in zip(*new, strict=True))
            renewed.append(replace(entry, tasks=Tasks(entry.tasks.assign(text=text, media_url=media_url))))
    return renewed, used, notes


def task_texts(made: Tasks, file: Path, guideline: Guideline) -> dict[str, bytes]:
    """Return the texts of tasks by the names of their files."""
    names = {1: file.name, 2: overlap_file(file).name}
    return {names[batch]: lines for batch, lines in task_lines(made, guideline).items()}


def drawn_with(manifest: Manifest) -> dict[str, Any]:
    """Return the options of `make_tasks` that a file of tasks was made with."""
    known = {"overlap": 0.1, "captions": 1, "seed": 0, **manifest.parameters}
    return {"overlap": known["overlap"], "n_captions": known["captions"], "seed": known["seed"]}


def renewed_files(
    root: Path, but: Path, guideline: Guideline, make: Callable[..., Tasks]
) -> Iterator[tuple[Path, dict[str, bytes], Manifest]]:
    """Yield the files of rounds that can be corrected, but one, whose tasks show something else if made now.

    make: pairs and the options of `make_tasks` → their tasks. Of each file its texts, as they are made now,
    and its manifest. A `FileNote` says why some cannot be made.
    """
    for number, file in handed_out(root).items():
        if file.resolve() == but.resolve() or (carrier := carrier_of_tasks(root, file)) not in CORRECTED:
            continue
        manifest, pairs = manifest_of(file), pairs_of_keys(sorted(task_keys(file)))
        try:
            made = make(check_pool(pairs.assign(round=number)), options=drawn_with(manifest))
            texts, has_changed = kept_files(file, task_texts(made, file, guideline), carrier=carrier)
        except FireError as error:
            warnings.warn(f"the tasks of round {number} stay as they are: {error}", FileNote, stacklevel=2)
            continue
        if has_changed:
            yield file, texts, manifest


def kept_files(file: Path, texts: Mapping[str, bytes], *, carrier: str) -> tuple[dict[str, bytes], bool]:
    """Return the texts to write, with those that an earlier `tasks` wrote beside them, and if any changes.

    Other captions and addresses of the same tasks are written for the carriers of `CORRECTED`: `push` then
    updates those that nobody has answered. Whoever deletes `file` has no use for those of doubled pairs.

    carrier: what carries the round that the tasks have begun; empty: they have begun none.

    Raises:
        UsageError: a file that is there would change: people may have its tasks.
    """
    there = manifest_of(file).outputs
    both = {file.name, overlap_file(file).name}  # the others are of single persons, and stay
    gone = set() if file.is_file() else both
    found = {name: file.with_name(name) for name in there if file.with_name(name).is_file()}
    earlier = {name: path.read_bytes() for name, path in found.items() if name not in gone}
    changed = [
        name for name, text in earlier.items() if texts.get(name, None if name in both else text) != text
    ]

    is_same = all(_KEY.findall(earlier[name]) == _KEY.findall(texts.get(name, b"")) for name in changed)
    if changed and not (is_same and carrier in CORRECTED):
        why = f"people may have its tasks; if nobody has, delete {file} and run this again; or"
        why = "its round has begun;" if carrier else why
        where = file.with_name(changed[0])
        raise UsageError(f"{where}: already exists, would change, and {why} write elsewhere with --out")
    return {**earlier, **texts} if file.is_file() else dict(texts), bool(changed)


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the tasks in a file, each of which names its pair."""
    entries = parse_json(read_text(path), str(path))
    if not isinstance(entries, list):
        raise FormatError(f"{path}: expected a list of tasks, as `fire-toolkit tasks` writes it")
    for place, entry in enumerate(entries, start=1):
        content = entry.get("data") if isinstance(entry, dict) else None
        if not isinstance(content, dict) or not isinstance(content.get(PAIR_ID), str):
            words = f"no data.{PAIR_ID}, which links its answers to their pair"
            raise FormatError(f"{path}: task {place}: {words}")
    return entries


def _row(entry: Mapping[str, Any], place: str, guideline: Guideline) -> dict[str, object]:
    content, meta = entry["data"], entry.get(META, {})
    further = sorted({*content, *entry} - {*guideline.data_keys, PAIR_ID, "data", META})
    further += sorted({*meta} - {ROUND}) if isinstance(meta, dict) else [META]
    if further:
        raise FormatError(f"{place}: {', '.join(further)} would be visible to annotators; remove it")
    number = meta.get(ROUND, 1)
    if type(number) is not int or number < 1:
        raise FormatError(f"{place}: {META}.{ROUND} is {number!r}, expected a number from 1")
    keys = (*guideline.data_keys, PAIR_ID)
    if not all(isinstance(value, str) and value for value in map(content.get, keys)):
        raise FormatError(f"{place}: expected texts {', '.join(keys[:-1])} and {PAIR_ID}")
    caption, key = str(content[CAPTION]), str(content[PAIR_ID])
    media_url = "" if guideline.is_of_queries else str(content[guideline.item_kind])
    return {
        "place": place,
        "pair_id": key,
        "text": caption,
        "media_url": media_url,
        REFERENCE_URL: content.get(REFERENCE),
        "guideline": guideline.name,
        "round": number,
    }
