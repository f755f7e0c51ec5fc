"""The campaign behind the page: who may come in, what each is asked, and what was answered.

An annotator's link has a token of 128 bits in its fragment, which browsers send to nobody. The page exchanges
it once for a session, a cookie that scripts cannot read; the hash of that session is what is kept, so neither
link nor session can be read from the workspace.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.records import (
    BY_PAGE,
    FOLDER,
    Campaign,
    Round,
    read_retired,
    read_rounds,
    record_stamp,
)
from fire_toolkit.campaign.store import Record, Store, time_now
from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import read_text, text_sha256
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.media.places import is_address
from fire_toolkit.pages.answers import ANSWER, CONSENT, checked_answer, checked_text, open_answers
from fire_toolkit.pages.desk import Desk, Setting
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
    hashes = {name: session_hash(session_of(token)) for name, token in tokens.items()}
    _write(root, read_links(root) | hashes)
    return tokens


def end_links(root: Path, names: Iterable[str]) -> None:
    """End annotators' links."""
    gone = set(names)
    _write(root, {name: value for name, value in read_links(root).items() if name not in gone})


def _write(root: Path, hashes: dict[str, str]) -> None:
    write_files({root / _FILE: (json.dumps(dict(sorted(hashes.items())), indent=1) + "\n").encode()})


_LAST = 5  # answers to look at
_OTHER_LINK = "Another link was opened in this browser. Open your own link again to go on under your name."
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
    return sorted(
        url
        for url in _urls_of(rounds, guideline)
        if url.partition("#")[0] not in files and (not is_address(url) or (base and url.startswith(base)))
    )


def _urls_of(rounds: Iterable[Round], guideline: Guideline) -> set[str]:
    shown = [entry.tasks.filter(["media_url", REFERENCE_URL]) for entry in rounds if guideline.shows_media]
    return {url for table in shown for url in table.to_numpy().ravel()}


