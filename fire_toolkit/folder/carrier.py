"""Files as the carrier: a file of tasks and a sheet out for each annotator, exports and filled sheets in.

Whose answers a file contains says its name, the register of accounts, or the queue that they belong to.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.answers import parse_export
from fire_toolkit.campaign.carrier import Carried, Delivered, Fetched, Report, no_report
from fire_toolkit.campaign.ledger import Origin, answer_rows, answer_text, pairs_of, says_the_same
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.records import QueueName, Round, write_retired
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND, task_lines
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_text
from fire_toolkit.folder.sheets import LABEL, read_sheet, sheet_of
from fire_toolkit.formats.tables.delimited import delimiter_of
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import Tasks
from fire_toolkit.workspace.manifests import write_files
from fire_toolkit.workspace.rounds import tasks_file

Row = dict[str, str]
Asked = tuple[str, str]  # the round that a task names, empty if it names none, and its pair
Given = Mapping[str, Mapping[Asked, QueueName]]  # annotator → what was asked of her → in which queue
_NAMED = re.compile(r"(?:tasks|round-\d+)\.(?!overlap\.)(.+?)(?: - Copy| copy)?(?: ?\(\d+\))?\.(?:csv|json)")


def queue_tasks(entry: Round, queue: pd.DataFrame) -> Tasks:
    """Return the tasks of one annotator's queue, or of a part of it, in its order."""
    in_order, contents = queue.sort_values("position"), entry.by_pair
    shown = contents.iloc[contents.index.get_indexer(pd.Index(in_order["pair_id"]))]
    return Tasks(shown.assign(position=in_order["position"].array).reset_index(drop=True))


def refuse_file_names(annotators: Iterable[str]) -> None:
    """Raise `UsageError` at an annotator's id that no file's name can hold."""
    bad = [name for name in annotators if "/" in name or "\\" in name or name == "overlap"]
    if bad:
        raise UsageError(f"annotator {bad[0]!r}: cannot be part of a file name; use another name")


def queue_files(
    entry: Round, guideline: Guideline, *, stem: str = "tasks"
) -> dict[tuple[int, str], dict[str, bytes]]:
    """Return the files to hand out, by name: tasks for Label Studio, and a sheet.

    Those of an annotator are together under (0, annotator), what moved to her later under the number of that
    occasion.
    """
    found = {}
    for (batch, name), rows in _handed(entry):
        queue, start = queue_tasks(entry, rows), _start(stem, batch, name)
        texts = {f"{start}.json": task_lines(queue, guideline)[1], f"{start}.csv": sheet_of(queue, guideline)}
        found[batch, name] = texts
    return found


def _handed(entry: Round) -> Iterator[tuple[tuple[int, str], pd.DataFrame]]:
    """Yield what each annotator has by the occasion on which it came to them."""
    for batch, there in entry.given[entry.given["is_there"]].groupby("batch"):
        for name, rows in there.groupby("annotator_id"):
            yield (int(str(batch)), str(name)), rows


def _start(stem: str, batch: int, name: str) -> str:
    return f"{stem}.{name}.more-{batch}" if batch else f"{stem}.{name}"


