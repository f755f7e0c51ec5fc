"""`augment`: labels joined to the original qrels."""

from typing import Annotated, Any, Literal

import pandas as pd

from fire_toolkit.commands.command import stage
from fire_toolkit.commands.types import Asked, Option, PoolIfAny, Table
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.facts import MOST_ROWS, UNJUDGED, words_of_machine
from fire_toolkit.evidence.making import MACHINE, make_evidence
from fire_toolkit.evidence.qrels import (
    augmented_of,
    change_counts,
    changes_of,
    highest_grade,
    originals_beside,
    words_of_shared,
)
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.background import DROP, FLAG, KEEP, Unusable
from fire_toolkit.inference.votes import Votes, votes_of_labels, words_of_errors
from fire_toolkit.machines.scores import labels_of_answers
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Changes, Labels, MachineJudgments, Qrels, QueryLabels
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.tables.further import DEEP, SAMPLE
from fire_toolkit.words import n_of

_SHOWN = 5  # queries that lost the only positive
_Grades = Annotated[Grades | None, Table("grades_of_workspace", takes="Grades | None", is_told=True)]


@stage("augmented/qrels.txt")
def augment(
    qrels: Annotated[Qrels, Table("augmentable")],
    labels: Annotated[Labels, Table("labels_as_read")],
    validity: Annotated[QueryLabels | None, Table("validity_if_any", takes="pd.DataFrame | None")] = None,
    pool: PoolIfAny = None,
    *,
    asked: Annotated[Asked | None, Table("asked_beside", is_told=True)] = None,
    machine: Annotated[MachineJudgments | None, Table("answers_included", is_told=True)] = None,
    grades: _Grades = None,
    policy: Annotated[Literal["union", "override", "drop"], Option(setting=("augment", "policy"))] = "union",
    original_grade: Annotated[int | None, Option(least=1)] = None,
    unusable: Annotated[Literal["flag", "keep", "drop"], Option(setting=("augment", "unusable"))] = "flag",
    include_machine: Annotated[str | None, Option(metavar="JUDGE")] = None,
) -> Found:
    """Join labels to the original qrels, and count confirmed, new and rejected pairs.

    Labels keep their grades. Original positives, of which a benchmark's qrels say no more than that they are
    positive, count at the highest grade of the guideline, else of the labels; under policy override a judged
    one has its label's.

    Beside the augmented qrels (TREC) stand changes.csv, and evidence.csv: all that is known of each pair,
    which scores read.

    Args:
        qrels: The original qrels.
        labels: The labels: labels.csv, or its folder.
        validity: Which queries are usable: query_labels.csv, or its folder.
        pool: The pool, or its folder: its sample goes on to the qrels.
        asked: What else is known of how pairs were chosen and judged.
        machine: What the judge of include_machine said.
        grades: The grade of each label of that judge.
        policy: Original positives that were judged not relevant: stay (union), become 0 (override), leave the
            qrels (drop).
        original_grade: Grade at which original positives count, where their qrels give all of them 1.
            [default: the highest of the guideline, else of the labels]
        unusable: Queries that annotators found unusable: counted, with scores given with and without them
            (flag), counted alone (keep), or out of the qrels (drop).
        include_machine: Also take a machine judge's labels where there are no people's; they are marked
            wherever they go.

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_labels, check_qrels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1}))
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b", "c"], "label": "x", "relevance": [0, 1]}))
        >>> fire.augment(original, labels).evidence[["doc_id", "relevance", "source"]]
          doc_id  relevance    source
        0      a          1  original
        1      b          1  rejected
        2      c          1       new
    """
    told = asked or Asked()
    found = None if validity is None else _unusable_among(qrels, validity, unusable)
    original, counted = (qrels, labels) if found is None else (found.counted(qrels), found.counted(labels))
    grade, source = original_grade, "as --original-grade says"
    if grade is None and told.highest_grade is not None and highest_grade(original) <= 1:
        grade, source = told.highest_grade, "the highest of the guideline"
    source = source if grade is not None else "the highest in the labels"
    lifted, grade = originals_beside(original, counted, grade=grade)
    takes_out = found is not None and found.policy == DROP
    is_sample = told.machine_sample is not None or (pool is not None and {*SAMPLE} <= {*pool})
    if include_machine and machine is None:
        raise UsageError(f"include_machine is {include_machine!r}: give that judge's answers as machine")
    pairs = make_evidence(
        originals_beside(qrels, grade=grade)[0] if takes_out else lifted,
        labels,
        policy=policy,
        disputes=told.disputes,
        pool=pool,
        undrawn=told.undrawn,
        query_design=told.query_design,
        machine_sample=told.machine_sample,
        validity=validity,
        takes_out=takes_out,
        answers=labels_of_answers(machine, grades or {}) if include_machine and machine is not None else None,
        judge=include_machine or "",
    )
    augmented, changes, said = augmented_of(pairs), changes_of(pairs), list[str]()
    beside: dict[str, Any] = {"qrels.csv": augmented} if include_machine else {}
    if told.machine_sample is not None:  # apart, as other labels stand beside it
        beside["machine_sample.csv"] = told.machine_sample
    elif is_sample:
        beside |= {"qrels.csv": augmented}
        beside |= {} if told.query_design is None else {"query_design.csv": told.query_design}
        said = _words_of_open(pairs)
    beside |= {} if found is None else {"unusable.csv": found.queries}
    beside[f"evidence.{'csv' if len(pairs) <= MOST_ROWS else 'parquet'}"] = pairs
    votes = _votes(counted, original, told, found) if {*DESIGN} <= {*labels} else None
    return Found(
        files={"qrels.txt": augmented, "changes.csv": changes, **beside},
        of_first=("qrels.csv", "evidence.csv", "evidence.parquet"),
        said=said,
        **_account(changes, policy, told, found, votes, include_machine, grade, source),
        next=Next("score", elsewhere="--qrels {QRELS} --augmented {out} {RUNS}"),
    )


