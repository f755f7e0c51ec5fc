"""`agree`, `resolve` and `augment`: judgments to agreement, labels and augmented qrels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.common import (
    FORMATS,
    Inputs,
    chosen,
    chosen_path,
    drawn,
    formatted,
    here,
    json_option,
    n_of,
    say,
    say_next,
    shown,
    summarise,
    workspace_path,
    write_outputs,
)

if TYPE_CHECKING:
    from fire_toolkit.tables import Agreement, Judgments

_guideline = click.option(
    "--guideline",
    metavar="NAME",
    help="The guideline judged by. Without it: the default's labels, or numbers as their own grades.",
)


def _read_judgments(path: Path) -> Judgments:
    """Read judgments; of several answers by one annotator to a pair the latest counts, and it is said."""
    from fire_toolkit.formats.table_files import read_judgments

    judgments, n_superseded = read_judgments(path)
    if n_superseded:
        say(f"note: {path}: {n_superseded:,} earlier answers of an annotator to the same pair left out")
    return judgments


def _grades(judgments: Judgments, guideline: str | None) -> dict[str, float | int | None] | None:
    from fire_toolkit.formats.guideline_files import read_guideline
    from fire_toolkit.guidelines import choose_grades
    from fire_toolkit.workspace import SETTINGS

    workspace = here()
    name = guideline or (workspace.setting("tasks", "guideline") if workspace else None)
    default = read_guideline(SETTINGS["tasks"]["guideline"])
    return choose_grades(
        judgments["label"], guideline=read_guideline(name) if name else None, default=default
    )


@click.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@click.option(
    "--level", type=click.Choice(["nominal", "ordinal", "interval", "ratio"]), help="[default: nominal]"
)
@click.option("--by", metavar="COLUMN", help="One group for each annotator_id, or each value of a column.")
@_guideline
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="Form of the output. [default: table on a terminal, else csv]",
)
def agree(
    judgments: str | None, level: str | None, by: str | None, guideline: str | None, output_format: str | None
) -> None:
    """Measure how far annotators agree: Krippendorff's alpha and percent agreement.

    Only pairs with two judgments or more (n_pairable) can say anything; an undefined alpha is nan,
    with the reason in its note.
    """
    from fire_toolkit.agreement import agreement
    from fire_toolkit.formats.delimited import delimited_text

    inputs = Inputs()
    path = chosen_path(judgments, workspace_path("judgments/judgments.csv"), "JUDGMENTS.csv")
    table = _read_judgments(inputs.use(path))
    level = str(chosen(level, "agree", "level"))
    measured = agreement(table, grades=_grades(table, guideline), level=level, by=by)
    output_format = output_format or ("table" if sys.stdout.isatty() else "csv")
    click.echo(_drawn_agreement(measured, output_format), nl=False)
    place = workspace_path("agreement/agreement.csv")
    if judgments is None and by is None and place:
        text = delimited_text(measured, nan="nan")
        write_outputs(place, {place.name: text}, stage="agree", parameters={"level": level}, inputs=inputs)
    say_next("resolve", f"{path} --out labels")


def _drawn_agreement(measured: Agreement, output_format: str) -> str:
    if output_format not in ("table", "latex"):
        return formatted(measured, output_format)
    rows = [
        [*map(str, row[:3]), f"{row[3]:.4f}", *(f"{n:,}" for n in row[4:7]), str(row[7])]
        for row in measured.itertuples(index=False)
    ]
    return drawn(rows, list(measured.columns), output_format)


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
    table = _read_judgments(inputs.use(path))
    rule = str(chosen(rule, "resolve", "rule"))
    grades = _grades(table, guideline)
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