class Folder:
    """Files that carry the campaign of the workspace `root`: out in tasks/, in from `exports`.

    names: account → annotator, where known.
    """

    def __init__(
        self, root: Path, *, exports: Sequence[Path] = (), names: Mapping[str, str] | None = None
    ) -> None:
        self._root, self._exports, self._names = root, exports, names or {}

    def deliver(self, carried: Carried, *, report: Report = no_report) -> list[Delivered]:
        """Write the files that are not there; what was handed out is never written over."""
        given = []
        for entry in carried.rounds:
            folder = tasks_file(self._root, entry.number).parent
            own = queue_files(entry, carried.guideline)
            for (batch, name), rows in _handed(entry):
                texts, n_tasks = own[batch, name], len(rows)
                missing = {
                    folder / file: text for file, text in texts.items() if not (folder / file).exists()
                }
                if missing:
                    write_files(missing)
                counts = (0, n_tasks) if len(missing) == len(texts) else (n_tasks, 0)
                given.append(Delivered(QueueName(entry.number, name), *counts))
                report(n_tasks)
        return given

    def fetch(self, carried: Carried, *, is_full: bool = False, report: Report = no_report) -> Fetched:
        """Add the answers in the exports to the ledger, each file as a whole or not at all.

        Raises:
            FormatError: neither an export as JSON nor a sheet, or one that is damaged; an unknown label.
            UsageError: the annotator of the answers in a file is unclear, or which of two sheets is later.
        """
        queues: dict[str, dict[Asked, QueueName]] = {}  # a pair without a round is in the last one's
        for entry in carried.rounds:
            for name, pair in zip(entry.given["annotator_id"], entry.given["pair_id"], strict=True):
                own = queues.setdefault(name, {})
                own[str(entry.number), pair] = own["", pair] = QueueName(entry.number, name)
        asked = {pair for own in queues.values() for _, pair in own}
        sheets = [path for path in self._exports if path.suffix in (".csv", ".tsv")]
        with Store(carried.store) as kept:
            if len(sheets) > 1:
                _refuse_two_answers(
                    (path, self._rows(path, carried.guideline, queues, asked, kept)) for path in sheets
                )
            for path in self._exports:
                rows = self._rows(path, carried.guideline, queues, asked, kept)
                kept.add_answers(rows)
                report(len(rows))
            return Fetched(kept.counts, tuple(kept.notes))

    def retire(self, names: Iterable[str]) -> None:
        """Note that annotators get no further files."""
        write_retired(self._root, names)

    def where(self, carried: Carried) -> dict[QueueName, str]:
        """Return the files of each queue's tasks, the latest last."""
        files: dict[QueueName, list[str]] = {}
        for entry in carried.rounds:
            folder = tasks_file(self._root, entry.number).parent
            for (batch, name), _ in _handed(entry):
                path = folder / f"{_start('tasks', batch, name)}.json"
                if path.is_file():
                    own = files.setdefault(QueueName(entry.number, name), [])
                    own.append(str(path.relative_to(self._root)))
        return {queue: ", ".join(paths) for queue, paths in files.items()}

    def _rows(
        self, path: Path, guideline: Guideline, queues: Given, asked: Set[str], kept: Store
    ) -> list[Row]:
        text, seen_at = read_text(path), kept.now()
        if text.lstrip()[:1] in ("[", "{"):
            rows = _export_rows(text, path, guideline, seen_at)
            rows = _with_owners(rows, queues, asked, path, known=self._names)
            for row in rows:  # what its task names, where no queue says it
                if not row["queue"] and row["round"] not in ("", "1"):
                    content = json.loads(row["answer"]) | {ROUND: int(row["round"])}
                    row["answer"] = answer_text(content)
            return rows
        header = text.lstrip("\ufeff").split("\n", 1)[0]
        if LABEL not in [name.strip().strip('"') for name in header.split(delimiter_of(header))]:
            parse_export(text, where=str(path))  # says what is wrong
        filled = read_sheet(path, guideline, seen_at=seen_at)
        by_column = {name: name for row in filled if (name := row["annotator_id"])}
        rows = _with_owners(filled, queues, asked, path, known=by_column)
        known = kept.versions(row["annotation"] for row in rows)
        said = {name: versions[-1].answer for name, versions in known.items()}
        return [row for row in rows if not says_the_same(row["answer"], said.get(row["annotation"], "{}"))]


def _refuse_two_answers(sheets: Iterable[tuple[Path, list[Row]]]) -> None:
    """Raise `UsageError` where sheets, which have no times, say different things of one task."""
    found: dict[tuple[str, ...], tuple[Path, str]] = {}
    for path, rows in sheets:
        for row in rows:
            task = (row["queue"], row["annotator_id"], row["pair_id"])
            first, said = found.setdefault(task, (path, row["answer"]))
            if not says_the_same(row["answer"], said):
                raise UsageError(
                    f"{first} and {path}: two answers of {task[1]} to {task[2]}, and neither says which is "
                    "later; move the older file away, or `import` the older one alone, then the other"
                )


