"""The campaign behind the page: who may come in, what each is asked, and what was answered.

An annotator's link has a token of 128 bits in its fragment, which browsers send to nobody. The page exchanges
it once for a session, a cookie that scripts cannot read; the hash of that session is what is kept, so neither
link nor session can be read from the workspace.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.campaign.carrier import Carried, Delivered, Fetched, Report, no_report
from fire_toolkit.campaign.queues import MOST_CAPTIONS
from fire_toolkit.campaign.records import (
    BY_PAGE,
    FOLDER,
    Campaign,
    QueueName,
    Round,
    Rounds,
    read_retired,
    record_stamp,
    write_retired,
)
from fire_toolkit.campaign.store import Record, Store, time_now
from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.campaign.views import answered_tasks
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_text, text_sha256
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.media.places import is_address, without_part
from fire_toolkit.pages.answers import ANSWER, CONSENT, Asked, checked_answer, checked_text, fold_records
from fire_toolkit.pages.desk import Desk
from fire_toolkit.pages.written import shown_guideline
from fire_toolkit.resolution.judgments import just_after
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.manifests import write_files

_TOKEN_BYTES = 16
PLACE = Path(FOLDER) / "page"
_FILE = PLACE / "links.json"


def session_of(token: str) -> str:
    """Return the session that a link's token is exchanged for."""
    return hashlib.sha256(b"session of " + token.encode("utf-8", "replace")).hexdigest()


def session_hash(session: str) -> str:
    """Return what is kept of a session."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()


def read_links(root: Path) -> dict[str, str]:
    """Return the hash of each annotator's session; empty if no link was made.

    Raises:
        FormatError: the file is damaged.
    """
    path = root / _FILE
    content: Any = parse_json(read_text(path), str(path)) if path.is_file() else {}
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise FormatError(f"{path}: damaged; delete it and `fire-toolkit page serve` makes new links")
    return content


def make_links(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Return a new token for each annotator; links that they had before end."""
    tokens = {name: secrets.token_urlsafe(_TOKEN_BYTES) for name in names}
    _change_links(root, {name: session_hash(session_of(token)) for name, token in tokens.items()})
    return tokens


def end_links(root: Path, names: Iterable[str]) -> None:
    """End annotators' links."""
    _change_links(root, dict.fromkeys(names, ""))


def _change_links(root: Path, hashes: Mapping[str, str]) -> None:
    known = {name: value for name, value in sorted({**read_links(root), **hashes}.items()) if value}
    write_files({root / _FILE: (json.dumps(known, indent=1) + "\n").encode()})


class OwnPage:
    """Our own page as a carrier: queues are shown, and answers come, from the campaign's record."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def deliver(self, carried: Carried, *, report: Report = no_report) -> list[Delivered]:
        """Count every queue; the page reads them from the campaign's record, so nothing is sent."""
        given = []
        for entry in carried.rounds:
            for name, rows in entry.assignments.groupby("annotator_id", sort=True):
                given.append(Delivered(QueueName(entry.number, str(name)), n_there=len(rows)))
                report(len(rows))
        return given

    def fetch(self, carried: Carried, *, is_full: bool = False, report: Report = no_report) -> Fetched:
        """Add what was done on the page to the record's answers, as far as they are not there."""
        with Store(carried.store) as kept:
            report(fold_records(kept.page_records(), carried.campaign.key, kept))
            return Fetched(kept.counts, tuple(kept.notes))

    def retire(self, names: Iterable[str]) -> None:
        """End annotators' links; what they answered stays theirs."""
        gone = set(names)
        write_retired(self._root, gone)
        end_links(self._root, gone)

    def where(self, carried: Carried) -> dict[QueueName, str]:
        """Return for each queue whether its annotator has a link; the links themselves are not kept."""
        known = read_links(self._root)
        return {
            QueueName(entry.number, name): "a link was made" if name in known else "no link yet"
            for entry in carried.rounds
            for name in entry.assignments["annotator_id"].unique()
        }


_LAST = 5  # answers to look at
_OTHER_LINK = "Another link was opened in this browser. Open your own link again to go on under your name."
_NOT_ASKED = "This task is not the current one."
_NO_LINK = "This link is no longer valid. Ask whoever runs the campaign for a new one."