def _account(
    changes: Changes,
    policy: str,
    told: Asked,
    found: Unusable | None,
    votes: Votes | None,
    judge: str | None,
    grade: int | None,
    source: str,
) -> dict[str, Any]:
    """Return what became of pairs and how far labels err, as `Found` has it: counted and in sentences.

    Its parameters are what scores know of the whole, beside the options.
    """
    kinds, is_lower = change_counts(changes), changes["label_relevance"] < changes["original_relevance"]
    was, stays = ((changes[f"{of}relevance"] >= 1).fillna(False) for of in ("original_", ""))
    fell = {*changes.loc[was & ~stays, "query_id"]}
    lost = sorted(fell.difference(changes.loc[stays, "query_id"])) if fell else []
    n_lowered = int((is_lower & (changes["source"] == "confirmed")).sum())
    counts = {"policy": policy, **kinds, "lowered": n_lowered, "queries_without_positive": lost}
    if judge:
        is_positive = changes.loc[changes["source"] == f"{MACHINE}:{judge}", "relevance"] >= 1
        n_positive, n_others = int(is_positive.sum()), int((~is_positive).sum())
        counts |= {"machine_positive": n_positive, "machine_irrelevant": n_others, "include_machine": judge}
    words = [
        "policy {policy}: of the original positives {confirmed:,} confirmed, {rejected:,} rejected, "
        "{original:,} without a label; {new:,} new positives, {irrelevant:,} other pairs not relevant".format(
            **counts
        )
    ]
    words += words_of_shared(counts) if counts.get("shared") else []
    words += words_of_machine(counts) if judge else []
    if votes is not None:
        counts["label_errors"] = votes.numbers
        words += [words_of_errors(votes.numbers), *votes.words_of_alarm]
    words += [f"original positives count at grade {grade}, {source} (--original-grade sets it)"] * bool(grade)
    if n_lowered:
        effect = "stands" if policy == "override" else "does not count under this policy"
        n = f"{n_lowered:,} of the confirmed"
        words.append(f"{n} have a lower grade than in the original qrels, which {effect}")
    if lost:
        named = ", ".join(lost[:_SHOWN]) + (", …" if len(lost) > _SHOWN else "")
        words.append(
            f"warning: {n_of(len(lost), 'query')} lost the only positive, so no run can find anything for "
            f"them: {named} (the manifest names all); have those pairs judged again, or take policy union"
        )
    if found is not None:
        counts["unusable"], words = len(found.queries), [*words, found.words]
    parameters = {
        "original_grade": grade or None,
        "original_grade_from": source if grade else None,
        "highest_grade": told.highest_grade,
        "backbone": told.backbone or None,
        **({"unusable": None} if found is None else found.parameters),
        **({} if told.settled is None else told.settled.parameters),
        "include_machine": None,  # which is counted
    }
    notes = []
    if told.settled is not None and (n_open := told.settled.open_queries):
        notes = [f"{n_of(n_open, 'query')} not settled yet for {told.settled.measure}: pool again"]
    return {"notes": notes, "parameters": parameters, "counts": counts, "words": "\n".join(words)}


def _unusable_among(qrels: Qrels, validity: QueryLabels, policy: str) -> Unusable:
    """Return the unusable queries of original qrels.

    Raises:
        UsageError: labels of other queries; no query would be left.
    """
    if policy not in (FLAG, KEEP, DROP):  # which fire.toml may say
        raise UsageError(f"unusable {policy!r} is unknown; expected {FLAG}, {KEEP} or {DROP}")
    queries = qrels["query_id"].unique()
    own = validity[validity["query_id"].isin(queries)]
    if len(validity) and not len(own):
        raise UsageError("validity: no query of it is in the original qrels; expected the same collection's")
    unusable = QueryLabels(own[~own["is_usable"]].reset_index(drop=True))
    if policy == DROP and len(unusable) == len(queries):
        raise UsageError("validity: every query is unusable, so none would be left; take --unusable flag")
    return Unusable(policy, unusable, len(queries), len(own))


def _words_of_open(pairs: pd.DataFrame) -> list[str]:
    """Return which pairs of a sample have no label, so that estimates take them as not relevant."""
    missing = pairs[pairs["is_drawn"] & (pairs["source"] == UNJUDGED)]
    n_deep, n = int((missing["stratum"] == DEEP).sum()), int((missing["stratum"] != "").sum())
    if not n:
        return []
    of_deep = f" ({n_deep:,} of them of queries judged deep)" if n_deep else ""
    n_disputed = int(missing["is_disputed"].sum())
    return [
        f"warning: {n_of(n, 'pair')} of the sample without a label{of_deep}, {n_disputed:,} in dispute: "
        "estimates take them as not relevant; judge them and settle disputes first (`next-round`)"
    ]


def _votes(labels: Labels, original: Qrels, told: Asked, found: Unusable | None) -> Votes:
    """Return the votes of labels that hold a design, for what they say of errors."""
    disputes = told.disputes if told.disputes is None or found is None else found.counted(told.disputes)
    tables: dict[str, Any] = {"disputes": disputes, "sources": told.sources}
    return votes_of_labels(labels, original, **tables, is_settled=told.settled is not None)
