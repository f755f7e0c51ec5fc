"""Files as the carrier: a file of tasks and a sheet out for each annotator, exports and filled sheets in."""

import json
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import compress
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.answers import parse_export
from fire_toolkit.campaign.carrier import Carried, Delivered, Fetched, Report, no_report
from fire_toolkit.campaign.coded import listed_rows
from fire_toolkit.campaign.exported import columns_of_export, columns_of_rows
from fire_toolkit.campaign.kept import Columns, columns_of, rows_of
from fire_toolkit.campaign.ledger import Origin, says_the_same
from fire_toolkit.campaign.records import QueueName, Round, other_caption, write_retired
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import task_lines
from fire_toolkit.campaign.views import left_pairs
from fire_toolkit.errors import FileNote, UsageError
from fire_toolkit.files import BOM, read_bytes, text_of
from fire_toolkit.folder.owners import people_given, with_owners
from fire_toolkit.folder.sheets import LABEL, read_sheet, sheet_of
from fire_toolkit.formats.tables.delimited import names_in
from fire_toolkit.guidelines.model import CAPTION, Guideline
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.tables import Tasks
from fire_toolkit.words import n_of
from fire_toolkit.workspace.manifests import write_files
from fire_toolkit.workspace.rounds import tasks_file


def queue_tasks(entry: Round, queue: pd.DataFrame) -> Tasks:
    """Return the tasks of one annotator's queue, or of a part of it, in its order."""
    in_order, contents = queue.sort_values("position"), entry.by_pair
    shown = contents.iloc[contents.index.get_indexer(pd.Index(in_order["pair_id"]))]
    return Tasks(shown.assign(position=in_order["position"].array).reset_index(drop=True))


def refuse_file_names(annotators: Iterable[str], known: Iterable[str] = ()) -> None:
    """Raise `UsageError` at an annotator's id that no file's name can hold, or that names another's file.

    known: who has files already. On many disks names that differ in case alone are one.
    """
    bad, files = re.compile(r"[/\\:]|^overlap$|\.more-\d+$", re.IGNORECASE), dict[str, str]()
    for name in (*known, *annotators):
        if bad.search(name):
            raise UsageError(f"annotator {name!r}: cannot be part of a file name; use another name")
        if (other := files.setdefault(name.casefold(), name)) != name:
            raise UsageError(f"annotators {other} and {name} differ in case alone, as no files may")


def queue_files(
    entry: Round,
    guideline: Guideline,
    *,
    stem: str = "tasks",
    left: Collection[tuple[str, str]] | None = None,
) -> dict[tuple[int, str], dict[str, bytes]]:
    """Return the files to hand out, by name: tasks for Label Studio, and a sheet.

    Those of an annotator are together under (0, annotator), what moved to her later under the number of that
    occasion. left: (annotator, pair) of the tasks that are in them; None: all.
    """
    found = {}
    for (batch, name), rows in _handed(entry, left):
        queue, start = queue_tasks(entry, rows), _start(stem, batch, name)
        texts = {f"{start}.json": task_lines(queue, guideline)[1], f"{start}.csv": sheet_of(queue, guideline)}
        found[batch, name] = texts
    return found


