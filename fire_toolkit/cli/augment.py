"""`augment`: labels joined to the original qrels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.as_augmented import GRADE, guideline_grade, words_of_shared
from fire_toolkit.cli.as_augmented import original_grade as grade_of_originals
from fire_toolkit.cli.background import errors_given
from fire_toolkit.cli.common import json_option, n_of, numbers_of, say_next, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.hints import runs_named
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.machine_scores import MACHINE_SAMPLE, answers_of_judge, with_machine
from fire_toolkit.cli.options import reads
from fire_toolkit.cli.sampled_qrels import DESIGN, designed
from fire_toolkit.cli.unusable import files_of, refuse_sampled, unusable_among
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.making import make_evidence
from fire_toolkit.evidence.qrels import (
    POLICIES,
    Augmented,
    augment_qrels,
    change_counts,
    count_lowered,
    lift_originals,
    queries_without_positive,
)
from fire_toolkit.formats.releases import refuse_corrected
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.evidence_files import evidence_files
from fire_toolkit.formats.tables.table_files import (
    read_labels,
    read_pool,
    read_query_design,
    read_query_labels,
)
from fire_toolkit.inference.background import DROP, Unusable
from fire_toolkit.inference.background import POLICIES as UNUSABLE
from fire_toolkit.inference.label_quality import numbers_of_errors, words_of_alarm, words_of_errors
from fire_toolkit.tables import Labels, check_disputes
from fire_toolkit.tables.designs import check_machine_sample
from fire_toolkit.tables.machine import words_of_machine

SHOWN = 5


@click.command()
@reads(
    *("labels", "validity"),
    qrels="The original qrels.",
    pool="The pool, or its folder: its sample goes on to the qrels.",
)
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    help="Original positives that were judged not relevant: stay (union), become 0 (override), "
    "leave the qrels (drop). [default: union]",
)
@click.option(
    "--original-grade",
    type=click.IntRange(min=1),
    help="Grade at which original positives count, where their qrels give all of them 1. [default: the "
    "highest of the guideline, else of the labels]",
)
@click.option(
    "--unusable",
    type=click.Choice(UNUSABLE),
    help="Queries that annotators found unusable: counted, with scores given with and without them (flag), "
    "counted alone (keep), or out of the qrels (drop). [default: flag]",
)
@click.option(
    "--include-machine",
    metavar="JUDGE",
    help="Also take a machine judge's labels where there are no people's; they are marked wherever they go.",
)
@click.option("--out", metavar="FILE", help="The augmented qrels (TREC); changes.csv is written beside it.")
@json_option
@writes_workspace
def augment(
    given: Given,
    policy: str | None,
    original_grade: int | None,
    unusable: str | None,
    include_machine: str | None,
) -> None:
    """Join labels to the original qrels, and count confirmed, new and rejected pairs.

    Labels keep their grades. Original positives, of which a benchmark's qrels say no more than that they are
    positive, count at the highest grade of the guideline, else of the labels; under policy override a judged
    one has its label's.
    """
    file = given.out("augmented/qrels.txt")
    refuse_corrected(given.needed("qrels"))
    original, all_labels = given.original_as_read, read_labels(given.use(given.needed("labels")))
    found = unusable_among(given, original, str(setting_or_default(unusable, "augment", "unusable")))
    given.unusable = found  # not those that an earlier `augment` wrote
    original = original if found is None else found.counted(original)
    labels = all_labels if found is None else found.counted(all_labels)
    given.labels = labels
    grade, source = grade_of_originals(given, original, labels, original_grade)
    original = original if grade is None else lift_originals(original, grade=grade)
    given.original = original  # not as qrels that an earlier `augment` wrote have it
    policy = str(setting_or_default(policy, "augment", "policy"))
    augmented, changes = augment_qrels(original, labels, policy=policy, original_grade=grade)
    by_machine: dict[str, Any] = {}
    if include_machine:
        both, by_machine = with_machine(given, Augmented(augmented, changes), include_machine)
        augmented, changes = both
        by_machine["include_machine"] = include_machine
    augmented, beside, design = designed(given, augmented, file.name)
    refuse_sampled(found, list(beside))
    beside |= {f"{file.stem}.csv": augmented} if include_machine else {}
    contents: dict[str, Any] = {file.name: trec_qrels_text(augmented), "changes.csv": changes, **beside}
    pairs = _evidence(given, all_labels, Augmented(augmented, changes), grade, found)
    contents |= files_of(found) | evidence_files(pairs, beside=file.name)
    counts = change_counts(changes)
    lost = queries_without_positive(changes)
    n_lowered = count_lowered(changes)
    more: dict[str, Any] = {"lowered": n_lowered, "queries_without_positive": lost, **by_machine}
    words = [f"policy {policy}: {numbers_of(counts)}", *words_of_shared(counts)]
    words += words_of_machine(by_machine)
    if (errors := errors_given(given)) is not None:
        more["label_errors"] = numbers_of_errors(errors)
        words += [words_of_errors(more["label_errors"]), *words_of_alarm(errors)]
    words += [f"original positives count at grade {grade}, {source} (--original-grade sets it)"] * bool(grade)
    words += _describe_losses(policy, n_lowered, lost)
    parameters = {"policy": policy, **design} | (
        {GRADE: grade, "original_grade_from": source} if grade else {}
    )
    parameters |= _of_whole(given)
    if found is not None:
        parameters |= found.parameters
        more["unusable"] = len(found.queries)
        words.append(found.words)
    given.write(file, contents, "augment", parameters, counts | more)
    given.summarise({"policy": policy, **counts, **more}, "\n".join(words))
    if given.values["out"] is None:
        say_next("score")
    else:
        say_next(f"score --qrels {given.needed('qrels')} --augmented {file}", runs_named())


def _evidence(
    given: Given, labels: Labels, made: Augmented, grade: int | None, unusable: Unusable | None
) -> pd.DataFrame:
    """Return all that is known of each pair; labels: of all queries; grade: of original positives."""
    disputes, pool = given.needed("labels").with_name("disputes.csv"), given.found("pool")
    beside = [pool.with_name(name) for name in (DESIGN, MACHINE_SAMPLE)] if pool else []
    design, sample = (given.use(each) if each.is_file() else None for each in beside or [Path(), Path()])
    validity = given.needed("validity") if unusable is not None else None
    original = given.original_as_read
    return make_evidence(
        original if grade is None else lift_originals(original, grade=grade),
        labels,
        *made,
        disputes=check_disputes(read_delimited(given.use(disputes))) if disputes.is_file() else None,
        pool=read_pool(given.use(pool)) if pool else None,
        query_design=read_query_design(design) if design else None,
        machine_sample=check_machine_sample(read_delimited(sample)) if sample else None,
        validity=read_query_labels(validity) if validity else None,
        takes_out=unusable is not None and unusable.policy == DROP,
    )


def _of_whole(given: Given) -> dict[str, Any]:
    """Return the highest grade of the guideline, and the backbone of the judge whose sample was drawn."""
    highest, pool = guideline_grade(given), given.found("pool")
    known = {} if highest is None else {"highest_grade": highest}
    sample = pool.with_name(MACHINE_SAMPLE) if pool else None
    if sample is None or not sample.is_file():
        return known
    judge = str(read_delimited(sample, required=["judge_id"])["judge_id"].iloc[0])
    try:
        named = answers_of_judge(given, judge)["backbone"].unique().tolist()
    except UsageError:  # the sample is here and the judge's table is not
        return known
    return known | ({"backbone": str(named[0])} if len(named) == 1 else {})


def _describe_losses(policy: str, n_lowered: int, lost: Sequence[str]) -> Iterator[str]:
    """Yield what labels took from the original qrels: grades, and the only positives of queries."""
    if n_lowered:
        effect = "stands" if policy == "override" else "does not count under this policy"
        yield f"{n_lowered:,} of the confirmed have a lower grade than in the original qrels, which {effect}"
    if lost:
        named = ", ".join(lost[:SHOWN]) + (", …" if len(lost) > SHOWN else "")
        yield (
            f"warning: {n_of(len(lost), 'query')} lost the only positive, so no run can find anything for "
            f"them: {named} (the manifest names all); have those pairs judged again, or take policy union"
        )
