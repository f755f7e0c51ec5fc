"""The campaign behind the page: who may come in, what each is asked, and what was answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.records import (
    BY_PAGE,
    Campaign,
    Round,
    read_retired,
    read_rounds,
    record_stamp,
)
from fire_toolkit.campaign.store import Record, Store, time_now
from fire_toolkit.campaign.tasks import REFERENCE_URL
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import text_sha256
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.media.places import is_address
from fire_toolkit.pages.answers import (
    ANSWER,
    CONSENT,
    UNDO,
    Asked,
    checked_answer,
    checked_text,
    open_answers,
)
from fire_toolkit.pages.desk import (
    Desk,
    Page,
    Task,
    make_desk,
    media_address,
    media_name,
    shown_page,
)
from fire_toolkit.pages.links import PLACE, read_links, session_hash, session_of
from fire_toolkit.pages.written import shown_guideline
from fire_toolkit.resolution.judgments import just_after


class Refused(FireError):
    """What a browser asks cannot be done; status: the answer's."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass(frozen=True)
class Setting:
    """How the page is served: most captions on a page, what people agree to, the file of each media_url.

    base: how the addresses of this machine's own `media serve` begin, which lead nowhere but to `files`.
    """

    n_captions: int | None
    consent: str
    files: Mapping[str, Path]
    base: str = ""


def missing_media(
    rounds: Iterable[Round], guideline: Guideline, files: Mapping[str, Path], base: str
) -> list[str]:
    """Return the media of tasks that are neither files here nor addresses elsewhere; see `Setting`."""
    urls = _urls_of(rounds, guideline)
    return sorted(
        url
        for url in urls
        if url.partition("#")[0] not in files and (not is_address(url) or (base and url.startswith(base)))
    )


def _urls_of(rounds: Iterable[Round], guideline: Guideline) -> set[str]:
    if not guideline.shows_media:
        return set()
    shown = [entry.tasks.filter(["media_url", REFERENCE_URL]) for entry in rounds]
    return {url for table in shown for url in table.to_numpy().ravel()}


