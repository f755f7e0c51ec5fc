"""A ledger while it is being written: what it holds of each answer, kept up to date."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from fire_toolkit.campaign.ledger import (
    DELETED,
    RESTORED,
    STATES,
    Ledger,
    append_rows,
    latest_answers,
    read_ledger,
)
from fire_toolkit.campaign.ledger_rows import with_states
from fire_toolkit.campaign.page_json import whole_key

TaskKey = tuple[str, str]

# A segment of its own for each handful of answers would cost more than reading them from a server.
_AT_ONCE = 1000


def time_now() -> str:
    """Return the time now as the ledger writes it: UTC, microseconds, `Z`."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class LedgerIndex:
    """A ledger that is being written. What is there is read once, when it is first asked for.

    Answers wait until there are many, or until `write`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[dict[str, str]] = []
        self._times: dict[str, dict[str, list[str]]] = {}
        self.counts = dict.fromkeys(STATES, 0)

    @cached_property
    def _ledger(self) -> Ledger:
        return read_ledger(self._folder)

    @cached_property
    def _known(self) -> set[str]:
        return set(self._ledger["row_id"].tolist())

    @cached_property
    def _states(self) -> dict[str, tuple[str, str]]:
        """For each answer its last version, and whether the last word on that is a deletion."""
        states: dict[str, tuple[str, str]] = {}
        columns = (self._ledger[name].tolist() for name in ("annotation", "updated_at", "state"))
        for annotation, updated_at, state in zip(*columns, strict=True):
            is_event = state in (DELETED, RESTORED)
            if is_event or updated_at != states.get(annotation, ("", ""))[0]:
                states[annotation] = (updated_at, state)
        return states

    @cached_property
    def answers(self) -> dict[str, str]:
        """For each answer what its last version says."""
        return dict(zip(self._ledger["annotation"].tolist(), self._ledger["answer"].tolist(), strict=True))

    @cached_property
    def _versions(self) -> set[tuple[str, str]]:
        columns = (self._ledger[name].tolist() for name in ("annotation", "updated_at"))
        return set(zip(*columns, strict=True))

    def latest(self, annotation: str) -> tuple[str, str] | None:
        """Return the time and the content of the last version of an answer; None if there is none."""
        known = self._states.get(annotation)
        return (known[0], self.answers[annotation]) if known else None

    def has_version(self, row: Mapping[str, str]) -> bool:
        """Whether the ledger holds the version of an answer that a row is of, wherever it was seen."""
        return (row["annotation"], row["updated_at"]) in self._versions

    @cached_property
    def _places(self) -> dict[tuple[str, str, str, str], set[str]]:
        """For each source, project, task and pair the answers that were seen there."""
        places = defaultdict(set)
        for annotation, place in zip(
            self._ledger["annotation"].tolist(), _places_of(self._ledger), strict=True
        ):
            places[place].add(annotation)
        return dict(places)

    def add_answers(self, rows: Iterable[dict[str, str]]) -> None:
        """Add the versions of answers that the ledger does not have, with their states."""
        self._waiting += rows
        if len(self._waiting) >= _AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write what waits, durably."""
        rows, self._waiting = self._waiting, []
        if rows:
            self.append(with_states(rows, self._states))

    def append(self, rows: Ledger) -> None:
        """Write rows, durably, as far as the ledger does not have them."""
        new = Ledger(rows[[row not in self._known for row in rows["row_id"]]])
        if new.empty:
            return
        places = self._places
        append_rows(self._folder, new)
        self._times.clear()
        for annotation, place in zip(new["annotation"].tolist(), _places_of(new), strict=True):
            places.setdefault(place, set()).add(annotation)
        answers = self.answers
        self._versions.update(zip(new["annotation"], new["updated_at"], strict=True))
        self._known.update(new["row_id"])
        columns = (new[name].tolist() for name in ("annotation", "updated_at", "state", "answer"))
        for annotation, updated_at, state, answer in zip(*columns, strict=True):
            self.counts[state] += 1
            if updated_at >= self._states.get(annotation, ("", ""))[0]:
                self._states[annotation] = (updated_at, state)
                answers[annotation] = answer

    def queues(self, source: str) -> dict[str, str]:
        """Return the queue of each project of a source of which the ledger holds answers."""
        rows = self._ledger[self._ledger["source"] == source]
        return dict(zip(rows["project"], rows["queue"], strict=True))

    def answer_times(self, source: str) -> dict[str, list[str]]:
        """Return for each project of a source the updated_at of its answers, skips too, that are there.

        A page of several captions is one answer there.
        """
        if source in self._times:
            return self._times[source]
        there: dict[str, set[str]] = {}
        for (found, project, *_), own in self._places.items():
            if found == source:
                there.setdefault(project, set()).update(own)
        times: dict[str, list[str]] = {}
        for project, own in there.items():
            states = ((whole_key(each), *self._states[each]) for each in own)
            whole = sorted((key, updated_at) for key, updated_at, state in states if state != DELETED)
            times[project] = list(dict(whole).values())
        self._times[source] = times
        return times

    def missing(
        self,
        source: str,
        project: str,
        *,
        seen: Collection[str],
        tasks: Collection[TaskKey] | None = None,
        since: str = "",
        until: str = "~",
    ) -> Ledger:
        """Return the answers that were there at the last look and are not in `seen`.

        Args:
            source: the server.
            project: its number there.
            seen: annotations that are there.
            tasks: number and pair of the tasks that were looked at; None: all.
            since, until: only answers last changed from the one time on, before the other: a server uses the
                number of a deleted project again.
        """
        here = (source, project)
        if tasks is None:
            looked_at = [place for place in self._places if place[:2] == here]
        else:
            looked_at = [(*here, *task) for task in tasks]
        gone = {
            annotation
            for place in looked_at
            for annotation in self._places.get(place, ())
            if annotation not in seen
            and self._states[annotation][1] != DELETED
            and since <= self._states[annotation][0] < until
        }
        if not gone:
            return Ledger(self._ledger.iloc[:0])
        rows = latest_answers(Ledger(self._ledger[self._ledger["annotation"].isin(gone)]))
        is_here = (rows["source"] == source) & (rows["project"] == project) & (rows["state"] != DELETED)
        return Ledger(rows[is_here])


def _places_of(rows: Ledger) -> Iterator[tuple[str, str, str, str]]:
    """Yield source, project, task and pair of each row."""
    columns = (rows[name].tolist() for name in ("source", "project", "task", "pair_id"))
    return zip(*columns, strict=True)
