"""The ledger to judgments: the same code as for exports, with round and kind of each answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.campaign.answers import Answer, read_rows
from fire_toolkit.campaign.ledger import DELETED, RESTORED, Ledger, latest_answers
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import Round, queue_named
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.campaign.votes import (
    DROPPED_ORDER,
    ImportResult,
    dropped_row,
    judgments_of_answers,
    notes_of_votes,
)
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import DROPPED, ELSEWHERE, UNASSIGNED, Dropped, check_dropped, check_judgments

EDITED = "edited"
NO_PAIR = "no_pair"
_PAGE = '"page":"'
_ELSEWHERE = '"elsewhere":"'


def ledger_to_judgments(ledger: Ledger, rounds: Sequence[Round], *, guideline: Guideline) -> ImportResult:
    """Return the judgments in the ledger, and every other answer with the reason why it is not one.

    Args:
        ledger: all rows.
        rounds: what was asked of whom; none if nothing was pushed from here.
        guideline: the one whose labeling page was shown.

    Returns:
        As `judgments_from_export`, with two further columns of judgments: round (from 1), and kind: `task`,
        `overlap`, `adjudication`, `recheck` or `fourth` as assigned, `unassigned` if this pair was not this
        annotator's to judge (an answer over the overlap, or in somebody else's project), `elsewhere` if it
        was given to another tool's question, empty if nothing was assigned.
        annotator_id: the pseudonym; `deleted-<annotation id>` if no version names its author. Further
        reasons in dropped: `deleted` (gone from the server), `edited` (an earlier version), `training`,
        `control` (no votes: the answer is known), `no_pair` (a task without pair_id).
        Where answers were given on pages of several captions: page (empty for others), page_position (from
        1), page_s (the seconds of all answers of the page); duration_s is then the mean of these.
    """
    answers = answers_asked(ledger, rounds)
    reason = _reasons(answers)
    result = judgments_of_answers(
        # the ledger's key makes answers unique across servers
        _answers(answers[reason == ""], unique_id="annotation", round="round", kind="kind"),
        guideline=guideline,
    )
    dropped = [
        result.dropped,
        _dropped(_earlier_versions(ledger, answers), EDITED),
        *(_dropped(answers[reason == name], name) for name in (DELETED, NO_PAIR, TRAINING, CONTROL)),
    ]
    both = pd.concat(dropped, ignore_index=True).sort_values(
        list(DROPPED_ORDER), kind="stable", ignore_index=True
    )
    notes = (*notes_of_votes(result.judgments, both, guideline), *_notes(result.judgments, both))
    judgments = _with_pages(result.judgments, answers[answers["state"] != DELETED])
    return ImportResult(check_judgments(judgments), check_dropped(both), notes)


def _with_pages(judgments: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return judgments with the pages of several captions that they were given on, where there are any."""
    paged = answers[answers["answer"].str.contains(_PAGE, regex=False)]
    ordered = paged.sort_values("updated_at", kind="stable")
    columns = (ordered[name].tolist() for name in ("annotator_id", "pair_id", "answer"))
    given = [(*ids, json.loads(text)) for *ids, text in zip(*columns, strict=True)]
    given.sort(key=lambda each: not each[-1].get("was_cancelled"))  # what counts of a pair comes last
    rows = [
        (name, *split_pair_id(pair), content["page"], str(content["position"]), *_seconds(content))
        for name, pair, content in given
        if content.get("page")
    ]
    if not rows:
        return judgments
    names = ["annotator_id", "query_id", "doc_id", "page", "page_position"]
    pages = pd.DataFrame(rows, columns=[*names, "share_s", "page_s"]).drop_duplicates(names[:3], keep="last")
    seconds = pages.groupby(["annotator_id", "page"])["share_s"]
    whole_s = pages["page_s"].fillna(seconds.transform("sum"))
    pages = pages.assign(page_s=whole_s, share_s=seconds.transform("mean"))
    both = judgments.merge(pages[[*names, "page_s", "share_s"]], on=names[:3], how="left")
    both["duration_s"] = both.pop("share_s").fillna(both["duration_s"])
    return both.fillna({"page": "", "page_position": ""})


def _seconds(content: Mapping[str, Any]) -> tuple[float, float]:
    """Return an answer's seconds, and those of its whole page where the carrier tells these; nan: unknown."""
    share_s, page_s = (content.get(name) for name in ("lead_time", "page_s"))
    return (math.nan if share_s is None else float(share_s), math.nan if page_s is None else float(page_s))


def _reasons(answers: pd.DataFrame) -> pd.Series[str]:
    """Return why the campaign knows each answer not to be a vote; empty where it may be one."""
    kind = answers["kind"]
    reason = kind.where(kind.isin([TRAINING, CONTROL]), "")
    reason = reason.where(answers["pair_id"] != "", NO_PAIR)
    return reason.where(answers["state"] != DELETED, DELETED)


