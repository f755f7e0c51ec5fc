"""`machine`: judges that are models: ask one, bring in what one said elsewhere, hold one against people."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import FireGroup, json_option, n_of, say_next, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.machine_check import check
from fire_toolkit.cli.machine_run import file_name, run
from fire_toolkit.cli.options import reads
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.machine_scores import read_machine_scores
from fire_toolkit.formats.tables.table_files import read_pool
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.tables.machine import OK


@click.group(cls=FireGroup, context_settings={"help_option_names": ["-h", "--help"]})
def machine() -> None:
    """Ask machine judges about pairs, bring in their scores, and check them against people's labels.

    What a judge says lies in machine/NAME, apart from people's judgments: no annotator sees it, and it enters
    neither judgments nor labels.
    """


machine.add_command(run)
machine.add_command(check)


@machine.command("import")
@click.argument("scores", metavar="SCORES.csv")
@click.option("--judge", "judge_id", metavar="NAME", help="The judge's name. [default: the file's name]")
@click.option("--backbone", default="", metavar="NAME", help="The model's backbone, such as clip-vit-b32.")
@reads(pool="The pairs that were to be judged, to count those without an answer.")
@click.option("--out", metavar="FILE", help="A CSV, or a folder for machine.csv. [default: machine/NAME]")
@json_option
def import_(given: Given, scores: str, judge_id: str | None, backbone: str) -> None:
    """Read scores or labels that a machine gave elsewhere: CLIPScore, TIFA (`tifa --per pair`), any model.

    SCORES.csv has a column for the query, one for the doc, and a score, a label or both, by their usual
    names. A row with neither is a failure, never a 0.
    """
    name = judge_id or file_name(Path(scores).name.removesuffix(".gz").rpartition(".")[0])
    path = given.use(scores)
    table = read_machine_scores(path, name, backbone=backbone)
    out = given.out(f"machine/{name}/machine.csv")
    out = out if out.suffix in (".csv", ".tsv") and not out.is_dir() else out / "machine.csv"
    if (out.parent / "judge.json").exists():
        raise UsageError(
            f"{out.parent}: holds what `machine run` asked; give this judge another name (--judge)"
        )
    n_failed = int((table["status"] != OK).sum())
    counts = {"answers": len(table) - n_failed, "failed": n_failed}
    pool = given.found("pool")
    if (pool is not None and given.values["pool"]) or (workspace_path("pool/pool.csv") and pool is not None):
        pairs = read_pool(given.use(pool))
        counts["pool_pairs_without_answer"] = int((pair_rows(pairs, table[table["status"] == OK]) < 0).sum())
    parameters = {"judge": name, "backbone": backbone}
    given.write(out, {out.name: table}, "machine import", parameters, counts)
    words = f"{n_of(counts['answers'], 'answer')} of {name} in {out}"
    if n_failed:
        words += f"; {n_failed:,} rows with neither score nor label are failures"
    if left := counts.get("pool_pairs_without_answer"):
        words += f"; {n_of(left, 'pair')} of the pool without an answer"
    given.summarise(counts, words)
    say_next(f"machine check {name}", "--labels LABELS")