def _handed(
    entry: Round, left: Collection[tuple[str, str]] | None = None
) -> Iterator[tuple[tuple[int, str], pd.DataFrame]]:
    """Yield what each annotator has by the occasion on which it came to them; left: of that alone."""
    own = entry.given[entry.given["is_there"]]
    if left is not None:
        own = own.loc[[key in left for key in zip(own["annotator_id"], own["pair_id"], strict=True)]]
    for batch, there in own.groupby("batch"):
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
        """Write the files that are not there, of what has no answer; those handed out stay as they are."""
        given = []
        with Store.at(carried.store) as kept:
            left = left_pairs(kept)
        for entry in carried.rounds:
            folder, is_left = tasks_file(self._root, entry.number).parent, left.get(entry.number, ())
            own = queue_files(entry, carried.guideline, left=is_left)
            for (batch, name), rows in _handed(entry, is_left):
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
        """Add the answers in the exports to the ledger: the first all or none, later each file as a whole.

        Raises:
            FormatError: neither an export as JSON nor a sheet, or one that is damaged; an unknown label.
            UsageError: the annotator of the answers in a file is unclear, or which of two sheets is later.
        """
        sheets = [path for path in self._exports if path.suffix in (".csv", ".tsv")]
        with Store(carried.store) as kept:
            is_first = self._exports and not kept.has_answers()  # later a served page writes between files
            with kept.together() if is_first else nullcontext():
                given = people_given(kept), other_caption(kept)
                read = partial(self._answers, kept, carried.guideline, *given)
                others = [path for path in self._exports if path not in sheets]
                if len(sheets) > 1:
                    sheets = _in_order([(path, read(path)) for path in sheets])
                for path in (*others, *sheets):
                    found = read(path)
                    kept.add_columns(found)
                    report(len(found["annotation"]))
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

    def _answers(
        self,
        kept: Store,
        guideline: Guideline,
        people: Sequence[str],
        is_other: Callable[[str, str, str], bool],
        path: Path,
    ) -> Columns:
        """Return the answers in a file that say something new, each with its annotator and queue.

        Warns:
            FileNote: some are to another caption than their round shows now (`other_caption`), and left out.
        """
        content, seen_at = read_bytes(path), kept.now()
        if content.removeprefix(BOM).lstrip()[:1] in (b"[", b"{"):
            origin = Origin(f"file:{path.name}", "", "", seen_at, {})
            found = columns_of_export(content, origin, guideline, where=str(path))
            found = with_owners(found, kept, path, people=people, known=self._names)
            shown = zip(*(listed_rows(found[name]) for name in ("queue", "pair_id", CAPTION)), strict=True)
            is_own = [not is_other(*each) for each in shown]
            if n_others := is_own.count(False):
                words = (
                    f"{path}: {n_of(n_others, 'answer')} left out, as the tasks showed another caption than"
                )
                warnings.warn(f"{words} the record has", FileNote, stacklevel=2)
                found = columns_of(list(compress(rows_of(found), is_own)))
            return found
        text = text_of(content.removeprefix(BOM), path)
        if LABEL not in names_in(text):
            parse_export(text, where=str(path))  # says what is wrong
        found = columns_of_rows(read_sheet(path, guideline, seen_at=seen_at))
        by_column = {name: name for name in found["annotator_id"].distinct if name}
        found = with_owners(found, kept, path, people=people, known=by_column)
        if "" in found["annotator_id"].distinct:
            name = path.with_name(f"tasks.NAME{path.suffix}")
            raise UsageError(f"{path}: nobody here was asked its tasks; name it after who answered: {name}")
        known = kept.versions(found["annotation"])
        said = {name: versions[-1].answer for name, versions in known.items()}
        entries = zip(found["annotation"], found["answer"], strict=True)
        is_new = [not says_the_same(answer, said.get(name, "{}")) for name, answer in entries]
        return columns_of(list(compress(rows_of(found), is_new)))


def _in_order(sheets: Sequence[tuple[Path, Columns]]) -> list[Path]:
    """Return sheets, of two that answer a task differently the one whose answers are later after the other.

    Raises:
        UsageError: no created_at says which is later.
    """
    found: dict[tuple[str, ...], list[tuple[str, Path, str]]] = {}
    order = TopologicalSorter[Path]({path: () for path, _ in sheets})
    for path, answers in sheets:
        for row in rows_of(answers):
            own = (utc_time(json.loads(row.answer).get("created_at", "")) or "", path, row.answer)
            others = found.setdefault((row.queue, row.annotator_id, row.pair_id), [])
            for other in (each for each in others if not says_the_same(own[2], each[2])):
                (at, earlier, _), (later, path_of_later, _) = sorted((other, own))
                order.add(path_of_later, earlier)
                if not at or at == later:
                    order.add(earlier, path_of_later)
            others.append(own)
    try:
        return list(order.static_order())
    except CycleError as error:
        one, other = error.args[1][:2]
        raise UsageError(
            f"{one} and {other}: different answers to the same tasks, and created_at does not say which are "
            "later; move the older file away, or `import` the older one alone, then the other"
        ) from None