class Office:
    """The campaign in the workspace `root`, read again whenever a file of its record has changed."""

    def __init__(
        self, root: Path, campaign: Campaign, guideline: Guideline, store: Store, setting: Setting
    ) -> None:
        self.guideline, self.campaign_key = guideline, campaign.key
        self._root, self._store, self._setting = root, store, setting
        self._seen: object = None
        self._rounds: list[Round] = []
        self._desks: dict[str, Desk] = {}
        self._names: dict[str, str] = {}
        self._n_records, self._last = 0, ""
        self._own: dict[str, list[Record]] = {}
        for record in store.page_records():
            self._keep(record)

    def _keep(self, record: Record) -> None:
        self._n_records, self._last = self._n_records + 1, record["at"]
        self._own.setdefault(record["annotator"], []).append(record)

    def _refresh(self) -> None:
        links = (self._root / PLACE).glob("*")
        seen = (record_stamp(self._store), [path.stat().st_mtime_ns for path in sorted(links)])
        if seen != self._seen:
            self._rounds = [entry for entry in read_rounds(self._root) if entry.carrier == BY_PAGE]
            self._names = {digest: name for name, digest in read_links(self._root).items()}
            self._desks, self._seen = {}, seen

    def session(self, token: str) -> str:
        """Return the session for a link's token.

        Raises:
            Refused: no link has it.
        """
        session = session_of(token)
        self.annotator(session)
        return session

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

    def people(self) -> list[str]:
        """Return everybody who is asked something on this page, sorted."""
        self._refresh()
        names = {name for entry in self._rounds for name in entry.assignments["annotator_id"]}
        return sorted(names - read_retired(self._root))

    def state(self, name: str) -> dict[str, Any]:
        """Return what an annotator's page shows now."""
        content = shown_guideline(self.guideline) | {"who": name, "consent": None}
        if not self._has_agreed(name):
            return content | {"consent": self._setting.consent}
        answers, desk = self._answers(name), self._desk(name)
        own = self._own.get(name, [])
        was = {(each["round"], each["pair"]): each["label"] for each in own if each["kind"] == ANSWER}
        tasks = {task.asked: task for page in desk.pages for task in page.tasks}
        last = [(asked, tasks[asked]) for asked in reversed(answers) if asked in tasks][:_LAST]
        labels = {asked: str(record["label"]) for asked, record in answers.items()}
        left = [page for page in desk.pages if any(task.asked not in answers for task in page.tasks)]
        shown = [desk.shown(page, labels, was) for page in left[:2]]
        return content | {
            "done": sum(asked in answers for asked in tasks),
            "total": len(tasks),
            "can_undo": bool(last),
            "last": [{"task": task.id, "text": task.caption, "label": labels[asked]} for asked, task in last],
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
            key, task_id = checked_text(content, "key", 100), checked_text(content, "task", 100)
            if not key:
                raise FormatError("key: expected a text")
            if what == CONSENT:
                if not self._has_agreed(name):
                    self._add(name, {"kind": CONSENT, "key": key, "text_sha256": self._consent})
                return self.state(name)
            self._refuse_without_consent(name)
            if all(record["key"] != key for record in self._own.get(name, [])):
                entries = self._answered(name, task_id, content) if what == ANSWER else None
                for entry in self._undone(name, task_id) if entries is None else entries:
                    self._add(name, {"kind": what, "key": key, **entry})
        except FormatError as error:
            raise Refused(422, str(error)) from None
        return self.state(name)

    def _answered(self, name: str, task_id: str, content: Mapping[str, Any]) -> list[dict[str, Any]]:
        answers = self._answers(name)
        places = [
            (page, n, task) for page in self._desk(name).pages for n, task in enumerate(page.tasks, start=1)
        ]
        left = [(page, n, task) for page, n, task in places if task.asked not in answers]
        found = next((place for place in places if place[2].id == task_id), None)
        if found is None:
            raise Refused(404, "no such task")
        if found not in left or found[0] is not left[0][0]:
            raise Refused(409, "This task is not the current one.")
        given = checked_answer(content, self.guideline)
        same = [found]
        if not given["label"] and self.guideline.shows_media:
            same = [place for place in left if place[0].urls == found[0].urls]
        return [
            given
            | {"round": task.asked[0], "pair": task.asked[1], "position": n}
            | {"page": page.id if len(page.tasks) > 1 else ""}
            for page, n, task in same
        ]

    def _undone(self, name: str, task_id: str) -> list[dict[str, Any]]:
        answers = self._answers(name)
        named = [task.asked for page in self._desk(name).pages for task in page.tasks if task.id == task_id]
        wanted = [asked for asked in named if asked in answers] if task_id else list(answers)[-1:]
        keys = {answers[asked]["key"] for asked in wanted if not (task_id or answers[asked]["label"])}
        reported = [asked for asked, record in answers.items() if record["key"] in keys]
        return [{"round": number, "pair": pair} for number, pair in reported or wanted]

    def file(self, name: str, wanted: str) -> Path:
        """Return the file that an annotator gets under this name.

        Raises:
            Refused: none of her tasks shows it.
        """
        self._refuse_without_consent(name)
        path = self._desk(name).media.get(wanted)
        if path is None or not path.is_file():
            raise Refused(404, "no such file")
        return path

    def origins(self) -> set[str]:
        """Return the origins of media that are not served from here."""
        self._refresh()
        urls, here = _urls_of(self._rounds, self.guideline), self._setting.files
        away = [url for url in urls if url.partition("#")[0] not in here and is_address(url)]
        return {"/".join(url.split("/")[:3]) for url in away}

    def _desk(self, name: str) -> Desk:
        self._refresh()
        if name not in self._desks:
            own = (self._rounds, name, self.guideline, self._setting)
            self._desks[name] = Desk(*own, campaign_key=self.campaign_key)
        return self._desks[name]

    def _answers(self, name: str) -> dict[tuple[int, str], Record]:
        return open_answers(self._own.get(name, []))

    @property
    def _consent(self) -> str:
        return text_sha256(self._setting.consent)

    def _has_agreed(self, name: str) -> bool:
        own = self._own.get(name, [])
        return any(each["kind"] == CONSENT and each["text_sha256"] == self._consent for each in own)

    def _refuse_without_consent(self, name: str) -> None:
        if not self._has_agreed(name):
            raise Refused(403, "Read and agree to the first page before you begin.")

    def _add(self, name: str, entries: Mapping[str, Any]) -> None:
        """Keep a record, with a time after the last one in any case: it is a version's name."""
        now = time_now()
        at = now if now > self._last else just_after(self._last)
        record = {"n": self._n_records + 1, "annotator": name, "at": at, **entries}
        self._store.add_page_record(record)
        self._keep(record)