def _export_rows(text: str, path: Path, guideline: Guideline, seen_at: str) -> list[Row]:
    """Return a row for each answer of an export that can become judgments, under its account."""
    where = str(path)
    content = parse_export(text, where=where)
    if not isinstance(content, list) or not all(
        isinstance(task, dict) and isinstance(task.get("annotations"), list) for task in content
    ):
        raise FormatError(
            f"{where}: expected the list of tasks of a JSON export, each with its annotations; export as "
            "JSON (JSON_MIN and CSV lose skips and who answered)"
        )
    tasks = list(split_pages(content))
    pairs = pairs_of(task.get("data") for task in tasks)
    found = answer_rows(tasks, Origin(f"file:{path.name}", "", "", seen_at, {}), where=where, pairs=pairs)
    paired = [task for task, pair in zip(tasks, pairs, strict=True) if pair and task["annotations"]]
    if found and not paired:
        raise FormatError(f"{where}: no task names its pair")
    judgments_from_export([(where, paired)], guideline=guideline)  # refuses what cannot be read
    return found


def _with_owners(
    rows: Sequence[Row], given: Given, asked_pairs: Set[str], path: Path, *, known: Mapping[str, str]
) -> list[Row]:
    """Return rows of the ledger, whose annotator_id is an account's, with annotator and queue.

    Each row has a further entry, round: what its task names. An answer without a unique id is known again by
    annotator, pair and number, whatever its file is called. An id between the dots of the file's name
    (`tasks.A01.json`) says whose all of it is, also where this name is nobody's.

    asked_pairs: those of all queues.
    known: account → annotator, where known, as of a sheet whose column names them; one that answered nothing
    that is asked keeps its own name, and so does one who has a queue.

    Raises:
        UsageError: the annotator is unclear, or two accounts answered for one annotator.
    """
    answered: dict[str, set[Asked]] = {}
    for row in rows:
        is_asked = row["pair_id"] in asked_pairs
        answered.setdefault(row["annotator_id"], set()).update([(row["round"], row["pair_id"])] * is_asked)
    said = _NAMED.fullmatch(path.name)
    stranger = said[1] if said else ""
    named = max((name for name in given if f".{name}." in f".{path.name}/.{stranger}."), key=len, default="")
    owners, behind = dict[str, str](), dict[str, list[str]]()
    for account, asked in answered.items():
        if not asked or (not named and (account in known or account in given)):
            owners[account] = known.get(account, account)
            continue
        owners[account] = _owner(asked, account, named or stranger, given, path)
        behind.setdefault(owners[account], []).append(account)
    for owner, accounts in behind.items():
        if len(accounts) > 1:
            raise UsageError(
                f"{path}: accounts {', '.join(sorted(accounts))} all answered tasks of {owner}; export "
                "each person's answers separately"
            )
    found = []
    for row in rows:
        account, pair = row["annotator_id"], row["pair_id"]
        owner = owners[account]
        queues = given.get(owner, {})
        queue = queues.get((row["round"], pair)) or queues.get(("", pair)) or ""
        own = {"annotator_id": owner, "queue": str(queue)}
        if "#" in row["annotation"] and owner != account and known.get(account) != owner:
            own["annotation"] = f"{owner}#{pair}#{row['annotation'].rpartition('#')[2]}"
        found.append({**row, **own})
    return found


def _owner(asked: set[Asked], account: str, named: str, given: Given, path: Path) -> str:
    """Return whose an account's answers are; named: whom the file's name says."""
    fits = [name for name, own in given.items() if asked <= own.keys()]
    who = f"{path}: {f'account {account}' if account else 'somebody'} answered {len(asked)} tasks"
    if named and (named in fits or (not fits and asked & given.get(named, {}).keys())):
        return named
    if named:
        owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
        raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
    if len(fits) != 1:
        queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
        example = path.with_name(f"{path.stem}.{next(iter(given))}{path.suffix}")
        raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
    return fits[0]