def answers_asked(ledger: Ledger, rounds: Sequence[Round]) -> pd.DataFrame:
    """Return the version of each answer that counts, with round and kind (`classify_answers`)."""
    return classify_answers(latest_answers(ledger), rounds)


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
        for name, pair, kind in _given_of(entry, latest["pair_id"])
    }
    numbers = [entry.number for entry in rounds]
    asked = {pair for _, _, pair in assigned}
    columns = (latest[name].tolist() for name in ("queue", "annotator_id", "pair_id", "answer"))
    found = [
        _classified(queue, name, pair, assigned, numbers)
        if queue or (pair in asked and _ELSEWHERE not in answer)
        else (_round_said(answer), ELSEWHERE if _ELSEWHERE in answer else "")
        for queue, name, pair, answer in zip(*columns, strict=True)
    ]
    return latest.assign(round=[number for number, _ in found], kind=[kind for _, kind in found])


def _round_said(answer: str) -> int:
    return int(json.loads(answer).get(ROUND, 1)) if f'"{ROUND}":' in answer else 1


def _given_of(entry: Round, pairs: pd.Series) -> Iterator[tuple[str, str, str]]:
    """Return annotator_id, pair_id and kind of what a round gave out of some pairs."""
    given = entry.given
    wanted = compute.unique(pa.array(pairs.array))
    is_wanted = compute.is_in(pa.array(given["pair_id"].array), value_set=wanted)
    given = given[is_wanted.to_numpy(zero_copy_only=False)]
    return zip(*(given[name].tolist() for name in ("annotator_id", "pair_id", "kind")), strict=True)


def _classified(
    queue: str, name: str, pair: str, assigned: Mapping[tuple[int, str, str], str], numbers: Sequence[int]
) -> tuple[int, str]:
    wanted = queue_named(queue)
    if wanted is None:
        found = [(n, assigned[n, name, pair]) for n in numbers if (n, name, pair) in assigned]
        return found[-1] if found else (1, UNASSIGNED)
    kind = assigned.get((wanted.round, wanted.annotator_id, pair), UNASSIGNED)
    is_other = name not in ("", wanted.annotator_id)
    return wanted.round, UNASSIGNED if is_other and kind not in (TRAINING, CONTROL) else kind


def _answers(rows: pd.DataFrame, **names: str) -> Iterator[Answer]:
    """Yield the answer of each row that has a pair, under the row's annotator.

    names: the columns of rows that further fields of an answer come from.
    """
    names = {"annotator_id": "annotator_id", **names}
    pairs, texts, *columns = (rows[name].tolist() for name in ("pair_id", "answer", *names.values()))
    answers = read_rows(pairs, texts, where="ledger")
    for answer, *own in zip(answers, *columns, strict=True):
        yield answer._replace(**dict(zip(names, own, strict=True)))


def _earlier_versions(ledger: Ledger, latest: pd.DataFrame) -> pd.DataFrame:
    """Return the versions of answers that a later one has replaced, each once."""
    versions = ledger[~ledger["state"].isin([DELETED, RESTORED])]
    versions = versions.drop_duplicates(["annotation", "updated_at"])
    final = versions["annotation"].map(latest.set_index("annotation")["updated_at"])
    return versions[(versions["updated_at"] != final) & (versions["pair_id"] != "")]


def _dropped(rows: pd.DataFrame, reason: str) -> Dropped:
    is_paired = rows["pair_id"] != ""
    records = [dropped_row(answer, reason) for answer in _answers(rows[is_paired])]
    lost = rows[~is_paired]
    columns = (lost[name] for name in ("annotator_id", "answer", "project", "task"))
    for name, answer, project, task in zip(*columns, strict=True):
        detail = f"annotation {json.loads(answer).get('id')} at task {task} of project {project}"
        empty = dict.fromkeys(DROPPED.names, "")
        records.append({**empty, "annotator_id": name, "reason": reason, "detail": detail})
    return check_dropped(pd.DataFrame(records, columns=list(DROPPED.names)))


def _notes(judgments: pd.DataFrame, dropped: pd.DataFrame) -> Iterator[str]:
    """Yield what is worth knowing of judgments with round and kind, and of answers that are none."""
    n_unassigned = int((judgments["kind"] == UNASSIGNED).sum())
    if n_unassigned:
        yield (
            f"{n_unassigned} of {len(judgments)} judgments were not assigned to their annotator "
            f"(kind {UNASSIGNED})"
        )
    n_elsewhere = int((judgments["kind"] == ELSEWHERE).sum())
    if n_elsewhere:
        yield (
            f"{n_elsewhere} of {len(judgments)} judgments were made elsewhere (kind {ELSEWHERE}); agreement "
            "takes them as given without sight of other answers"
        )
    n_lost = int((dropped["reason"] == NO_PAIR).sum())
    if n_lost:
        yield (
            f"{n_lost} answers belong to tasks without pair_id, which were not pushed from here; they stay "
            "in the ledger and do not count as judgments"
        )
