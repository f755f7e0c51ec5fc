"""Label Studio's JSON export to judgments: which answers are votes, and why the others are not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.campaign.answers import Answer, one_line, read_answers, read_export
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.grades import label_grades
from fire_toolkit.guidelines.model import RELEVANCE, Guideline
from fire_toolkit.resolution.judgments import latest_judgments
from fire_toolkit.results import Result
from fire_toolkit.tables import DROPPED, JUDGMENTS, Dropped, Judgments, check_dropped
from fire_toolkit.tables.validity import ALONE
from fire_toolkit.words import inert

DRAFT = "draft"
SKIPPED = "skipped"
DUPLICATE = "duplicate"
NO_LABEL = "no_label"
_MOST_WITHOUT_LABEL = 0.1
_ANSWERED = "answered: "
SEVERAL_LABELS = "several_labels"

DELETED = "deleted-"
DROPPED_ORDER = ("query_id", "doc_id", "annotator_id", "created_at", "reason", "label", "detail")
EDITED = "edited-by-other"
_MORE = ("round", "guideline", "kind", "updated_at")


class _ImportResult(NamedTuple):
    judgments: Judgments
    dropped: Dropped
    notes: tuple[str, ...]


class ImportResult(_ImportResult, Result):
    """What an import gives: the votes, what was left out and why, and what is worth knowing of the votes."""

    __slots__ = ()


def judgments_from_export(exports: Iterable[tuple[str, object]], *, guideline: Guideline) -> ImportResult:
    """Return the judgments in Label Studio exports, and every other answer with the reason why it is not one.

    Args:
        exports: for each file its name (for errors) and its bytes, or its parsed JSON: the list of tasks
            of a JSON export; each is let go before the next is taken. Query and doc are `data.query_id` and
            `data.doc_id` if both are there, else they come from `data.pair_id`.
        guideline: the one whose labeling page was shown.

    Returns:
        judgments: one for each annotator and pair; annotator_id is the account's number as text, or
        `deleted-<annotation id>`; duration_s the lead time (missing if negative or infinite); flags
        joined by `;`, with `edited-by-other` if another account changed the answer; comment in one line,
        and no formula for a spreadsheet (`inert`);
        origin `manual`, `prediction` (submitted as preselected), `prediction-changed`, or `api`; and two
        further columns: round, which the task says (1 where it says none), and guideline, its name.
        dropped, by pair: reason `draft`; `skipped`; `duplicate` (an older or equal copy of an
        annotation, known by unique_id, else by project and id); `no_label`; `several_labels`;
        `superseded` (the annotator answered the pair again: the latest change counts, then the
        higher id). Annotations and drafts that go in = judgments + dropped that come out.
        notes: sentences with counts.

    Raises:
        FormatError: not such an export, with file and task.
        TableError: a vote with a label that the guideline does not have.

    Examples:
        >>> from fire_toolkit.formats.tables.guideline_files import read_guideline
        >>> rules = read_guideline("caption-relevance-v1")
        >>> judgments_from_export([("one.json", [])], guideline=rules).judgments.empty
        True
    """
    answers = (answer for export in exports for answer in _answers_in(*export))
    result = judgments_of_answers(answers, guideline=guideline)
    return result._replace(judgments=Judgments(result.judgments.drop(columns="kind")))


def _answers_in(where: str, content: object) -> list[Answer]:
    if isinstance(content, bytes):
        return read_export(content, where=where)
    return read_answers(content, where=where)


def judgments_of_answers(given: Iterable[Answer], *, guideline: Guideline) -> ImportResult:
    """Return what `judgments_from_export` does of answers.

    The judgments have one more column, kind: that of their answer.
    """
    answers = list(given)
    _refuse_other_kind(answers, guideline)
    votes, reasons = _votes_and_reasons(answers)
    label_grades((vote.labels[0] for vote in votes), guideline)
    rows = _vote_rows(votes, guideline)
    del answers, votes  # which weigh more than all that follows
    judgments, superseded = latest_judgments(rows, time="updated_at")
    judgments = Judgments(judgments.drop(columns="updated_at"))
    dropped = pd.DataFrame([dropped_row(*entry) for entry in reasons], columns=list(DROPPED.names))
    return ImportResult(
        judgments, _all_dropped(dropped, superseded), notes_of_votes(judgments, dropped, guideline)
    )


def _refuse_other_kind(answers: Sequence[Answer], guideline: Guideline) -> None:
    """Refuse answers on captions alone under a guideline of pairs, and the other way round."""
    n_alone = sum(answer.doc_id == ALONE for answer in answers)
    n_wrong = len(answers) - n_alone if guideline.is_of_queries else n_alone
    if n_wrong:
        own, found = ("captions alone", "pairs")[:: 1 if guideline.is_of_queries else -1]
        raise FormatError(
            f"{n_wrong:,} answers are on {found}, and guideline {guideline.name} asks about {own}; import "
            "them in the workspace that made their tasks"
        )


def _vote_rows(votes: Sequence[Answer], guideline: Guideline) -> pd.DataFrame:
    """Return votes as judgments, with the columns round, guideline, kind and updated_at."""
    own: dict[str, list[Any]] = {
        "label": [vote.labels[0] for vote in votes],
        "flags": [_flags(vote) if vote.flags or vote.is_edited else "" for vote in votes],
        "comment": [inert(vote.comment) if vote.comment else "" for vote in votes],
        "guideline": [guideline.name] * len(votes),
        "updated_at": [vote.updated_at or vote.created_at for vote in votes],
    }
    numbers = {"duration_s": "float64", "round": "int64"}
    columns = {}
    for name in (*JUDGMENTS.names, *_MORE):
        values = own[name] if name in own else [getattr(vote, name) for vote in votes]
        columns[name] = pd.Series(values, dtype=numbers.get(name, "str"))
    return pd.DataFrame(columns)


def _flags(vote: Answer) -> str:
    flags = [one_line(flag).replace(";", ",") for flag in vote.flags]
    return ";".join([*flags, EDITED] if vote.is_edited else flags)


def _votes_and_reasons(answers: Sequence[Answer]) -> tuple[list[Answer], list[tuple[Answer, str]]]:
    """Return the votes in the order of their last change, and the other answers with their reasons."""
    reasons = [(answer, DRAFT) for answer in answers if answer.is_draft]
    given = [answer for answer in answers if not answer.is_draft]
    is_alone = _are_alone(given)
    newest, duplicates = _newest_versions(list(compress(given, ~is_alone)))
    kept = [*compress(given, is_alone), *newest]
    reasons += [(answer, DUPLICATE) for answer in duplicates]
    reasons += [(answer, reason) for answer in kept if (reason := _no_vote(answer))]
    return [answer for answer in kept if not _no_vote(answer)], reasons


def _are_alone(answers: Sequence[Answer]) -> pd.Series[bool]:
    """Return which answers have no copy and are the only one of a known person to the pair."""
    named = [answer.annotator_id or f"{DELETED}{answer.number}" for answer in answers]
    persons = [hash((*answer[:2], name)) for answer, name in zip(answers, named, strict=True)]
    copies = [hash(_identity(answer)) for answer in answers]
    is_met = [pd.Series(keys, dtype="int64").duplicated(keep=False) for keys in (persons, copies)]
    is_known = pd.Series([answer.annotator_id != "" for answer in answers], dtype="bool")
    return is_known & ~is_met[0] & ~is_met[1]


def _newest_versions(answers: Sequence[Answer]) -> tuple[list[Answer], list[Answer]]:
    """Return each annotation once, in the order of its last change, and the older or equal copies of it."""
    authors: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for answer in answers:
        authors[_identity(answer)].add(answer.annotator_id)
    known = [_with_author(answer, authors[_identity(answer)] - {""}) for answer in answers]
    newest: dict[tuple[str, ...], Answer] = {}
    older: list[Answer] = []
    for answer in sorted(known, key=_age):
        key = (*_identity(answer), answer.annotator_id)
        if key in newest:
            older.append(newest.pop(key))
        newest[key] = answer
    return list(newest.values()), older


def _identity(answer: Answer) -> tuple[str, ...]:
    """Return what makes two entries the same annotation: ids alone are used again after a deletion."""
    own = (answer.unique_id,) if answer.unique_id else (answer.project, str(answer.number))
    return (answer.query_id, answer.doc_id, *own)


def _with_author(answer: Answer, known_authors: set[str]) -> Answer:
    """Return the answer of a deleted account under the name that another copy of it still has."""
    if answer.annotator_id:
        return answer
    name = next(iter(known_authors)) if len(known_authors) == 1 else f"{DELETED}{answer.number}"
    return answer._replace(annotator_id=name)


def _age(answer: Answer) -> tuple[Any, ...]:
    """Return what orders answers: last change, then id; then their content, so that no chance decides."""
    content = (
        answer.labels,
        answer.flags,
        answer.comment,
        answer.origin,
        answer.is_skipped,
        answer.is_edited,
    )
    others = (answer.unique_id, answer.project, answer.created_at, str(answer.duration_s))
    return (answer.updated_at or answer.created_at, answer.number, *content, *others)


def _no_vote(answer: Answer) -> str:
    """Return why an annotation is not a vote; empty if it is one."""
    if answer.is_skipped:
        return SKIPPED
    if len(answer.labels) != 1:
        return SEVERAL_LABELS if answer.labels else NO_LABEL
    return ""


def dropped_row(answer: Answer, reason: str) -> dict[str, str]:
    """Return the row of Dropped for an answer."""
    number = f"{DRAFT if answer.is_draft else 'annotation'} {answer.number}"
    controls = [f"{_ANSWERED}{', '.join(answer.controls)}"] if reason == NO_LABEL and answer.controls else []
    return {
        **{name: getattr(answer, name) for name in ("query_id", "doc_id", "annotator_id", "created_at")},
        "label": ";".join(one_line(label) for label in answer.labels),
        "reason": reason,
        "detail": one_line(number, *controls, answer.comment),
    }


def _all_dropped(dropped: pd.DataFrame, superseded: Dropped) -> Dropped:
    both = pd.concat([dropped, superseded], ignore_index=True)
    return check_dropped(both.sort_values(list(DROPPED_ORDER), kind="stable", ignore_index=True))


def notes_of_votes(judgments: pd.DataFrame, dropped: pd.DataFrame, guideline: Guideline) -> tuple[str, ...]:
    """Return what is worth knowing of votes (their flags, origin and annotators), in sentences.

    dropped: the answers that are none; above a tenth without a label, the page's control had another name.
    """
    flags: Counter[str] = Counter()
    for joined, n in judgments["flags"].value_counts().items():
        flags.update(
            {flag: n * str(joined).split(";").count(flag) for flag in str(joined).split(";") if flag}
        )
    known = {EDITED, *(flag.name for flag in guideline.flags)}
    unknown = sorted(set(flags) - known)
    counts = {
        f"were changed by another account than their annotator's (kept, flag {EDITED})": flags[EDITED],
        "accept the preselected choice of a model (origin prediction)": int(
            judgments["origin"].eq("prediction").sum()
        ),
        f"are by deleted accounts (kept, each as an annotator of its own, {DELETED}<annotation id>)": int(
            judgments["annotator_id"].str.startswith(DELETED).sum()
        ),
        f"have flags that guideline {guideline.name} does not have ({', '.join(unknown)}; kept)": sum(
            flags[flag] for flag in unknown
        ),
    }
    found = [f"{n} of {len(judgments)} judgments {what}" for what, n in counts.items() if n]
    nameless = dropped.loc[dropped["reason"] == NO_LABEL, "detail"]
    n_answers = len(judgments) + len(nameless)
    if len(nameless) > _MOST_WITHOUT_LABEL * n_answers:
        answered = " / ".join(nameless).split(" / ")
        named = [text.removeprefix(_ANSWERED) for text in answered if text.startswith(_ANSWERED)]
        controls = {name for text in named for name in text.split(", ")}
        what = f"they are of the control {', '.join(sorted(controls))}" if controls else "they are empty"
        found.append(
            f"{len(nameless)} of {n_answers} answers have no label: {what}, expected {RELEVANCE}; if the "
            "project's page was made by hand, export it with that name, or read it with --columns and --label"
        )
    return tuple(found)
