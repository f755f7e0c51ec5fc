"""`resolve` and `augment`: judgments to labels and augmented qrels."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import (
    Inputs,
    chosen,
    chosen_path,
    here,
    json_option,
    n_of,
    say_next,
    shown,
    summarise,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.judged_files import grades_of, judgments_from

_guideline = click.option(
    "--guideline",
    metavar="NAME",
    help="The guideline judged by. Without it: the default's labels, or numbers as their own grades.",
)


@click.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@click.option("--rule", help="How several judgments become one label. [default: fire]")
@_guideline
@click.option("--next-round", "ask_again", is_flag=True, help="Also write disputes as a pool to ask again.")
@click.option("--out", metavar="DIR", help="Folder for labels.csv, disputes.csv and manifest.json.")
@json_option
def resolve(
    judgments: str | None,
    rule: str | None,
    guideline: str | None,
    ask_again: bool,
    out: str | None,
    as_json: bool,
) -> None:
    """Resolve judgments into one label for each pair, and list what stays in dispute.

    Rule `fire`: one judgment stands; of several, a label with more than half of the votes; else a
    dispute, for a third annotator (--next-round writes DIR/next_round/pool.csv). An escalated or
    skipped answer is no vote.
    """
    from fire_toolkit.errors import UsageError
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.resolution import next_round
    from fire_toolkit.resolution import resolve as resolve_judgments

    folder = chosen_path(out, workspace_path("labels"), "--out")
    inputs = Inputs()
    path = chosen_path(judgments, workspace_path("judgments/judgments.csv"), "JUDGMENTS.csv")
    table = judgments_from(inputs.use(path))
    rule = str(chosen(rule, "resolve", "rule"))
    grades = grades_of(table, guideline)
    if grades is None:
        found = ", ".join(sorted(set(table["label"]))[:5])
        raise UsageError(
            f"{path}: no grade is known for labels {found}; name their guideline with --guideline"
        )
    labels, disputes = resolve_judgments(table, grades=grades, rule=rule)
    texts = {"labels.csv": delimited_text(labels), "disputes.csv": delimited_text(disputes)}
    counts = {"labels": len(labels), "disputes": len(disputes)}
    parameters = {"rule": rule}
    write_outputs(folder, texts, stage="resolve", parameters=parameters, inputs=inputs, counts=counts)
    if ask_again:
        again = {"pool.csv": delimited_text(next_round(disputes, round=2))}
        write_outputs(folder / "next_round", again, stage="resolve", parameters=parameters, inputs=inputs)
    words = f"{n_of(len(labels), 'pair')} with a label, {len(disputes):,} in dispute, by rule {rule}"
    summarise(counts, words, as_json=as_json)
    if ask_again and len(disputes):
        say_next(
            f"fire-toolkit tasks {folder / 'next_round'} --queries QUERIES --overlap 0 --out round2.json"
        )
    else:
        say_next("augment", f"--qrels ORIGINAL --labels {folder / 'labels.csv'} --out qrels.txt")


@click.command()
@click.option("--qrels", metavar="FILE", help="The original qrels.")
@click.option("--labels", metavar="FILE", help="labels.csv, or the folder that holds it.")
@click.option(
    "--policy",
    type=click.Choice(["union", "override", "drop"]),
    help="Original positives that were judged not relevant: stay (union), become 0 (override), "
    "leave the qrels (drop). [default: union]",
)
@click.option("--out", metavar="FILE", help="The augmented qrels (TREC); changes.csv is written beside it.")
@json_option
def augment(
    qrels: str | None, labels: str | None, policy: str | None, out: str | None, as_json: bool
) -> None:
    """Join labels to the original qrels, and count what was confirmed, new and rejected apart."""
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.formats.table_files import read_labels
    from fire_toolkit.formats.trec import read_trec_qrels, trec_qrels_text
    from fire_toolkit.qrels import augment_qrels, change_counts

    file = chosen_path(out, workspace_path("augmented/qrels.txt"), "--out")
    workspace = here()
    original_path = chosen_path(
        qrels, shown(workspace.path("collection", "qrels") or Path()) if workspace else None, "--qrels"
    )
    labels_path = chosen_path(labels, workspace_path("labels"), "--labels")
    labels_file = labels_path / "labels.csv" if labels_path.is_dir() else labels_path
    inputs = Inputs()
    original = read_trec_qrels(inputs.use(original_path))
    judged = read_labels(inputs.use(labels_file))
    policy = str(chosen(policy, "augment", "policy"))
    augmented, changes = augment_qrels(original, judged, policy=policy)
    texts = {file.name: trec_qrels_text(augmented), "changes.csv": delimited_text(changes)}
    counts = change_counts(changes)
    parameters = {"policy": policy}
    write_outputs(file, texts, stage="augment", parameters=parameters, inputs=inputs, counts=counts)
    words = f"policy {policy}: " + ", ".join(f"{n:,} {source}" for source, n in counts.items())
    summarise({"policy": policy, **counts}, words, as_json=as_json)
    say_next("score", f"--qrels {original_path} --augmented {file} RUN...")
