"""Label Studio's JSON export to judgments: which answers are votes, and why the others are not."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.campaign.answer_columns import DRAFT, EDITED_BY_OTHER, NO_LABEL, one_line
from fire_toolkit.campaign.answers import Answers, read_answers, read_export
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import RELEVANCE, Guideline, choose_grades
from fire_toolkit.resolution.judgments import DUPLICATE, latest_judgments, latest_round
from fire_toolkit.results import Result
from fire_toolkit.tables import ALONE, DROPPED, ELSEWHERE, JUDGMENTS, Dropped, Judgments, check_dropped
from fire_toolkit.tables.columns import codes_of, packed_codes

_MOST_WITHOUT_LABEL = 0.1
_ANSWERED = "answered: "
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of a formula

DELETED = "deleted-"
DROPPED_ORDER = ("query_id", "doc_id", "annotator_id", "created_at", "reason", "label", "detail")
_MORE = ("round", "guideline", "kind", "changed_at")
# What orders answers: last change, then id; then their content, so that no chance decides.
_AGE = ["changed_at", "number", "label", "flags", "comment", "origin", "reason", "unique_id", "project"]
_AGE += ["created_at", "duration_s"]


class _ImportResult(NamedTuple):
    judgments: Judgments
    dropped: Dropped
    notes: tuple[str, ...]


class ImportResult(_ImportResult, Result):
    """What an import gives: the votes, what was left out and why, and what is worth knowing of the votes."""

    __slots__ = ()

    @property
    def counts(self) -> dict[str, Any]:
        """How many judgments there are, how many of other tools, what was dropped and why, the last round."""
        reasons = self.dropped["reason"].value_counts().sort_index()
        found: dict[str, Any] = {"judgments": len(self.judgments)}
        found["dropped"] = {str(reason): int(n) for reason, n in reasons.items()}
        kinds = self.judgments.get("kind", pd.Series(dtype="str"))
        found |= {ELSEWHERE: n} if (n := int((kinds == ELSEWHERE).sum())) else {}
        return found | ({"round": latest} if (latest := latest_round(self.judgments)) > 1 else {})


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
    tables = [
        read_export(content, where=where)
        if isinstance(content, bytes)
        else read_answers(content, where=where)
        for where, content in exports
    ] or [read_answers([], where="")]
    answers = _with_authors(Answers(pd.concat(tables, ignore_index=True).assign(kind="")))
    del tables
    in_order, is_older = _by_age(answers, (answers["reason"] != DRAFT).to_numpy(), [*_SAME, "annotator_id"])
    reason = answers["reason"].copy()
    reason.iloc[in_order[is_older]] = DUPLICATE
    is_vote = (reason == "").to_numpy()
    others = Answers(answers[~is_vote].assign(reason=reason[~is_vote]))
    votes = [answers if is_vote.all() else Answers(answers[is_vote])]
    del answers  # as large as all exports, and let go there as soon as it can be
    result = judgments_of_votes(votes.pop(), others, guideline=guideline)
    return result._replace(judgments=Judgments(result.judgments.drop(columns="kind")))


def judgments_of_votes(votes: Answers, others: Answers, *, guideline: Guideline) -> ImportResult:
    """Return the latest vote of each annotator on each pair as judgments, all else as dropped.

    others: the answers that are no votes, with the reason. Of votes that are alike the last one counts.
    """
    n_alone = int((votes["doc_id"] == ALONE).sum() + (others["doc_id"] == ALONE).sum())
    n_wrong = len(votes) + len(others) - n_alone if guideline.is_of_queries else n_alone
    if n_wrong:
        own, found = ("captions alone", "pairs")[:: 1 if guideline.is_of_queries else -1]
        raise FormatError(
            f"{n_wrong:,} answers are on {found}, and guideline {guideline.name} asks about {own}; import "
            "them in the workspace that made their tasks"
        )
    in_order, _ = _by_age(votes, np.ones(len(votes), dtype=bool), ["query_id", "doc_id", "annotator_id"])
    dropped = dropped_answers(others)
    names = [name for name in (*JUDGMENTS.names, *_MORE) if name != "guideline"]
    rows = votes[names]
    del votes, others  # as large as all exports
    if (in_order[1:] < in_order[:-1]).any():
        rows = rows.iloc[in_order]
    rows = rows.reset_index(drop=True)
    choose_grades(rows["label"], guideline=guideline)
    said = rows.loc[rows["comment"] != "", "comment"]
    rows.loc[said.index, "comment"] = [inert(text) for text in said]
    rows["guideline"] = pd.Series([guideline.name], dtype="str").repeat(len(rows)).array
    answers = [rows[[*JUDGMENTS.names, *_MORE]]]
    del rows
    judgments, superseded = latest_judgments(answers.pop(), time="changed_at")
    judgments = Judgments(judgments.drop(columns="changed_at"))
    both = pd.concat([dropped, superseded], ignore_index=True)
    if len(both) > 1:
        both = both.sort_values(list(DROPPED_ORDER), kind="stable", ignore_index=True)
    return ImportResult(judgments, check_dropped(both), notes_of_votes(judgments, dropped, guideline))


# Entries that are the same annotation: ids alone are used again after a deletion.
_SAME = ["query_id", "doc_id", "key"]


def _with_authors(answers: Answers) -> Answers:
    """Return answers with a key of their annotation, and with an author each.

    The answer of a deleted account goes by the name that another copy of it still has.
    """
    numbered = answers["project"] + "#" + answers["number"].astype("str")
    answers = Answers(answers.assign(key=answers["unique_id"].where(answers["unique_id"] != "", numbered)))
    is_nobody = (answers["annotator_id"] == "") & (answers["reason"] != DRAFT)
    if not is_nobody.any():
        return answers
    known = answers[(answers["annotator_id"] != "") & (answers["reason"] != DRAFT)]
    named = known.groupby(_SAME)["annotator_id"].agg(
        lambda names: names.iloc[0] if names.nunique() == 1 else ""
    )
    keys = pd.MultiIndex.from_frame(answers[_SAME][is_nobody])
    found = named.reindex(keys).fillna("").to_numpy()
    alone = (DELETED + answers.loc[is_nobody, "number"].astype("str")).to_numpy()
    names = answers["annotator_id"].copy()
    names[is_nobody] = [name or own for name, own in zip(found, alone, strict=True)]
    return Answers(answers.assign(annotator_id=names))


def _by_age(answers: Answers, is_in: Bools, key: list[str]) -> tuple[Ints, Bools]:
    """Return the places of some answers, in which those that share a key stand in the order of their age.

    Also which of them have a later one of the same key.
    """
    codes = packed_codes([codes_of(answers[name]) for name in key])
    places = np.flatnonzero(is_in)
    is_shared = pd.Series(codes[places]).duplicated(keep=False).to_numpy()
    if is_shared.any():
        age = [name for name in _AGE if name in answers]
        shared = answers[age].iloc[places[is_shared]].reset_index(drop=True).sort_values(age, kind="stable")
        by_age = places[is_shared][shared.index]
        by_key = by_age[np.argsort(codes[by_age], kind="stable")]
        if ((by_key[1:] < by_key[:-1]) & (codes[by_key][1:] == codes[by_key][:-1])).any():
            places = np.concatenate([places[~is_shared], by_age])
    return places, pd.Series(codes[places]).duplicated(keep="last").to_numpy()


def dropped_answers(answers: Answers) -> Dropped:
    """Return answers as Dropped, with the reason that they have."""
    entries = zip(
        *(answers[name].tolist() for name in ("reason", "number", "controls", "comment")), strict=True
    )
    detail = []
    for reason, number, controls, comment in entries:
        named = f"{DRAFT if reason == DRAFT else 'annotation'} {number}"
        said = [f"{_ANSWERED}{controls}"] if reason == NO_LABEL and controls else []
        detail.append(one_line(named, *said, comment) if said or comment else named)
    label = answers["label"].map({each: one_line(each) for each in answers["label"].unique()})
    rows = answers.assign(detail=pd.Series(detail, answers.index, dtype="str"), label=label)
    return check_dropped(rows[list(DROPPED.names)].reset_index(drop=True))


def notes_of_votes(judgments: pd.DataFrame, dropped: pd.DataFrame, guideline: Guideline) -> tuple[str, ...]:
    """Return what is worth knowing of votes (their flags, origin and annotators), in sentences.

    dropped: the answers that are none; above a tenth without a label, the page's control had another name.
    """
    flags: Counter[str] = Counter()
    for joined, n in judgments["flags"].value_counts().items():
        flags.update(
            {flag: n * str(joined).split(";").count(flag) for flag in str(joined).split(";") if flag}
        )
    known = {EDITED_BY_OTHER, *(flag.name for flag in guideline.flags)}
    unknown = sorted(set(flags) - known)
    counts = {
        f"were changed by another account than their annotator's (kept, flag {EDITED_BY_OTHER})": flags[
            EDITED_BY_OTHER
        ],
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


def inert(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: behind an apostrophe where one would.

    Examples:
        >>> inert("=cmd|' /C calc'!A0"), inert("no dog")
        ("'=cmd|' /C calc'!A0", 'no dog')
    """
    return f"'{text}" if text.startswith(FORMULAS) else text
