"""A ledger while it is being written: what it holds of each answer, kept up to date."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.campaign.ledger import (
    DELETED,
    LEDGER,
    RESTORED,
    STATES,
    Ledger,
    append_rows,
    in_order,
    latest_answers,
    ledger_of,
    ledger_tables,
    read_ledger,
)
from fire_toolkit.campaign.ledger_rows import with_states
from fire_toolkit.campaign.page_json import whole_key
from fire_toolkit.resolution.judgments import just_after, utc_time
from fire_toolkit.words import n_of

TaskKey = tuple[str, str]

# A segment of its own for each handful of answers would cost more than reading them from a server.
_AT_ONCE = 1000
_FEW = 5000  # answers, beyond which it is faster to look up all that there are
_BUT_ANSWERS = [name for name in LEDGER.names if name != "answer"]

State = tuple[str, str]  # updated_at of an answer's last version, and state: whether that is deleted


def time_now() -> str:
    """Return the time now as the ledger writes it: UTC, microseconds, `Z`."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class LedgerIndex:
    """A ledger that is being written. What is there is read once, when it is first asked for.

    Answers wait until there are many, or until `write`. What they say is read only where it is asked for.

    Args:
        folder: the ledger.
        shows_now: the answers are what their source shows now, so that one with an earlier time than its
            last version was changed after a clock was set back, and counts.
        clock: gives the time of reading.
    """

    def __init__(
        self, folder: Path, *, shows_now: bool = False, clock: Callable[[], str] | None = None
    ) -> None:
        self._folder = folder
        self._shows_now = shows_now
        self._clock = clock
        self._n_earlier = 0
        self._behind: tuple[str, str] | None = None
        self._waiting: list[dict[str, str]] = []
        self._n_asked = 0
        self._added: list[pd.DataFrame] = []  # rows that are not yet among those that were read
        self._new_ids: set[str] = set()
        self._changed: dict[str, State] = {}
        self._times: dict[str, dict[str, list[str]]] = {}
        self.counts = dict.fromkeys(STATES, 0)

    @property
    def notes(self) -> list[str]:
        """What is to be said of clocks."""
        found = []
        if self._behind:
            now, last = self._behind
            found.append(
                f"this clock says {now}, and the ledger was last read into at {last}: it is behind, or was "
                "ahead then; what is read now counts as later"
            )
        if self._n_earlier:
            counts = (
                "the clock of their source was set back; as it shows them now, they count"
                if self._shows_now
                else "the later versions count; if a clock was wrong, correct these answers once more"
            )
            were = n_of(self._n_earlier, "answer")
            found.append(f"{were} changed at a time before the version in the ledger: {counts}")
        return found

    def now(self) -> str:
        """Return the time of reading, which is after every earlier one whatever the clock says."""
        now = (self._clock or time_now)()
        if now <= self._last_seen:
            self._behind = self._behind or (now, self._last_seen)
            now = just_after(self._last_seen)
        self._last_seen = now
        return now

    @cached_property
    def _last_seen(self) -> str:
        times = sorted(self._read["seen_at"].unique())
        return next((time for time in reversed(times) if utc_time(time) == time), "")

    @cached_property
    def _read(self) -> pd.DataFrame:
        return ledger_of(ledger_tables(self._folder, names=_BUT_ANSWERS))

    @property
    def _rows(self) -> pd.DataFrame:
        """All rows in the ledger's order, without what the answers say."""
        if self._added:
            both = pd.concat([self._read, *self._added], ignore_index=True)
            self._read = in_order(both)
            self._added.clear()
        return self._read

    @cached_property
    def _states(self) -> dict[str, State]:
        """The state of each answer that was there when it was first asked for."""
        return _states_of(self._read)

    def _known_states(self, annotations: Collection[str]) -> dict[str, State]:
        """Return the states of answers, of those that the ledger has."""
        self._n_asked += len(annotations)
        if self._n_asked > _FEW or "_states" in self.__dict__:
            known = self._states
        else:
            known = _states_of(self._read[self._read["annotation"].isin(annotations)])
        found = ((name, self._changed.get(name) or known.get(name)) for name in annotations)
        return {name: state for name, state in found if state}

    @cached_property
    def answers(self) -> dict[str, str]:
        """For each answer what its last version says."""
        rows = read_ledger(self._folder)
        return dict(zip(rows["annotation"].tolist(), rows["answer"].tolist(), strict=True))

    @cached_property
    def _versions(self) -> set[tuple[str, str]]:
        columns = (self._rows[name].tolist() for name in ("annotation", "updated_at"))
        return set(zip(*columns, strict=True))

    def latest(self, annotations: Collection[str]) -> dict[str, tuple[str, str]]:
        """Return time and content of the last version of each answer, of those that the ledger has."""
        known = self._known_states(annotations)
        return {name: (time, self.answers[name]) for name, (time, _) in known.items()}

    def has_version(self, row: Mapping[str, str]) -> bool:
        """Whether the ledger holds the version of an answer that a row is of, wherever it was seen."""
        return (row["annotation"], row["updated_at"]) in self._versions

    def add_answers(self, rows: Iterable[dict[str, str]]) -> None:
        """Add the versions of answers that the ledger does not have, with their states."""
        self._waiting += rows
        if len(self._waiting) >= _AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write what waits, durably."""
        rows, self._waiting = self._waiting, []
        if rows:
            known = self._known_states({row["annotation"] for row in rows})
            rows = [self._in_sequence(row, known.get(row["annotation"], ("", ""))[0]) for row in rows]
            self.append(with_states(rows, known))

    def _in_sequence(self, row: dict[str, str], last: str) -> dict[str, str]:
        """Return a row with a time after that of its last version, where its source shows it now."""
        if row["updated_at"] >= last or utc_time(last) != last or self.has_version(row):
            return row
        is_kept = (
            utc_time(str(json.loads(self.answers[row["annotation"]]).get("updated_at"))) == row["updated_at"]
        )
        if is_kept:  # under the time that it was given then
            return {**row, "updated_at": last}
        self._n_earlier += 1
        return {**row, "updated_at": just_after(last)} if self._shows_now else row

    def append(self, rows: Ledger) -> None:
        """Write rows, durably, as far as the ledger does not have them."""
        if rows.empty:
            return
        there = self._read["row_id"]
        known = self._new_ids.union(there[there.isin(rows["row_id"])])
        new = Ledger(rows[[row not in known for row in rows["row_id"]]])
        if new.empty:
            return
        states = self._known_states(set(new["annotation"]))
        append_rows(self._folder, new)
        self._times.clear()
        self._added.append(new[_BUT_ANSWERS])
        self._new_ids.update(new["row_id"])
        loaded = self.__dict__
        if "_versions" in loaded:
            self._versions.update(zip(new["annotation"], new["updated_at"], strict=True))
        columns = (new[name].tolist() for name in ("annotation", "updated_at", "state", "answer"))
        for annotation, updated_at, state, answer in zip(*columns, strict=True):
            self.counts[state] += 1
            if updated_at >= states.get(annotation, ("", ""))[0]:
                self._changed[annotation] = states[annotation] = (updated_at, state)
                if "answers" in loaded:
                    self.answers[annotation] = answer

    def queues(self, source: str) -> dict[str, str]:
        """Return the queue of each project of a source of which the ledger holds answers."""
        rows = self._rows[self._rows["source"] == source]
        last = rows[["project", "queue"]].drop_duplicates("project", keep="last")
        return dict(zip(last["project"], last["queue"], strict=True))

    def answer_times(self, source: str) -> dict[str, list[str]]:
        """Return for each project of a source the updated_at of its answers, skips too, that are there.

        A page of several captions is one answer there.
        """
        if source not in self._times:
            rows, last = self._rows, _last_words(self._rows)
            whose = np.cumsum(_are_first(rows["annotation"])) - 1
            is_there = (rows["source"] == source) & (last["state"] != DELETED).to_numpy()[whose]
            there = rows.loc[is_there, ["project", "annotation"]]
            there = there.assign(updated_at=last["updated_at"].array.take(whose[is_there]))
            there["annotation"] = [whole_key(name) for name in there["annotation"].tolist()]
            whole = there.sort_values("updated_at").drop_duplicates(["project", "annotation"], keep="last")
            times = whole.groupby("project")["updated_at"]
            self._times[source] = {str(project): own.tolist() for project, own in times}
        return self._times[source]

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
        rows = self._rows
        is_own = (rows["source"] == source) & (rows["project"] == project)
        rows = rows[["task", "pair_id", "annotation"]][is_own]
        if tasks is not None:
            rows = rows[rows["task"].isin([number for number, _ in tasks])]
            places = zip(rows["task"].tolist(), rows["pair_id"].tolist(), strict=True)
            rows = rows.loc[[place in tasks for place in places]]
        unseen = [name for name in dict.fromkeys(rows["annotation"].tolist()) if name not in seen]
        states = self._known_states(unseen).items()
        gone = [name for name, (time, state) in states if state != DELETED and since <= time < until]
        if not gone:
            return ledger_of([])
        found = latest_answers(_rows_with_answers(self._folder, gone))
        is_here = (found["source"] == source) & (found["project"] == project) & (found["state"] != DELETED)
        return Ledger(found[is_here])


def _rows_with_answers(folder: Path, annotations: Collection[str]) -> Ledger:
    rows = read_ledger(folder)
    return Ledger(rows[rows["annotation"].isin(annotations)])


def _are_first(values: pd.Series[str]) -> npt.NDArray[np.bool_]:
    """Return whether each value is another than the one before it."""
    import pyarrow as pa
    from pyarrow import compute

    texts = pa.array(values.array)
    differ = compute.not_equal(texts[1:], texts[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([np.ones(min(len(values), 1), dtype=np.bool_), differ.astype(np.bool_)])


def _last_words(rows: pd.DataFrame) -> pd.DataFrame:
    """Return of each answer, in order, the row that says what became of its last version.

    That is the last event of all, or the first row of a version that is newer.
    """
    is_first = _are_first(rows["annotation"])
    is_word = is_first | _are_first(rows["updated_at"]) | rows["state"].isin([DELETED, RESTORED]).to_numpy()
    words = np.flatnonzero(is_word)
    whose = np.cumsum(is_first)[words]
    is_last = np.ones(len(words), dtype=np.bool_)
    is_last[:-1] = whose[1:] != whose[:-1]
    return rows.iloc[words[is_last]]


def _states_of(rows: pd.DataFrame) -> dict[str, State]:
    last = _last_words(rows)
    states = zip(last["updated_at"].tolist(), last["state"].tolist(), strict=True)
    return dict(zip(last["annotation"].tolist(), states, strict=True))
