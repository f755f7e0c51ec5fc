"""`plan-round`: which pairs to ask again, the most useful first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.cli.common import (
    DRAWN,
    FORMATS,
    Inputs,
    chosen,
    chosen_path,
    drawn,
    formatted,
    here,
    n_of,
    say,
    say_next,
    shown,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.judged_files import judgments_from, known_grades, next_number

if TYPE_CHECKING:
    import pandas as pd

    from fire_toolkit.resolution import RoundPlan


@click.command(name="plan-round")
@click.option("--judgments", metavar="FILE", help="What the labels were made of. [default: the workspace's]")
@click.option("--labels", "folder", metavar="DIR", help="What `resolve` wrote. [default: labels]")
@click.option("--qrels", metavar="FILE", help="The original qrels: rejected originals are asked again.")
@click.option("--budget", type=click.IntRange(min=0), metavar="N", help="At most so many pairs.")
@click.option(
    "--random-share",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="Of the other pairs with one judgment, for agreement.",
)
@click.option(
    "--low-posterior",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Labels that a model (dawid-skene, weighted) is less sure of are asked again.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Of the random order. [default: 0]")
@click.option("--guideline", metavar="NAME", help="The guideline judged by, as for `resolve`.")
@click.option("--out", metavar="DIR", help="Folder for pool.csv, plan.csv and manifest.json.")
@click.option("--format", "output_format", type=click.Choice(FORMATS), default="table", help="Of the plan.")
def plan_round(
    judgments: str | None,
    folder: str | None,
    qrels: str | None,
    budget: int | None,
    random_share: float,
    low_posterior: float,
    seed: int | None,
    guideline: str | None,
    out: str | None,
    output_format: str,
) -> None:
    """Plan what to ask again: disputes, rejected originals, positives that nobody verified, doubts.

    Each pair is asked once more, in this order, up to the budget: disputes; pairs only escalated; original
    positives that the labels reject (--qrels); positives of one judgment; labels of a low posterior; a
    random share of the rest. pool.csv has the stratum of each pair and the probability with which it was
    drawn, by which `agree --join` weighs it. Shown is what each stratum costs and is expected to buy.
    """
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.resolution import plan_round as plan

    place = chosen_path(out, workspace_path("plan"), "--out")
    labels_folder = chosen_path(folder, workspace_path("labels"), "--labels")
    path = chosen_path(judgments, workspace_path("judgments/judgments.csv"), "--judgments")
    inputs = Inputs()
    table = judgments_from(inputs.use(path))
    seed = int(chosen(seed, "tasks", "seed"))
    planned = plan(
        table,
        *_resolved(labels_folder, inputs),
        grades=known_grades(table, guideline, path),
        original=_original(qrels, inputs),
        budget=budget,
        random_share=random_share,
        low_posterior=low_posterior,
        seed=seed,
        round=next_number(table),
    )
    numbers = {"budget": budget, "random_share": random_share, "low_posterior": low_posterior, "seed": seed}
    counts = dict(zip(planned.strata["stratum"], map(int, planned.strata["n_asked"]), strict=True))
    texts = {"pool.csv": delimited_text(planned.pool), "plan.csv": delimited_text(planned.strata, nan="nan")}
    write_outputs(place, texts, stage="plan-round", parameters=numbers, inputs=inputs, counts=counts)
    click.echo(_drawn(planned.strata, output_format), nl=False)
    _say_cost(planned, random_share)
    say_next(f"tasks {place} --queries QUERIES --overlap 0 --out tasks.json")


def _resolved(folder: Path, inputs: Inputs) -> tuple[Any, Any]:
    from fire_toolkit.formats.delimited import read_delimited
    from fire_toolkit.formats.table_files import read_labels
    from fire_toolkit.tables import check_disputes

    file = inputs.use(folder / "disputes.csv")
    disputes = check_disputes(read_delimited(file), where=str(file))
    return read_labels(inputs.use(folder / "labels.csv")), disputes


def _original(qrels: str | None, inputs: Inputs) -> Any:
    from fire_toolkit.formats.collections.qrels import read_qrels

    workspace = here()
    known = workspace.path("collection", "qrels") if workspace else None
    path = Path(qrels) if qrels else shown(known) if known and known.is_file() else None
    return None if path is None else read_qrels(inputs.use(path))


def _drawn(strata: pd.DataFrame, output_format: str) -> str:
    if output_format not in DRAWN:
        return formatted(strata, output_format)
    rows = [
        [name, f"{n:,}", f"{asked:,}", f"{chance:.4g}", f"{changes:,.1f}", note]
        for name, n, asked, chance, changes, note in strata.itertuples(index=False)
    ]
    return drawn(rows, list(strata.columns), output_format)


def _say_cost(planned: RoundPlan, random_share: float) -> None:
    strata = planned.strata.set_index("stratum")
    n_asked = int(strata["n_asked"].sum())
    hours = "" if math.isnan(planned.seconds) else f", about {n_asked * planned.seconds / 3600:,.1f} hours"
    say(f"{n_of(n_asked, 'pair')} to ask again{hours}")
    random = strata.loc["random"]
    if random_share and random["n_pairs"] and not random["n_asked"]:
        say(
            "warning: the budget leaves no random share: agreement over this round would be that of chosen "
            "pairs alone, and no weight mends it"
        )
