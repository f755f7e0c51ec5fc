"""A campaign's own record in a workspace: what was asked, of whom, under which page.

`campaign/campaign.json` holds the campaign's key and the labeling page; `campaign/round-N/` what is asked in
that round (`tasks.csv`), of whom (`assignments.csv`), and the known answers (`controls.csv`). It is written
before anything is sent, so that whatever is cut short can be taken up again with the same queues.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.moves import MOVES, Moves, check_moves, given_pairs, moved_assignments, no_moves
from fire_toolkit.campaign.queues import ASSIGNMENTS, Assignments, check_assignments, check_given
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import paths_in, read_text
from fire_toolkit.formats.tables.delimited import delimited_text, read_delimited
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables import TASKS, Qrels, Tasks, check_qrels, check_tasks
from fire_toolkit.workspace.manifests import finish_interrupted, write_files

FOLDER = "campaign"
BY_SERVER = "labelstudio"
BY_HAND = "folder"
BY_PAGE = "page"
_CARRIER = "carrier.json"
_MOVES = "moves.csv"
_RETIRED = "retired.txt"
_ROUND = re.compile(r"round-([1-9][0-9]*)")


@dataclass(frozen=True)
class Campaign:
    """A campaign: its key on every server, its guideline, the page that was shown."""

    key: str
    guideline: str
    guideline_sha256: str
    config_sha256: str
    label_config: str


@dataclass(frozen=True)
class Round:
    """What a round asks of whom: each pair once in `tasks`, who has it in `assignments`; what carries it.

    moves: what has changed hands since the queues were drawn; `assignments` are the queues as they are now;
    drawn: as they were then, where anything has moved; n_captions: how many captions of one item a page may
    have.
    """

    number: int
    tasks: Tasks
    assignments: Assignments
    controls: Qrels
    carrier: str = BY_SERVER
    moves: Moves = field(default_factory=no_moves)
    drawn: Assignments | None = None
    n_captions: int = 1

    @property
    def given(self) -> pd.DataFrame:
        """annotator_id, pair_id and kind of all that was ever given to somebody in this round."""
        return given_pairs(self.assignments, self.moves)


@dataclass(frozen=True)
class QueueName:
    """A queue: the round and the annotator it was made for."""

    round: int
    annotator_id: str

    def __str__(self) -> str:
        return f"{self.round}/{self.annotator_id}"


@lru_cache(1 << 12)
def queue_named(text: str) -> QueueName | None:
    """Return the queue that `str` of it names; None for any other text."""
    number, slash, annotator_id = text.partition("/")
    return QueueName(int(number), annotator_id) if slash and number.isdigit() and annotator_id else None


def read_campaign(root: Path) -> Campaign | None:
    """Return the campaign of the workspace `root`; None if none has begun.

    Raises:
        FormatError: its record is damaged.
    """
    path = root / FOLDER / "campaign.json"
    if not path.is_file():
        return None
    try:
        content = parse_json(read_text(path), str(path))
        campaign = Campaign(**{name: content[name] for name in Campaign.__annotations__})
        if {name: type(value).__name__ for name, value in vars(campaign).items()} != Campaign.__annotations__:
            raise TypeError("a value of another type")
        return campaign
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: damaged ({error}); restore it from a copy") from None


def write_campaign(root: Path, campaign: Campaign) -> None:
    """Write the campaign's record; a campaign that is there stays."""
    if read_campaign(root) not in (None, campaign):
        raise UsageError(f"{root / FOLDER}: another campaign has already begun here; use another workspace")
    content = json.dumps(asdict(campaign), indent=1, ensure_ascii=False) + "\n"
    write_files({root / FOLDER / "campaign.json": content.encode()})


def read_rounds(root: Path) -> list[Round]:
    """Return the rounds of the workspace `root`, by number; none if none has begun."""
    return [_read_round(root, number) for number in _begun(root)]


def _begun(root: Path) -> list[int]:
    named = [(path, _ROUND.fullmatch(path.name)) for path in paths_in(root / FOLDER)]
    return sorted(int(found[1]) for path, found in named if found and _has_begun(path))


class Rounds(Sequence[Round]):
    """The rounds of the workspace `root`, which are read when they are first looked at.

    carrier: only those that it carries.
    """

    def __init__(self, root: Path, carrier: str | None = None) -> None:
        self.carriers = {
            number: name
            for number in _begun(root)
            if (name := _carrier_of(root / FOLDER / f"round-{number}").get("carrier", BY_SERVER))
            and carrier in (None, name)
        }
        self._root = root
        self._read: dict[int, Round] = {}

    def __len__(self) -> int:
        return len(self.carriers)

    def __getitem__(self, place: Any) -> Any:
        numbers = list(self.carriers)[place]
        return [self._round(each) for each in numbers] if isinstance(place, slice) else self._round(numbers)

    def _round(self, number: int) -> Round:
        if number not in self._read:
            self._read[number] = _read_round(self._root, number)
        return self._read[number]


def _has_begun(folder: Path) -> bool:
    """Whether a round was written, not only its folder made before the disk was full or the writer killed."""
    if paths_in(folder):
        finish_interrupted(folder)
    return any(path.suffix == ".csv" for path in paths_in(folder))


def _read_round(root: Path, number: int) -> Round:
    folder = root / FOLDER / f"round-{number}"
    where = {name: str(folder / f"{name}.csv") for name in ("tasks", "assignments", "controls")}
    tables = {name: read_delimited(path) for name, path in where.items()}
    drawn = Round(
        number,
        check_tasks(tables["tasks"], where=where["tasks"]),
        check_assignments(tables["assignments"], where=where["assignments"]),
        check_qrels(tables["controls"], where=where["controls"]),
        **_carrier_of(folder),
    )
    check_given(drawn.assignments, drawn.tasks, where=where)
    return with_moves(root, drawn)


