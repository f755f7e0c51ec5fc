"""`bidirectional`: scores from texts to items and from items to texts."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pandas as pd

from fire_toolkit.cli.common import drawn, format_option, say, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.options import choice_option, out_option, reads
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.run_files import id_files, read_two_ways, refuse_unused
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.bidirectional import cut_matrix, open_bidirectional, rank_bidirectional
from fire_toolkit.measures.defaults import DIRECTION_CUTOFFS
from fire_toolkit.scoring.bidirectional import (
    Fold,
    fold_runs,
    is_share,
    make_folds,
    mean_of_folds,
    refuse_unheld_texts,
    score_directions,
    turn_qrels,
)
from fire_toolkit.scoring.drawn import augmented_cell
from fire_toolkit.tables import Run, Scores
from fire_toolkit.tables.columns import PAIR


@click.command()
@reads("runs", qrels="The original qrels: texts and their items.")
@click.option(
    "--qrels2",
    metavar="FILE",
    help="Items and their texts, where these are not the qrels the other way round (ECCV Caption).",
)
@click.option("--augmented", metavar="FILE", help="The augmented qrels, as `augment` writes them.")
@choice_option(
    "--item", ["image", "video"], "What the items are: measures are t2i_R@1, i2t_R@1 or t2v_R@1, v2t_R@1."
)
@click.option(
    "--folds",
    type=click.IntRange(min=1),
    default=1,
    help="Average over N folds of consecutive items (COCO 1K: 5), in the order of the matrix, or of "
    "--doc-ids for two runs.",
)
@format_option
@out_option
def bidirectional(given: Given, qrels2: str | None, item: str, folds: int) -> None:
    """Score both directions: R@1, 5, 10, MedR and MnR of each, R@Sum and mR.

    RUN is a matrix of texts × items, ranked both ways, or two runs: texts to items, items to texts. The
    qrels hold texts and their items, any number of either. R@K is whether any positive stands in the
    top K. Shares are shown times 100, R@Sum is the sum of the six.

    The measures are those that papers print, and are fixed; for others score the run of each direction
    with `score -m`.

    Items are scored by the qrels read the other way round, which needs every text that is ranked to be a
    query of them; --qrels2 gives the items' own.
    """
    runs = given.values["runs"]
    if len(runs) not in (1, 2):
        raise click.UsageError(f"{len(runs)} files; expected one matrix, or two runs (t2i, then i2t)")
    original = given.original
    back = read_qrels(given.use(qrels2)) if qrels2 else None
    if back is not None and given.values["augmented"] is not None:
        raise click.UsageError("--qrels2 does not go with --augmented; leave one of them out")
    corrected = None if back is not None else given.augmented_if_any
    if queries_own_items(Inputs()):
        say("note: queries' own items are kept in both directions; `score` follows the collection's protocol")
    source = (_Matrix if len(runs) == 1 else _TwoRuns)(given)
    whole = Fold((), original, corrected, back)
    parts = make_folds(original, source.items(), folds, augmented=corrected, back=back) if folds > 1 else []
    refuse_unused(source.ids)
    scorings = [
        score_directions(*both, fold.qrels, augmented=fold.augmented, back=fold.back, item=item[0])
        for both, fold in source.pairs(parts, whole)
    ]
    scoring = mean_of_folds(scorings)
    say_notes(scoring.notes)
    print_table(scoring.scores, given.form, _drawn)
    given.keep(scoring.scores, "bidirectional", {"item": item, "folds": folds})


Scored = tuple[tuple["Run", "Run"], "Fold"]


class _Matrix:
    """One matrix, ranked both ways; positives below the top keep their true ranks."""

    def __init__(self, given: Given) -> None:
        self.path = given.use(given.values["runs"][0])
        self.ids = id_files(given)
        self.matrix, *self.axes = open_bidirectional(self.path, query_ids=self.ids[0], doc_ids=self.ids[1])

    def items(self) -> list[str]:
        return self.axes[1]

    def pairs(self, folds: list[Fold], whole: Fold) -> Iterator[Scored]:
        parts = [(fold.texts, fold.docs) for fold in folds]
        matrices = cut_matrix(self.matrix, (self.axes[0], self.axes[1]), parts) if folds else [self.matrix]
        if not folds and whole.back is None:
            refuse_unheld_texts(self.axes[0], whole.qrels)
        for fold, matrix in zip(folds or [whole], matrices, strict=True):
            turned = None if fold.back is None else turn_qrels(fold.back)
            tables = [table for table in (fold.qrels, fold.augmented, turned) if table is not None]
            known = pd.concat(tables)[PAIR].drop_duplicates()
            axes = (fold.texts, fold.docs) if folds else (self.axes[0], self.axes[1])
            depth = max(DIRECTION_CUTOFFS)
            both = rank_bidirectional(self.path, matrix, axes, known, run_id=self.path.stem, depth=depth)
            yield both, fold


class _TwoRuns:
    def __init__(self, given: Given) -> None:
        self.ids = id_files(given)
        self.forth, self.back = read_two_ways(given, self.ids)

    def items(self) -> list[str]:
        file = self.ids[1]
        if file is None:
            raise click.UsageError(
                "--folds needs the order of the items: give --doc-ids FILE, a line each, or one matrix"
            )
        file.is_used = True
        return file.ids

    def pairs(self, folds: list[Fold], whole: Fold) -> Iterator[Scored]:
        if not folds:
            yield (self.forth, self.back), whole
        for fold in folds:
            yield fold_runs(self.forth, self.back, fold), fold


def _drawn(scores: Scores, output_format: str) -> str:
    values = {
        (measure, name): (100.0 if is_share(measure) else 1.0) * value
        for measure, name, value in zip(scores["measure"], scores["qrels"], scores["value"], strict=True)
    }
    rows = []
    for measure in dict.fromkeys(scores["measure"]):
        original = values[measure, "original"]
        if (measure, "augmented") in values:
            cell = augmented_cell(values[measure, "augmented"], original, values[measure, "delta"])
        else:
            cell = f"{original:.1f}"
        rows.append([measure, cell])
    return drawn(rows, ["measure", str(scores["run_id"].iloc[0])], output_format)
