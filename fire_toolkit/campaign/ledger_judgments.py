"""The ledger to judgments: the same code as for exports, with round and kind of each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.campaign.answers import Answer, one_line, read_answers
from fire_toolkit.campaign.ledger import DELETED, RESTORED, Ledger, latest_answers
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import Round, queue_named
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.campaign.votes import ImportResult, judgments_from_export
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import DROPPED, UNASSIGNED, Dropped, check_dropped, check_judgments

EDITED = "edited"
NO_PAIR = "no_pair"
_COLUMNS = ["query_id", "doc_id", "annotator_id", "created_at", "reason", "label", "detail"]


def ledger_to_judgments(ledger: Ledger, rounds: Sequence[Round], *, guideline: Guideline) -> ImportResult:
    """Return the judgments that the ledger holds, and every answer that is none with its reason.

    Args:
        ledger: all rows.
        rounds: what was asked of whom; none if nothing was pushed from here.
        guideline: the one whose labeling page was shown.

    Returns:
        As `judgments_from_export`, with two further columns of judgments: round (from 1), and kind: `task`,
        `overlap` or `adjudication` as assigned, `unassigned` if this pair was not this annotator's to judge
        (an answer over the overlap, or in somebody else's project), empty if nothing was assigned.
        annotator_id: the pseudonym; `deleted-<annotation id>` if no version names its author. Further
        reasons in dropped: `deleted` (gone from the server), `edited` (an earlier version), `training`,
        `control` (no votes: the answer is known), `no_pair` (a task without pair_id).
    """
    latest = latest_answers(ledger)
    told = classify_answers(latest, rounds)
    is_there = told["state"] != DELETED
    has_pair = told["pair_id"] != ""
    is_known = told["kind"].isin([TRAINING, CONTROL])
    votes = told[is_there & has_pair & ~is_known]
    codes = _Codes(votes)
    result = judgments_from_export([("ledger", list(codes.tasks()))], guideline=guideline)
    dropped = [
        codes.named(result.dropped),
        _dropped(told[~is_there], DELETED),
        _dropped(_earlier_versions(ledger, latest), EDITED),
        _dropped(told[is_there & ~has_pair], NO_PAIR),
        *(_dropped(told[is_there & has_pair & (told["kind"] == kind)], kind) for kind in (TRAINING, CONTROL)),
    ]
    judgments = codes.named(result.judgments)
    judgments = codes.with_rounds(judgments, votes)
    both = pd.concat(dropped, ignore_index=True).sort_values(_COLUMNS, kind="stable", ignore_index=True)
    notes = (*result.notes, *_notes(judgments, both))
    return ImportResult(check_judgments(judgments), check_dropped(both), notes)


def classify_answers(latest: Ledger, rounds: Sequence[Round]) -> pd.DataFrame:
    """Return the rows with columns round and kind: what the answer was asked for.

    Args:
        latest: one row for each answer.
        rounds: what was asked of whom; an answer to what none of them asks has no kind, and the round that
            its task named.
    """
    assigned = {
        (entry.number, name, pair): kind
        for entry in rounds
        for name, pair, kind in zip(
            *(entry.assignments[column] for column in ("annotator_id", "pair_id", "kind")), strict=True
        )
    }
    numbers = [entry.number for entry in rounds]
    asked = {pair for _, _, pair in assigned}
    columns = (latest[name] for name in ("queue", "annotator_id", "pair_id", "answer"))
    told = [
        _classified(queue, name, pair, assigned, numbers)
        if queue or pair in asked
        else (int(json.loads(answer).get(ROUND, 1)), "")
        for queue, name, pair, answer in zip(*columns, strict=True)
    ]
    return latest.assign(round=[number for number, _ in told], kind=[kind for _, kind in told])


def _classified(
    queue: str, name: str, pair: str, assigned: Mapping[tuple[int, str, str], str], numbers: Sequence[int]
) -> tuple[int, str]:
    wanted = queue_named(queue)
    if wanted is None:
        found = [(n, assigned[n, name, pair]) for n in numbers if (n, name, pair) in assigned]
        return found[-1] if found else (1, UNASSIGNED)
    kind = assigned.get((wanted.round, wanted.annotator_id, pair), UNASSIGNED)
    is_other = name not in ("", wanted.annotator_id) and not wanted.is_shared
    return wanted.round, UNASSIGNED if is_other and kind not in (TRAINING, CONTROL) else kind


class _Codes:
    """Numbers in place of names and sources, in which accounts and annotations are unique."""

    def __init__(self, votes: pd.DataFrame) -> None:
        self._votes = votes
        names = sorted(set(votes["annotator_id"]) - {""})
        self._code = {name: number for number, name in enumerate(names, start=1)}
        self._name = {str(number): name for name, number in self._code.items()}

    def tasks(self) -> Iterator[dict[str, Any]]:
        """Yield each answer as a task of an export."""
        projects: dict[tuple[str, str], int] = {}
        columns = (self._votes[name] for name in ("source", "project", "pair_id", "annotator_id", "answer"))
        for source, project, pair, name, answer in zip(*columns, strict=True):
            number = projects.setdefault((source, project), len(projects) + 1)
            yield _task(pair, _recoded(json.loads(answer), self._code.get(name)), number)

    def named(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the annotators' names again."""
        names = table["annotator_id"].map(lambda code: self._name.get(code, code))
        return table.assign(annotator_id=names.astype("str"))

    def with_rounds(self, judgments: pd.DataFrame, votes: pd.DataFrame) -> pd.DataFrame:
        """Return judgments with the round and kind of the answer behind each."""
        told: dict[tuple[str, str, str], tuple[int, str]] = {}
        ordered = votes.sort_values(["updated_at", "annotation"], kind="stable")
        columns = (ordered[name] for name in ("annotator_id", "pair_id", "answer", "round", "kind"))
        for name, pair, answer, number, kind in zip(*columns, strict=True):
            content = json.loads(answer)
            if content.get("was_cancelled"):
                continue
            told[name or f"deleted-{content['id']}", *split_pair_id(pair)] = (number, kind)
        keys = zip(*(judgments[column] for column in ("annotator_id", "query_id", "doc_id")), strict=True)
        rows = [told[key] for key in keys]
        return judgments.assign(round=[number for number, _ in rows], kind=[kind for _, kind in rows])


def _task(pair: str, annotation: dict[str, Any], project: int) -> dict[str, Any]:
    return {"project": project, "data": {"pair_id": pair}, "annotations": [annotation]}


def _recoded(annotation: dict[str, Any], code: int | None) -> dict[str, Any]:
    """Return an annotation with its author's code, and another code for another editor."""
    author, editor = annotation.get("completed_by"), annotation.get("updated_by")
    editor = editor.get("id") if isinstance(editor, dict) else editor
    is_edited = author is not None and editor is not None and author != editor
    return {**annotation, "completed_by": code, "updated_by": -1 if is_edited else code}


def _earlier_versions(ledger: Ledger, latest: Ledger) -> pd.DataFrame:
    """Return the versions of answers that a later one has replaced, each once."""
    versions = ledger[~ledger["state"].isin([DELETED, RESTORED])]
    versions = versions.drop_duplicates(["annotation", "updated_at"])
    final = versions["annotation"].map(latest.set_index("annotation")["updated_at"])
    return versions[(versions["updated_at"] != final) & (versions["pair_id"] != "")]


def _dropped(rows: pd.DataFrame, reason: str) -> Dropped:
    columns = (rows[name] for name in ("pair_id", "annotator_id", "answer", "project", "task"))
    records = []
    for pair, name, answer, project, task in zip(*columns, strict=True):
        content = json.loads(answer)
        if pair:
            (found,) = read_answers([_task(pair, _recoded(content, None), 0)], where="ledger")
            records.append(_dropped_row(found._replace(annotator_id=name), reason))
        else:
            detail = f"annotation {content.get('id')} at task {task} of project {project}"
            empty = dict.fromkeys(DROPPED.names, "")
            records.append({**empty, "annotator_id": name, "reason": reason, "detail": detail})
    return check_dropped(pd.DataFrame(records, columns=list(DROPPED.names)))


def _dropped_row(answer: Answer, reason: str) -> dict[str, str]:
    return {
        **{name: getattr(answer, name) for name in ("query_id", "doc_id", "annotator_id", "created_at")},
        "label": ";".join(one_line(label) for label in answer.labels),
        "reason": reason,
        "detail": one_line(f"annotation {answer.number}", answer.comment),
    }


def _notes(judgments: pd.DataFrame, dropped: pd.DataFrame) -> Iterator[str]:
    n_unassigned = int((judgments["kind"] == UNASSIGNED).sum())
    if n_unassigned:
        yield (
            f"{n_unassigned} of {len(judgments)} judgments were not asked of their annotator "
            f"(kind {UNASSIGNED})"
        )
    n_lost = int((dropped["reason"] == NO_PAIR).sum())
    if n_lost:
        yield (
            f"{n_lost} answers belong to tasks without pair_id, which were not pushed from here; they stay "
            "in the ledger and are no judgments"
        )