class Refused(FireError):
    """What a browser asks cannot be done; status: the answer's."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def missing_media(
    rounds: Iterable[Round], guideline: Guideline, files: Mapping[str, Path], base: str
) -> list[str]:
    """Return the media of tasks that are neither files here nor addresses elsewhere.

    base: how the addresses of this machine's own `media serve` begin, which lead nowhere but to `files`.
    """
    urls = _not_here(rounds, guideline, files)
    return sorted(url for url in urls if not is_address(url) or (base and url.startswith(base)))


def _not_here(rounds: Iterable[Round], guideline: Guideline, files: Mapping[str, Path]) -> set[str]:
    shown = [entry.tasks.filter(["media_url", REFERENCE_URL]) for entry in rounds if guideline.shows_media]
    return {url for table in shown for url in table.to_numpy().ravel() if without_part(url) not in files}


class _Own:
    """What one annotator did, taken in record by record, so that an answer costs the same in any queue.

    Attributes:
        answers: those that stand, in the order in which they were given; was: the last label of each
        question, also where it was taken back; keys: of what was sent; agreed: hashes of the texts agreed to;
        desk: what she is asked, None where that is to be read anew; is_left: which of its tasks have no
        answer; read_up_to: what had been read into the ledger when she last opened the page; at: when
        something was last done about each question.
    """

    def __init__(self) -> None:
        self.answers, self.was, self.at = dict[Asked, Record](), dict[Asked, str](), dict[Asked, str]()
        self.keys, self.agreed = set[str](), set[str]()
        self.desk: Desk | None = None
        self.is_left: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.read_up_to: object = None

    @property
    def last(self) -> list[Asked]:
        """What was answered last of what is asked now, the last first."""
        numbers = self.desk.numbers if self.desk else {}
        return list(islice((asked for asked in reversed(self.answers) if asked in numbers), _LAST))

    def add(self, record: Record) -> None:
        """Take in what was done last."""
        self.keys.add(record["key"])
        if record["kind"] == CONSENT:
            self.agreed.add(record["text_sha256"])
            return
        asked = (record["round"], record["pair"])
        self.at[asked] = record["at"]
        self.answers.pop(asked, None)
        if record["kind"] == ANSWER:
            self.answers[asked], self.was[asked] = record, record["label"]
        if self.desk and asked in self.desk.numbers:
            self.is_left[self.desk.numbers[asked]] = record["kind"] != ANSWER


class Office:
    """The campaign in the workspace `root`, read again whenever a file of its record has changed.

    consent: what people agree to first; files: as of `Desk`.
    """

    def __init__(
        self,
        root: Path,
        campaign: Campaign,
        guideline: Guideline,
        store: Store,
        consent: str,
        files: Mapping[str, Path],
    ) -> None:
        self.guideline, self.campaign_key = guideline, campaign.key
        self._root, self._store, self._files, self._words = root, store, files, consent
        self._consent = text_sha256(consent)
        self._n_records = 0
        self._seen: tuple[tuple[int, ...], list[int]] = ((), [])
        self._own: defaultdict[str, _Own] = defaultdict(_Own)
        self._keep(store.page_records())
        self._refresh()

    def _keep(self, records: Iterable[Record]) -> None:
        for record in records:
            self._n_records += 1
            self._own[record["annotator"]].add(record)

    def _refresh(self) -> None:
        links = (self._root / PLACE).glob("*")
        seen = (record_stamp(self._store), [path.stat().st_mtime_ns for path in sorted(links)])
        if seen != self._seen:
            self._rounds = Rounds(self._root, BY_PAGE)
            self._names = {digest: name for name, digest in read_links(self._root).items()}
            self._seen = seen
            away = filter(is_address, _not_here(self._rounds, self.guideline, self._files))
            self._origins = " ".join(sorted({"/".join(url.split("/")[:3]) for url in away}))
            for own in self._own.values():
                own.desk = None

    def annotator(self, session: str) -> str:
        """Return whose session it is.

        Raises:
            Refused: nobody's, or the annotator was retired.
        """
        self._refresh()
        name = self._names.get(session_hash(session))
        if name is None or name in read_retired(self._root):
            raise Refused(401, _NO_LINK)
        return name

    def opened(self, name: str) -> dict[str, Any]:
        """Return what an annotator's page shows that is opened now, after what came in meanwhile."""
        own, (read,) = self._own[name], self._store.select("select max(number) from batches")
        if read != own.read_up_to:
            own.desk, own.read_up_to = None, read
        return self.state(name)

    def state(self, name: str) -> dict[str, Any]:
        """Return what an annotator's page shows now."""
        content = shown_guideline(self.guideline) | {"who": name, "consent": None}
        if self._consent not in self._own[name].agreed:
            return content | {"consent": self._words}
        desk, own = self._desk(name), self._own[name]
        last = [desk.tasks[desk.numbers[asked]][2] for asked in own.last]
        left = np.flatnonzero(own.is_left)
        pages = list(dict.fromkeys(desk.tasks[number][0] for number in left[: 2 * MOST_CAPTIONS]))[:2]
        shown = [desk.shown(page, own.answers, own.was) for page in pages]
        return content | {
            "done": len(desk.tasks) - len(left),
            "total": len(desk.tasks),
            "can_undo": bool(last),
            "last": [{"task": e.id, "text": e.caption, "label": own.was[e.asked]} for e in last],
            "farewell": "You can close this page.",
            "page": shown[0] if shown else None,
            "next": shown[1] if len(shown) > 1 else None,
        }

    def act(self, what: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Do what an annotator's page asks, once for each key, and return what it shows then.

        what: `consent` notes that she agrees to what was shown. `answer` keeps an answer; without a label it
        reports that the item is missing, for all that is asked of that item. A pair that has an answer keeps
        it: two tabs, or a page that was gone back to, change nothing. `undo` takes an answer back: that of
        the task named, else the last one, or the last report whole.

        Raises:
            Refused: what is sent is nothing that is asked now, or the page was opened by another link.
        """
        if content.get("who") != name:
            raise Refused(403, _OTHER_LINK)
        try:
            key, task = checked_text(content, "key", 100), checked_text(content, "task", 100)
            if not key:
                raise FormatError("key: expected a text")
            if what == CONSENT:
                if self._consent not in self._own[name].agreed:
                    self._add(name, {"kind": CONSENT, "key": key, "text_sha256": self._consent})
                return self.state(name)
            if key not in self._own[name].keys:
                found = self._answered(name, task, content) if what == ANSWER else self._undone(name, task)
                self._add(name, *({"kind": what, "key": key, **entry} for entry in found))
        except FormatError as error:
            raise Refused(422, str(error)) from None
        return self.state(name)

    def _answered(self, name: str, task_id: str, content: Mapping[str, Any]) -> list[dict[str, Any]]:
        desk, is_left = self._desk(name), self._own[name].is_left
        left = [desk.tasks[number] for number in np.flatnonzero(is_left)[:MOST_CAPTIONS]]
        found = next((place for place in left if place[2].id == task_id), None)
        if found is None or found[0] is not left[0][0]:
            is_asked = any(task.id == task_id for _, _, task in desk.tasks)
            raise Refused(409, _NOT_ASKED) if is_asked else Refused(404, "no such task")
        given, same = checked_answer(content, self.guideline), [found]
        if not given["label"] and self.guideline.shows_media:
            same = [place for place in compress(desk.tasks, is_left) if place[0].item == found[0].item]
        return [
            given
            | {"round": task.asked[0], "pair": task.asked[1], "position": n}
            | {"page": page.id if len(page.tasks) > 1 else ""}
            for page, n, task in same
        ]

    def _undone(self, name: str, task_id: str) -> list[dict[str, Any]]:
        desk, own = self._desk(name), self._own[name]
        named = [task.asked for _, _, task in desk.tasks if task.id == task_id] if task_id else own.last[:1]
        wanted = [asked for asked in named if asked in own.answers]
        keys = {own.answers[asked]["key"] for asked in wanted if not (task_id or own.answers[asked]["label"])}
        reported = [asked for asked, record in own.answers.items() if record["key"] in keys] if keys else []
        return [{"round": number, "pair": pair} for number, pair in reported or wanted]

    def file(self, name: str, wanted: str) -> Path:
        """Return the file that an annotator gets under this name.

        Raises:
            Refused: none of her tasks shows it, or she has not agreed to the first page.
        """
        path = self._desk(name).media.get(wanted)
        if path is None or not path.is_file():
            raise Refused(404, "no such file")
        return path

    def origins(self) -> str:
        """Return the origins of media that are not served from here, those of a further round too."""
        with suppress(FireError):  # whose link it is cannot be read either, which is said there
            self._refresh()
        return self._origins

    def desk(self, name: str, *, is_anew: bool = False) -> Desk:
        """Return what an annotator is asked but for what was answered elsewhere; is_anew: or on this page."""
        own, given = self._own[name], (self._rounds, name, self.guideline, self._files)
        done = answered_tasks(self._store, name) - own.was.keys() | (own.answers.keys() if is_anew else set())
        return Desk(*given, campaign_key=self.campaign_key, without=done)

    def _desk(self, name: str) -> Desk:
        self._refresh()
        own = self._own[name]
        if self._consent not in own.agreed:
            raise Refused(403, "Read and agree to the first page before you begin.")
        if own.desk is None:
            own.desk = self.desk(name)
            own.is_left = np.array([asked not in own.answers for asked in own.desk.numbers], dtype=bool)
        return own.desk

    def _add(self, name: str, *entries: Mapping[str, Any]) -> None:
        """Keep records, all or none, if what is asked is still what was shown.

        Each has a time after the last one of its question in any case: these are versions' names.
        """
        found = list[Record]()
        for number, entry in enumerate(entries, start=self._n_records + 1):
            last = self._own[name].at.get((entry.get("round", 0), entry.get("pair", "")))
            at = max(time_now(), just_after(last) if last else "")
            found.append({"n": number, "annotator": name, "at": at, **entry})

        def refuse_change() -> None:
            if record_stamp(self._store) != self._seen[0]:
                raise Refused(409, _NOT_ASKED)

        self._store.add_page_records(*found, check=refuse_change)
        self._keep(found)
