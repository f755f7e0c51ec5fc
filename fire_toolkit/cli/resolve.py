"""`resolve`: judgments to labels and disputes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.as_augmented import GRADES
from fire_toolkit.cli.campaigns import begun_here, full_pull_due
from fire_toolkit.cli.common import current_workspace, json_option, n_of, say, say_next, setting_or_default
from fire_toolkit.cli.designs import design_of
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import next_number, pairs_by_votes, with_control_answers
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.options import choice_option, exclude_options, reads
from fire_toolkit.collections.sharing import SAME_TEXT, mark_shared, share_judgments
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.binomial import wilson
from fire_toolkit.resolution.changes import against_majority
from fire_toolkit.resolution.design import rechecked_pairs, votes_in_order, with_design
from fire_toolkit.resolution.design import without_rechecks as leave_out_rechecks
from fire_toolkit.resolution.query_labels import query_labels, query_validity
from fire_toolkit.resolution.rejected import rejected_originals
from fire_toolkit.resolution.resolve import next_round, resolve_in_full
from fire_toolkit.resolution.settle import settle_disputes
from fire_toolkit.tables import (
    FOURTH,
    Disputes,
    Judgments,
    Labels,
    asked_judgments,
    check_disputes,
    check_labels,
)
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.manifests import writer_of


@click.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@reads(
    "guideline",
    controls="Qrels or labels of known pairs: how often the rule is right on them beside a majority; rule "
    "dawid-skene learns from them.",
    qrels="The original qrels: original positives that the labels reject become a pool of their own.",
    queries="The queries, for --share-judgments.",
)
@click.option(
    "--rule",
    help="How several judgments become one label: fire, majority, unanimous, adjudicator, "
    "dawid-skene. [default: fire]",
)
@click.option(
    "--adjudicator",
    "adjudicators",
    multiple=True,
    metavar="NAME",
    help="Whose judgment decides under the rule adjudicator. Without it: the latest round's.",
)
@choice_option(
    "--disputes",
    ["unjudged", "0", "1"],
    "Disputes get no label, or all count as not relevant (0) or relevant (1), to see what they decide.",
    name="end",
)
@click.option(
    "--count-unassigned",
    is_flag=True,
    help="Also count answers to tasks assigned to somebody else.",
)
@click.option(
    "--without-rechecks",
    is_flag=True,
    help="Leave out answers to pairs that were looked at again (`next-round --recheck`): labels by design, "
    "which can be corrected for errors.",
)
@click.option(
    "--design",
    metavar="FILE",
    help="A table with query_id, doc_id and design_class (single, doubled, verify): how many votes each pair "
    "was to get, fixed before any was seen. [default: the campaign's]",
)
@exclude_options
@click.option("--next-round", "ask_again", is_flag=True, help="Also write disputes as a pool to ask again.")
@click.option(
    "--share-judgments",
    "sharing",
    type=click.Choice([SAME_TEXT]),
    help="Also give each annotator's judgments to every query of the same text (`audit` lists them).",
)
@click.option("--out", metavar="DIR", help="Folder for labels.csv, disputes.csv, manifest.json.")
@json_option
@writes_workspace
def resolve(
    given: Given,
    rule: str | None,
    adjudicators: tuple[str, ...],
    end: str,
    count_unassigned: bool,
    without_rechecks: bool,
    design: str | None,
    ask_again: bool,
    sharing: str | None,
) -> None:
    """Resolve judgments into one label for each pair, and list what stays in dispute.

    Rule `fire`: one judgment stands; of several, a label with more than half of the votes; else a
    dispute, for a third annotator (--next-round writes DIR/next_round/pool.csv). An escalated or
    skipped answer is not a vote, nor is one that was not asked of its annotator (kind `unassigned`).
    With --qrels, DIR/rejected/pool.csv holds the original positives to ask again before either side is
    believed.
    The change against a plain majority is always reported, with --controls also how often either is right
    on pairs whose label is known. With --share-judgments the column shared_from
    of labels.csv names the queries whose judgments a label rests on, where nobody judged the pair itself.

    Where the design is known, labels.csv and disputes.csv have each pair's design_class and its votes in the
    order of the design (design_votes, 1 for positive): `score --honest` corrects for their errors by these.
    """
    folder = given.out("labels")
    given.needed("judgments")
    qrels = given.values["qrels"]
    original = read_qrels(given.use(qrels)) if qrels else None
    table, fourth = _apart(given.judgments)
    if given.values["judgments"] is None and (campaign := begun_here()) and (due := full_pull_due(campaign)):
        say(f"note: {due}")
    grades = given.grades
    table = _counted(table, count_unassigned=count_unassigned, without_rechecks=without_rechecks)
    shared: dict[str, int] = {}
    if sharing:
        table, shared = _shared(table, given)
    rule = str(setting_or_default(rule, "resolve", "rule"))
    resolved = _resolved(table, grades, rule, adjudicators, end, given)
    labels, disputes, counts = resolved.labels, resolved.disputes, dict(resolved.counts) | shared
    if sharing:
        resolved.tables["labels.csv"] = mark_shared(labels, table)
    if (designed := design_of(given, design)) is not None:
        votes = votes_in_order(Judgments(pd.concat([table, fourth], ignore_index=True)), grades=grades)
        for name in ("labels.csv", "disputes.csv"):
            resolved.tables[name] = with_design(
                resolved.tables[name], designed, votes, rechecked_pairs(table)
            )
    pools = {"next_round": next_round(disputes, round=next_number(table))} if ask_again else {}
    if original is not None:
        pools["rejected"] = rejected_originals(labels, original, round=next_number(table))
        counts["rejected_originals"] = len(pools["rejected"])
    resolved.tables.update(_of_queries(given, labels, table))
    parameters: dict[str, Any] = {"rule": rule} | ({"disputes": end} if end != "unjudged" else {})
    chosen = {"count_unassigned": count_unassigned, "without_rechecks": without_rechecks}
    parameters |= {name: True for name, is_so in chosen.items() if is_so}
    parameters |= _order_of_grades(given)
    parameters |= {"excluded": given.excluded} if given.excluded else {}
    parameters |= {"adjudicators": sorted(adjudicators)} if adjudicators else {}
    parameters |= {"share_judgments": sharing} if sharing else {}
    given.write(folder, resolved.tables, "resolve", parameters, counts | resolved.trace)
    for name, pool in pools.items():
        given.write(folder / name, {"pool.csv": pool}, "resolve", parameters)
    given.summarise(counts, _describe(counts, rule))
    _say_next_of_resolve(given, folder, n_again=len(disputes) if ask_again else 0)


def _say_next_of_resolve(given: Given, folder: Path, *, n_again: int) -> None:
    if given.judged_by and given.judged_by.is_of_queries:
        say("next: in the workspace of the pairs: fire-toolkit augment")
    elif n_again and begun_here():
        say_next("next-round")  # which knows who has seen a pair
    elif n_again:
        again = folder / "next_round"
        known = f"--queries {given.hint('QUERIES')} --out {again / 'tasks.json'}"
        say_next(f"tasks {again} --overlap 0", known)
    elif given.values["out"] is None:
        say_next("augment")
    else:
        known = "" if current_workspace() else f" --qrels {given.hint('QRELS')}"
        say_next(f"augment{known} --labels {folder / 'labels.csv'} --out {folder / 'augmented.txt'}")


def _counted(judgments: Judgments, *, count_unassigned: bool, without_rechecks: bool) -> Judgments:
    """Return the judgments that count; say how many were not asked of their annotator."""
    counted = leave_out_rechecks(judgments) if without_rechecks else judgments
    return counted if count_unassigned else _asked(counted)


def _apart(judgments: Judgments) -> tuple[Judgments, Judgments]:
    """Return the judgments that may be votes, and the fourth votes, which no label counts; say how many."""
    kinds = judgments["kind"] if "kind" in judgments else pd.Series("", index=judgments.index)
    fourth = judgments[kinds == FOURTH]
    if len(fourth):
        say(f"note: {n_of(len(fourth), 'fourth vote')} kept apart: they test votes, and no label counts them")
    return Judgments(judgments[kinds != FOURTH].reset_index(drop=True)), Judgments(fourth)


def _of_queries(given: Given, labels: Labels, judgments: Judgments) -> dict[str, pd.DataFrame]:
    """Return what was said of captions alone as tables of queries, and say how many are unusable."""
    rules = given.judged_by
    if rules is None or not rules.is_of_queries:
        return {}
    writer = writer_of(given.needed("judgments"))
    shown = str((writer.parameters if writer else {}).get("guideline_sha256", rules.sha256))
    found = query_labels(labels, judgments)
    n_unusable = int((~found["is_usable"]).sum())
    say(f"{n_unusable:,} of {len(found):,} captions with a label are unusable")
    validity = query_validity(judgments, guideline=rules.name, guideline_sha256=shown)
    return {"query_labels.csv": found, "query_validity.csv": validity}


def _order_of_grades(given: Given) -> dict[str, Any]:
    """Return the grades of a guideline that has three or more, for the manifest."""
    rules = given.judged_by
    if rules is None or rules.level != "ordinal":
        return {}
    return {GRADES: {label: grade for label, grade in rules.grades.items() if grade is not None}}


def _asked(judgments: Judgments) -> Judgments:
    """Return the judgments that were asked of their annotator, and say how many were not."""
    asked = asked_judgments(judgments)
    n_left = len(judgments) - len(asked)
    if n_left:
        pair = PAIR
        n_pairs = len(judgments.drop_duplicates(pair)) - len(asked.drop_duplicates(pair))
        say(
            f"note: {n_of(n_left, 'answer')} not asked of their annotator left out, as `agree` does; "
            f"{n_of(n_pairs, 'pair')} without another answer (--count-unassigned counts them)"
        )
    return asked


def _shared(judgments: Judgments, given: Given) -> tuple[Judgments, dict[str, int]]:
    """Return the judgments with those shared among queries of the same text, and what was counted."""
    shared = share_judgments(judgments, given.queries)
    return shared.judgments, {"shared_judgments": shared.n_added, "shared_conflicts": shared.n_conflicts}


@dataclass(frozen=True)
class _Resolved:
    """What a rule made of judgments, the tables of its files, and what was counted."""

    labels: Labels
    disputes: Disputes
    tables: dict[str, pd.DataFrame]
    counts: dict[str, Any]
    trace: dict[str, Any]


def _resolved(
    judgments: Judgments, grades: Grades, rule: str, adjudicators: tuple[str, ...], end: str, given: Given
) -> _Resolved:
    known = given.controls(grades)
    votes = judgments if known is None else with_control_answers(judgments, given, known, grades)
    full = resolve_in_full(
        votes, grades=grades, rule=rule, controls=known, adjudicators=adjudicators, count_unassigned=True
    )
    labels, disputes, posteriors = full.labels, full.disputes, full.posteriors
    if votes is not judgments:  # answers to controls teach a model, and are no judgments
        pairs = judgments[PAIR].drop_duplicates()
        labels, disputes = check_labels(labels.merge(pairs)), check_disputes(disputes.merge(pairs))
        posteriors = posteriors if posteriors is None else posteriors.merge(pairs)
    counts: dict[str, Any] = {"labels": len(labels), "disputes": len(disputes)}
    counts["against_majority"] = against_majority(judgments, labels, grades=grades)
    counts["pairs_by_votes"] = list(full.n_pairs_by_votes)
    if full.on_controls is not None:
        counts["on_controls"] = asdict(full.on_controls)
    if end != "unjudged":
        labels = settle_disputes(labels, disputes, grades=grades, end=end)
        counts["labels"] = len(labels)
    tables = {"labels.csv": labels, "disputes.csv": disputes}
    trace: dict[str, Any] = {}
    if posteriors is not None and full.confusions is not None:
        tables |= {"posteriors.csv": posteriors, "confusions.csv": full.confusions}
        _say_votes(full.n_pairs_by_votes, full.confusions)
        _warn_of_other_labels(counts["against_majority"])
        trace = {"log_likelihoods": list(full.trace), "converged": full.converged}
    return _Resolved(labels, disputes, tables, counts, trace)


def _say_votes(n_pairs_by_votes: tuple[int, ...], confusions: pd.DataFrame) -> None:
    """Say how many votes a model of annotators had to learn from, and warn where most pairs have one."""
    by_annotator = confusions.drop_duplicates("annotator_id")["n_votes"]
    low, middle, high = (f"{by_annotator.quantile(share):,.0f}" for share in (0, 0.5, 1))
    say(f"votes: {pairs_by_votes(n_pairs_by_votes)}; {n_of(len(by_annotator), 'annotator')} with "
        f"{low} to {high} votes each, half of them up to {middle}")  # fmt: skip
    n_pairs = sum(n_pairs_by_votes[1:])
    if 2 * n_pairs_by_votes[1] > n_pairs:
        say(
            f"warning: {n_pairs_by_votes[1]:,} of {n_of(n_pairs, 'pair')} have one vote. The model learns "
            "who errs from pairs with several votes; its posterior of the others is a guess, and often far "
            "too sure"
        )


def _warn_of_other_labels(change: Mapping[str, int]) -> None:
    """Warn where a model labels many pairs otherwise than a majority: it may have settled on a wrong fit."""
    n_labelled = change["same"] + change["other"]
    if 10 * change["other"] > n_labelled:
        say(
            f"warning: {change['other']:,} of {n_labelled:,} labels are not a majority's; a model can settle "
            "far from the truth: believe it only where it is the better one on --controls"
        )


def _describe(counts: Mapping[str, Any], rule: str) -> str:
    """Return what was counted in words."""
    change = counts["against_majority"]
    lines = [
        f"{n_of(counts['labels'], 'pair')} with a label, {counts['disputes']:,} in dispute, by rule {rule}",
        f"against a majority: {change['other']:,} with another label, {change['gained']:,} with a label that "
        f"it leaves in dispute, {change['lost']:,} in dispute that it labels",
    ]
    lines += _describe_controls(counts, rule)
    if "shared_judgments" in counts:
        n = n_of(counts["shared_judgments"], "judgment")
        conflicts = f"{counts['shared_conflicts']:,} not, where captions of one text got different labels"
        lines.append(f"{n} shared among queries of the same text; {conflicts}")
    if counts.get("rejected_originals"):
        n = n_of(counts["rejected_originals"], "original positive")
        lines.append(f"{n} labelled not relevant: ask again (rejected/pool.csv) before either is believed")
    return "\n".join(lines)


def _describe_controls(counts: Mapping[str, Any], rule: str) -> Iterator[str]:
    """Yield how often the rule and a majority are right on controls, where there are any."""
    found = counts.get("on_controls")
    if found is None:
        return
    right = [
        _right(found["n_right"], found["n_labelled"], f"rule {rule}"),
        _right(found["majority_right"], found["majority_labelled"], "a majority"),
    ]
    yield f"on {n_of(found['n_controls'], 'control')}, each unknown to the rule: {'; '.join(right)}"


def _right(n_right: int, n_labelled: int, whose: str) -> str:
    if not n_labelled:
        return f"{whose} labels none"
    low, high = wilson(n_right, n_labelled)
    share = f"{n_right / n_labelled:.3f}, 95% {low:.3f} to {high:.3f}"
    return f"{whose} is right on {n_right:,} of {n_labelled:,} that it labels ({share})"