def with_moves(root: Path, drawn: Round) -> Round:
    """Return a round as it was drawn with what has changed hands in the workspace `root` since."""
    path = root / FOLDER / f"round-{drawn.number}" / _MOVES
    if not path.is_file():
        return drawn
    moves = check_moves(read_delimited(path), where=str(path))
    now = moved_assignments(drawn.assignments, moves)
    return replace(drawn, assignments=now, moves=moves, drawn=drawn.assignments)


def add_moves(root: Path, entry: Round, moves: Moves) -> None:
    """Write further moves of a round; those that are there stay."""
    both = check_moves(pd.concat([entry.moves, moves], ignore_index=True))
    path = root / FOLDER / f"round-{entry.number}" / _MOVES
    write_files({path: delimited_text(both[list(MOVES.names)]).encode()})


def read_retired(root: Path) -> set[str]:
    """Return the annotators who were retired from the campaign."""
    path = root / FOLDER / _RETIRED
    return set(read_text(path).split()) if path.is_file() and path.stat().st_size else set()


def write_retired(root: Path, names: Iterable[str]) -> None:
    """Write down who was retired, in place of those who were."""
    text = "".join(f"{name}\n" for name in sorted(names))
    write_files({root / FOLDER / _RETIRED: text.encode()})


def _carrier_of(folder: Path) -> dict[str, Any]:
    """Return carrier and n_captions of a round."""
    path = folder / _CARRIER
    if not path.is_file():
        return {}
    content = parse_json(read_text(path), str(path))
    found = content if isinstance(content, dict) else {}
    name, n_captions = found.get("carrier"), found.get("captions", 1)
    if not isinstance(name, str) or not name or type(n_captions) is not int or n_captions < 1:
        raise FormatError(
            f"{path}: carrier is {name!r} and captions {n_captions!r}, expected a name such as "
            f"{BY_SERVER} or {BY_HAND}, and a number from 1"
        )
    return {"carrier": name, "n_captions": n_captions}


def write_round(root: Path, entry: Round) -> None:
    """Write a round; one that is there already stays, and must be the same but for what a server can update.

    Captions and addresses of a server's round may change. A round by hand that is written again for the
    server is the server's from then on.

    Raises:
        UsageError: another round of that number has begun.
    """
    folder = root / FOLDER / f"round-{entry.number}"
    contents = _contents(folder, entry)
    if _has_begun(folder):
        refuse_other_round(root, entry)
        if entry.carrier == BY_SERVER:
            if carried := _carried(entry):
                write_files({folder / _CARRIER: carried})
            else:
                (folder / _CARRIER).unlink(missing_ok=True)
            tasks = folder / "tasks.csv"
            if tasks.read_bytes() != contents[tasks]:
                write_files({tasks: contents[tasks]})
        return
    if carried := _carried(entry):
        contents[folder / _CARRIER] = carried
    write_files(contents)


def _carried(entry: Round) -> bytes:
    """Return what is written of a round's carrier; nothing for a server's round of one caption a page."""
    captions = {"captions": entry.n_captions} if entry.n_captions > 1 else {}
    is_plain = entry.carrier == BY_SERVER and not captions
    return b"" if is_plain else (json.dumps({"carrier": entry.carrier, **captions}) + "\n").encode()


def refuse_other_round(root: Path, entry: Round) -> None:
    """Raise `UsageError` if another round of that number has begun."""
    folder = root / FOLDER / f"round-{entry.number}"
    contents = _contents(folder, entry) if _has_begun(folder) else {}
    there = _carrier_of(folder) if contents else {}
    n_there = there.get("n_captions", 1)
    if (
        contents
        and there.get("carrier", BY_SERVER) == entry.carrier == BY_SERVER
        and n_there != entry.n_captions
    ):
        raise UsageError(
            f"{folder}: round {entry.number} is on the server with at most {n_there} captions a page, now "
            f"{entry.n_captions}; push without --captions to continue it"
        )
    changed = [path.name for path, content in contents.items() if path.read_bytes() != content]
    if changed == ["tasks.csv"] and entry.carrier == BY_SERVER and _asks_the_same(folder, entry):
        return
    if changed:
        raise UsageError(
            f"{folder}: round {entry.number} was assigned differently ({', '.join(changed)} would change); "
            "push without new inputs to continue it, or begin another campaign in another workspace"
        )


def _asks_the_same(folder: Path, entry: Round) -> bool:
    """Whether a round on disk has the same pairs, and at most other captions and addresses."""
    there = check_tasks(read_delimited(folder / "tasks.csv"))
    rest = [name for name in there.columns if name not in ("text", "media_url", "reference_url")]
    return delimited_text(there[rest]) == delimited_text(entry.tasks[rest])


def _contents(folder: Path, entry: Round) -> dict[Path, bytes]:
    tables: Mapping[str, tuple[pd.DataFrame, tuple[str, ...]]] = {
        "tasks": (entry.tasks, tuple(name for name in TASKS.names if name in entry.tasks.columns)),
        "assignments": (entry.assignments if entry.drawn is None else entry.drawn, ASSIGNMENTS.names),
        "controls": (entry.controls, ("query_id", "doc_id", "relevance")),
    }
    return {
        folder / f"{name}.csv": delimited_text(table[list(columns)]).encode()
        for name, (table, columns) in tables.items()
    }
