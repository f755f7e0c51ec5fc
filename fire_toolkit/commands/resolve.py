"""`resolve`: judgments to labels and disputes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import pandas as pd

from fire_toolkit.collections.duplicates import mark_shared
from fire_toolkit.collections.duplicates import share_judgments as share_with_same_text
from fire_toolkit.commands.command import stage
from fire_toolkit.commands.types import GradesOf, GuidelineOf, Option, Table
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.inference.limits import wilson
from fire_toolkit.resolution.design import with_design
from fire_toolkit.resolution.judgments import latest_round
from fire_toolkit.resolution.other_labels import label_queries, settle_disputes
from fire_toolkit.resolution.plan import rejected_originals
from fire_toolkit.resolution.resolve import Resolution, answers_to_controls, grades_or_usual, words_of_model
from fire_toolkit.resolution.resolve import resolve as resolve_by
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import FOURTH, Judgments, Qrels, Queries, asked_judgments
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import RECHECK
from fire_toolkit.words import n_of

_NEXT_OF_QUERIES = "in the workspace of the pairs: fire-toolkit augment"
_NEXT = Next("augment", "--qrels {QRELS}", "--labels {out}/labels.csv --out {out}/augmented.txt")
_Judgments = Annotated[
    Judgments, Table("to_resolve", metavar="[JUDGMENTS.csv]", is_argument=True, also=("exclude",))
]


@stage("labels")
def resolve(
    judgments: _Judgments,
    qrels: Annotated[Qrels | None, Table("original_if_given")] = None,
    controls: Annotated[pd.DataFrame | None, Table("controls_given")] = None,
    design: Annotated[pd.DataFrame | None, Table("design")] = None,
    queries: Annotated[Queries | None, Table("queries_to_share")] = None,
    *,
    guideline: GuidelineOf = None,
    grades: GradesOf = None,
    dropped: Annotated[pd.DataFrame | None, Table("dropped", is_told=True)] = None,
    shown_sha256: Annotated[str | None, Table("shown_sha256", is_told=True)] = None,
    round: Annotated[int | None, Table("next_number", is_told=True)] = None,  # noqa: A002
    rule: Annotated[str, Option(setting=("resolve", "rule"))] = "fire",
    adjudicators: Annotated[Sequence[str], Option(("--adjudicator",), metavar="NAME")] = (),
    disputes: Literal["unjudged", "0", "1"] = "unjudged",
    count_unassigned: bool = False,
    without_rechecks: bool = False,
    share_judgments: Literal["same-text"] | None = None,
) -> Found:
    """Resolve judgments into one label for each pair, and list what stays in dispute.

    Rule `fire`: one judgment stands; of several, a label with more than half of the votes wins; anything else
    is a dispute, which `next-round` asks again. Escalated and skipped answers are not votes, nor are answers
    by somebody who was not asked (kind `unassigned`). With --qrels, original positives that the labels reject
    go to DIR/rejected/pool.csv, to be asked again. How many labels differ from a plain majority's is always
    reported.

    Where the design of the votes is known, labels.csv and disputes.csv have each pair's design_class and
    design_votes, by which scores are corrected. With --share-judgments the column shared_from names the
    queries whose judgments a label rests on.

    Args:
        judgments: The judgments (judgments.csv).
        qrels: The original qrels: original positives that the labels reject become a pool of their own.
        controls: Qrels or labels of known pairs: how often the rule is right on them beside a majority; rule
            dawid-skene learns from them.
        design: A table with query_id, doc_id and design_class (single, doubled, verify): how many votes each
            pair was to get, fixed before any was seen. [default: the campaign's]
        queries: The queries, for --share-judgments.
        guideline: The guideline judged by. Without it: the default's labels, or numbers as their own grades.
        grades: The grade of each label, in the guideline's order; those that labels spell, unless given.
        dropped: Answers that are no votes; those to controls teach rule dawid-skene.
        shown_sha256: The hash of the guideline that annotators were shown.
        round: The round of pairs that are asked again; the one after the judgments', unless given.
        rule: How several judgments become one label: fire, majority, unanimous, adjudicator, dawid-skene.
        adjudicators: Whose judgment decides under the rule adjudicator. Without it: the latest round's.
        disputes: Disputes get no label, or all count as not relevant (0) or relevant (1), to see what they
            decide.
        count_unassigned: Also count answers to tasks assigned to somebody else.
        without_rechecks: Leave out answers to pairs that were looked at again (`next-round --recheck`):
            labels by design, which can be corrected for errors.
        share_judgments: Also give each annotator's judgments to every query of the same text (`audit` lists
            them).

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "b", "b"], "annotator_id": ["u", "u", "v"],
        ...     "label": ["yes", "yes", "no"]}))
        >>> found = fire.resolve(judgments, grades={"yes": 1, "no": 0})
        >>> found.labels[["doc_id", "label", "relevance", "method", "n_judgments"]]
          doc_id label  relevance method  n_judgments
        0      a   yes          1   fire            1
        >>> found.disputes
          query_id doc_id       reason  n_yes  n_no
        0        q      b  no_majority      1     1
    """
    known = grades_or_usual(judgments, guideline.grades if guideline and grades is None else grades)
    votes, fourth, notes = _counted(judgments, unassigned=count_unassigned, rechecks=not without_rechecks)
    votes, of_shared = _shared(votes, queries) if share_judgments else (votes, {})
    answers = None if dropped is None or controls is None else answers_to_controls(dropped, controls, known)
    if answers is not None and len(answers):
        notes.append(f"{n_of(len(answers), 'answer')} to controls read from dropped.csv")
    by: Any = {"rule": rule, "controls": controls, "adjudicators": adjudicators, "answers": answers}
    full = resolve_by(votes, grades=known, **by)
    labels, settled = full.labels, None if disputes == "unjudged" else disputes
    if settled is not None:
        labels = settle_disputes(labels, full.disputes, grades=known, end=settled)
    shown = mark_shared(labels, votes) if share_judgments else labels
    files: dict[str, Any] = {"labels.csv": shown, "disputes.csv": full.disputes}
    if full.posteriors is not None:
        files |= {"posteriors.csv": full.posteriors, "confusions.csv": full.confusions}
    if design is not None:
        every = Judgments(pd.concat([votes, fourth], ignore_index=True))
        both = with_design((shown, full.disputes), design, every, grades=known)
        files["labels.csv"], files["disputes.csv"] = both
    said = [] if full.confusions is None else [*words_of_model(full, full.confusions)]
    if guideline and guideline.is_of_queries:
        how = {"guideline": guideline.name, "guideline_sha256": shown_sha256 or guideline.sha256}
        found, files["query_validity.csv"] = label_queries(labels, votes, **how)
        files["query_labels.csv"] = found
        said.append(f"{(~found['is_usable']).sum():,} of {len(found):,} captions with a label are unusable")
    counts = _counts_of(full, len(labels)) | of_shared
    if qrels is not None:
        rejected = rejected_originals(labels, qrels, round=round or latest_round(judgments) + 1)
        files["rejected/pool.csv"], counts["rejected_originals"] = rejected, len(rejected)
    return Found(
        files=files,
        notes=notes,
        more=[n_of(len(votes), "judgment")],
        said=said,
        parameters=_parameters(guideline, settled, adjudicators),
        counts=counts,
        trace={"log_likelihoods": [*full.trace], "converged": full.converged} if full.trace else {},
        words="\n".join(_words_of(counts, rule)),
        next=_NEXT_OF_QUERIES if guideline and guideline.is_of_queries else _NEXT,
    )


def _counted(
    judgments: Judgments, *, unassigned: bool, rechecks: bool
) -> tuple[Judgments, Judgments, list[str]]:
    """Return the judgments that are votes, the fourth votes, which no label counts, and notes on both."""
    kinds = judgments["kind"] if "kind" in judgments else pd.Series("", index=judgments.index)
    fourth, is_vote = kinds == FOURTH, (kinds != FOURTH) & (rechecks | (kinds != RECHECK))
    n_fourth = n_of(int(fourth.sum()), "fourth vote")
    kept_apart = f"{n_fourth} kept apart: they test votes, and no label counts them"
    notes = [kept_apart] * bool(fourth.any())
    votes = Judgments(judgments[is_vote].reset_index(drop=True))
    asked = votes if unassigned else asked_judgments(votes)
    if n_left := len(votes) - len(asked):
        n_pairs = len(votes.drop_duplicates(PAIR)) - len(asked.drop_duplicates(PAIR))
        notes.append(
            f"{n_of(n_left, 'answer')} not asked of their annotator left out, as `agree` does; "
            f"{n_of(n_pairs, 'pair')} without another answer (--count-unassigned counts them)"
        )
    return asked, Judgments(judgments[fourth]), notes


def _shared(judgments: Judgments, queries: Queries | None) -> tuple[Judgments, dict[str, int]]:
    """Return the judgments with those shared among queries of the same text, and what was counted."""
    if queries is None:
        raise UsageError("share_judgments needs the texts of the queries; give queries too")
    shared = share_with_same_text(judgments, queries)
    return shared.judgments, {"shared_judgments": shared.n_added, "shared_conflicts": shared.n_conflicts}


def _counts_of(full: Resolution, n_labels: int) -> dict[str, Any]:
    counts: dict[str, Any] = {"labels": n_labels, "disputes": len(full.disputes)}
    counts |= {"against_majority": full.against_majority, "pairs_by_votes": [*full.n_pairs_by_votes]}
    return counts | ({} if full.on_controls is None else {"on_controls": full.on_controls})


def _parameters(
    guideline: Guideline | None, settled: str | None, adjudicators: Sequence[str]
) -> dict[str, Any]:
    """Return what the manifest says beside the options: the grades of a guideline that has three or more."""
    named = guideline.grades.items() if guideline and guideline.level == "ordinal" else ()
    grades = {label: grade for label, grade in named if grade is not None} or None
    return {"disputes": settled, "adjudicators": sorted(adjudicators) or None, "grades": grades}


def _words_of(counts: Mapping[str, Any], rule: str) -> Iterator[str]:
    """Yield what was counted in words."""
    change = counts["against_majority"]
    yield f"{n_of(counts['labels'], 'pair')} with a label, {counts['disputes']:,} in dispute, by rule {rule}"
    if change["other"] + change["gained"] + change["lost"]:
        unlike = (
            f"{change['other']:,} with another label, {change['gained']:,} labelled that it leaves in dispute"
        )
        yield f"unlike a majority: {unlike}, {change['lost']:,} in dispute that it labels"
    elif rule != "majority":
        yield "a plain majority gives the same labels"
    if found := counts.get("on_controls"):
        said = []
        for name, whose in (("n", f"rule {rule}"), ("majority", "a majority")):
            n_right, n = found[f"{name}_right"], found[f"{name}_labelled"]
            share = "{:.3f}, 95% {:.3f} to {:.3f}".format(n_right / n, *wilson(n_right / n, n)) if n else ""
            right = f"is right on {n_right:,} of {n:,} that it labels ({share})" if n else "labels none"
            said.append(f"{whose} {right}")
        yield f"on {n_of(found['n_controls'], 'control')}, each unknown to the rule: {'; '.join(said)}"
    if "shared_judgments" in counts:
        n = n_of(counts["shared_judgments"], "judgment")
        conflicts = f"{counts['shared_conflicts']:,} not, where captions of one text got different labels"
        yield (f"{n} shared among queries of the same text; {conflicts}")
    if counts.get("rejected_originals"):
        n = n_of(counts["rejected_originals"], "original positive")
        yield (f"{n} labelled not relevant: ask again (rejected/pool.csv) before either is believed")