class Office:
    """The campaign in the workspace `root`, read again whenever its record has changed."""

    def __init__(
        self, root: Path, campaign: Campaign, guideline: Guideline, store: Store, setting: Setting
    ) -> None:
        self.guideline = guideline
        self._root, self._campaign, self._store, self._setting = root, campaign, store, setting
        self._seen: object = None
        self._rounds: list[Round] = []
        self._desks: dict[str, Desk] = {}
        self._names: dict[str, str] = {}
        self._records = store.page_records()
        self._keys = {str(record["key"]) for record in self._records}
        self._own: dict[str, list[Record]] = {}
        for record in self._records:
            self._own.setdefault(record["annotator"], []).append(record)

    @property
    def campaign_key(self) -> str:
        """The campaign's key."""
        return self._campaign.key

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
            raise Refused(401, "This link is no longer valid. Ask whoever runs the campaign for a new one.")
        return name

    def state(self, name: str) -> dict[str, Any]:
        """Return what an annotator's page shows now."""
        content = shown_guideline(self.guideline)
        content["consent"] = None if self._has_agreed(name) else self._setting.consent
        if content["consent"] is not None:
            return content
        answers = self._answers(name)
        desk = self._desk(name)
        content |= {
            "done": sum(task.asked in answers for task in desk.tasks),
            "total": len(desk.tasks),
            "can_undo": bool(answers),
            "farewell": "You can close this page.",
        }
        left = [page for page in desk.pages if any(task.asked not in answers for task in page.tasks)]
        labels = {asked: str(record["label"]) for asked, record in answers.items()}
        files, key = self._setting.files, self._campaign.key

        def address(url: str) -> str:
            return url if self.guideline.shows_texts else media_address(files, key, name, url)

        pages = [shown_page(page, labels, address) for page in left[:2]]
        return content | {"page": pages[0] if pages else None, "next": pages[1] if len(pages) > 1 else None}

    def agree(self, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Note that an annotator agrees to what was shown, and return her page."""
        key = _text(content, "key")
        if not self._has_agreed(name) and key not in self._keys:
            self._add(CONSENT, name, key, {"text_sha256": text_sha256(self._setting.consent)})
        return self.state(name)

    def answer(self, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Keep an answer, or a report that the item is missing (no label), and return the page that follows.

        The same key again is the same answer. A pair that has an answer keeps it: two tabs, or a page that
        was gone back to, change nothing; `undo` takes an answer back.

        Raises:
            Refused: what is sent is not an answer to what is asked now.
        """
        key = _text(content, "key")
        self._refuse_without_consent(name)
        if key in self._keys:
            return self.state(name)
        answers, desk = self._answers(name), self._desk(name)
        page, position = _place_of(desk, _text(content, "task"))
        task = page.tasks[position]
        left = next((each for each in desk.pages if any(t.asked not in answers for t in each.tasks)), None)
        if task.asked in answers or page is not left:
            raise Refused(409, "This task is not the current one.")
        try:
            given = checked_answer(content, self.guideline)
        except FormatError as error:
            raise Refused(422, str(error)) from None
        entries = given | _asked(task) | _page_of(page, position)
        self._add(ANSWER, name, key, entries)
        return self.state(name)

    def undo(self, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Take an annotator's last answer back, and return the page on which it is asked again."""
        key = _text(content, "key")
        self._refuse_without_consent(name)
        answers = self._answers(name)
        if key not in self._keys and answers:
            number, pair = list(answers)[-1]
            self._add(UNDO, name, key, {"round": number, "pair": pair})
        return self.state(name)

    def file(self, name: str, wanted: str) -> Path:
        """Return the file that an annotator gets under this name.

        Raises:
            Refused: none of her tasks shows it.
        """
        self._refuse_without_consent(name)
        for page in self._desk(name).pages:
            for url in page.urls:
                found = self._file(url) if media_name(self._campaign.key, name, url) == wanted else None
                if found is not None and found.is_file():
                    return found
        raise Refused(404, "no such file")

    def origins(self) -> set[str]:
        """Return the origins of media that are not served from here."""
        self._refresh()
        urls = _urls_of(self._rounds, self.guideline)
        away_from_here = [url for url in urls if self._file(url) is None and is_address(url)]
        return {"/".join(url.split("/")[:3]) for url in away_from_here}

    def missing(self) -> list[str]:
        """Return the media of tasks that are neither files here nor addresses elsewhere."""
        self._refresh()
        return missing_media(self._rounds, self.guideline, self._setting.files, self._setting.base)

    def people(self) -> list[str]:
        """Return everybody who is asked something on this page, sorted."""
        self._refresh()
        names = {name for entry in self._rounds for name in entry.assignments["annotator_id"]}
        return sorted(names - read_retired(self._root))

    def _file(self, media_url: str) -> Path | None:
        return self._setting.files.get(media_url.partition("#")[0])

    def _desk(self, name: str) -> Desk:
        self._refresh()
        if name not in self._desks:
            self._desks[name] = make_desk(
                self._rounds, name, campaign_key=self._campaign.key, n_captions=self._setting.n_captions
            )
        return self._desks[name]

    def _answers(self, name: str) -> dict[Asked, Record]:
        return open_answers(self._own.get(name, []), name)

    def _has_agreed(self, name: str) -> bool:
        wanted = text_sha256(self._setting.consent)
        own = self._own.get(name, [])
        return any(record["kind"] == CONSENT and record["text_sha256"] == wanted for record in own)

    def _refuse_without_consent(self, name: str) -> None:
        if not self._has_agreed(name):
            raise Refused(403, "Read and agree to the first page before you begin.")

    def _add(self, kind: str, name: str, key: str, entries: Mapping[str, Any]) -> None:
        if not key:
            raise Refused(422, "key: expected a text")
        before = self._records[-1]["at"] if self._records else ""
        own = {
            "n": len(self._records) + 1,
            "kind": kind,
            "annotator": name,
            "key": key,
            "at": _time_after(before),
        }
        record = own | dict(entries)
        self._store.add_page_record(record)
        self._records.append(record)
        self._keys.add(key)
        self._own.setdefault(name, []).append(record)

    def _refresh(self) -> None:
        """Read the campaign again if a file of its record has changed."""
        links = self._root / PLACE
        seen = (record_stamp(self._store), [path.stat().st_mtime_ns for path in sorted(links.glob("*"))])
        if seen != self._seen:
            self._rounds = [entry for entry in read_rounds(self._root) if entry.carrier == BY_PAGE]
            self._names = {digest: name for name, digest in read_links(self._root).items()}
            self._desks, self._seen = {}, seen


def _place_of(desk: Desk, task_id: str) -> tuple[Page, int]:
    for page in desk.pages:
        for position, task in enumerate(page.tasks):
            if task.id == task_id:
                return page, position
    raise Refused(404, "no such task")


def _asked(task: Task) -> dict[str, Any]:
    number, pair = task.asked
    return {"round": number, "pair": pair}


def _page_of(page: Page, position: int) -> dict[str, Any]:
    """Return the page and the place on it, where it has several captions."""
    return {"page": page.id, "position": position + 1} if len(page.tasks) > 1 else {"page": "", "position": 1}


def _text(content: Mapping[str, Any], name: str) -> str:
    """Return a key or a task's name; `Refused` for anything else."""
    try:
        return checked_text(content, name, 100)
    except FormatError as error:
        raise Refused(422, str(error)) from None


def _time_after(before: str) -> str:
    """Return the time now as the ledger writes it, after `before` in any case: it is a version's name."""
    now = time_now()
    return now if now > before else just_after(before)
