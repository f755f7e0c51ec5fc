"""`augment`: labels joined to the original qrels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from fire_toolkit.cli.common import (
    chosen_path,
    file_in,
    json_option,
    n_of,
    named_file,
    say_next,
    setting_or_default,
    summarise,
    workspace_path,
)
from fire_toolkit.cli.hints import runs_named
from fire_toolkit.cli.inputs import Inputs, write_outputs
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_labels
from fire_toolkit.qrels import (
    POLICIES,
    augment_qrels,
    change_counts,
    count_lowered,
    queries_without_positive,
)

SHOWN = 5


@click.command()
@click.option("--qrels", metavar="FILE", help="The original qrels.")
@click.option("--labels", metavar="FILE", help="labels.csv, or the folder that holds it.")
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    help="Original positives that were judged not relevant: stay (union), become 0 (override), "
    "leave the qrels (drop). [default: union]",
)
@click.option("--out", metavar="FILE", help="The augmented qrels (TREC); changes.csv is written beside it.")
@json_option
@writes_workspace
def augment(
    qrels: str | None, labels: str | None, policy: str | None, out: str | None, as_json: bool
) -> None:
    """Join labels to the original qrels, and count confirmed, new and rejected pairs."""
    file = chosen_path(out, workspace_path("augmented/qrels.txt"), "--out")
    original_path = chosen_path(qrels, named_file("qrels"), "--qrels")
    labels_file = file_in(chosen_path(labels, workspace_path("labels"), "--labels"), "labels.csv")
    inputs = Inputs()
    original = read_qrels(inputs.use(original_path))
    judged = read_labels(inputs.use(labels_file))
    policy = str(setting_or_default(policy, "augment", "policy"))
    augmented, changes = augment_qrels(original, judged, policy=policy)
    texts = {file.name: trec_qrels_text(augmented), "changes.csv": delimited_text(changes)}
    counts = change_counts(changes)
    parameters = {"policy": policy}
    lost = queries_without_positive(changes)
    n_lowered = count_lowered(changes)
    more = {"lowered": n_lowered, "queries_without_positive": lost}
    write_outputs(file, texts, stage="augment", parameters=parameters, inputs=inputs, counts=counts | more)
    words = [f"policy {policy}: " + ", ".join(f"{n:,} {source}" for source, n in counts.items())]
    words += _describe_losses(policy, n_lowered, lost)
    summarise({"policy": policy, **counts, **more}, "\n".join(words), as_json=as_json)
    given = f"--qrels {original_path} --augmented {file}"
    say_next("score" if out is None else f"score {given}", "" if out is None else runs_named())


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
