"""`audit-labels`: a sample of labels for experts, and scores corrected by their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.campaign.tasks import make_tasks, split_pair_id
from fire_toolkit.cli.common import (
    drawn,
    json_option,
    n_of,
    say,
    say_next,
    setting_or_default,
    workspace_path,
)
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.options import measure_option, reads
from fire_toolkit.cli.progress_line import wipe_progress
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.folder.sheets import sheet_of
from fire_toolkit.formats.tables.delimited import delimited_text, read_delimited
from fire_toolkit.formats.tables.table_files import read_pool
from fire_toolkit.inference.audit import (
    AuditedKinds,
    AuditedLabels,
    audited_kinds,
    draw_audit,
    labels_by_band,
)
from fire_toolkit.inference.corrected import corrected_scores, corrected_terms, why_uncorrected
from fire_toolkit.inference.estimates import chances_of
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.measures import parse_measures
from fire_toolkit.measures.defaults import PAPER
from fire_toolkit.tables import check_pool
from fire_toolkit.tables.columns import PAIR

SHEET, SAMPLE = "sheet.csv", "sample.csv"


@click.command(name="audit-labels")
@reads("runs", "qrels", "labels", "queries", "items", "own_item", pool="The pool: pool.csv, or its folder.")
@measure_option
@click.option("--answers", metavar="FILE", help="The sheet that experts filled in: correct scores by it.")
@click.option("--positives", type=click.IntRange(min=1), default=100, show_default=True,
              help="Positive labels for each band of ranks.")  # fmt: skip
@click.option("--negatives", type=click.IntRange(min=1), default=200, show_default=True,
              help="Negative labels for each band of ranks.")  # fmt: skip
@click.option("--guideline", metavar="NAME", help="The guideline judged by. [default: the workspace's]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the sample. [default: 0]")
@click.option("--out", metavar="DIR", help="Folder of sheet.csv and sample.csv. [default: audit/labels]")
@json_option
@writes_workspace
def audit_labels(
    given: Given, measures: tuple[str, ...], answers: str | None, positives: int, negatives: int
) -> None:
    """Draw labels for experts to judge again, and correct C@k and P@k by what they say.

    Without --answers: draws positive and negative labels at random in each band of ranks (best rank 1, 2 to
    3, 4 and more; of policy until-confirmed apart for verified pairs and others). It writes sheet.csv for
    experts (blind: no label, no rank) and sample.csv, which keeps what was drawn. With --answers: reads the
    sheet back and prints the labels' error rates by band, and the scores corrected by them.

    Only an audit helps where some pairs are hard for everybody: votes then agree on errors. Experts are taken
    as right. What the rule was does not matter.
    """
    folder = given.out("audit/labels")
    path = given.found("pool") if given.values.get("pool") else None
    file = path or workspace_path("pool/pool.csv")
    if file is None:
        raise click.UsageError("--pool is needed: the ranks of labelled pairs are in it")
    labels = labels_by_band(given.labels, given.original, read_pool(given.use(file)))
    seed = int(setting_or_default(given.values["seed"], "tasks", "seed"))
    if answers is None:
        _draw(given, labels, folder, positives, negatives, seed)
    else:
        _correct(given, labels, folder / SAMPLE, Path(answers), measures)


def _draw(
    given: Given, labels: AuditedLabels, folder: Path, positives: int, negatives: int, seed: int
) -> None:
    if (folder / SAMPLE).exists():
        raise UsageError(
            f"{folder / SAMPLE}: there is a sample, and experts may have its sheet; --out names another"
        )
    sample = draw_audit(labels, positives=positives, negatives=negatives, seed=seed)
    shown = make_tasks(
        check_pool(sample[PAIR]),
        given.queries,
        items=given.items_if_any,
        guideline=given.guideline,
        overlap=0,
        seed=seed,
    )
    contents: dict[str, Any] = {
        SHEET: sheet_of(shown, given.guideline),
        SAMPLE: delimited_text(sample.sort_values(PAIR)),
    }
    parameters = {"positives": positives, "negatives": negatives, "seed": seed}
    counts = {"pairs": len(sample), "positive": int(sample["relevance"].sum())}
    given.write(folder, contents, "audit-labels", parameters, counts)
    words = (
        f"{n_of(len(sample), 'label')} to judge in {folder / SHEET}, {counts['positive']:,} of them positive"
    )
    given.summarise(counts, f"{words}; {SAMPLE} says which")
    say_next(f"audit-labels --answers {folder / SHEET}")


def _correct(
    given: Given, labels: AuditedLabels, drawn_before: Path, answers: Path, names: tuple[str, ...]
) -> None:
    sample = read_delimited(given.use(drawn_before), required=[*PAIR, "band", "relevance"])
    sample = sample.assign(band=sample["band"].astype(int), relevance=sample["relevance"].astype(int))
    measures = parse_measures(names or PAPER[:3])
    for measure in measures:
        if reason := why_uncorrected(measure):
            raise UsageError(f"{measure.name} is not corrected: {reason}")
    judged = _answers(given, answers)
    n_answered = len(judged.merge(sample[PAIR]))
    kinds = audited_kinds(labels, sample, judged)
    joined = join_runs(given.stored_runs, given.original, labels.pairs[[*PAIR, "relevance"]])
    chances = chances_of(joined, design_if_any(given))
    found = corrected_scores(
        corrected_terms(joined, given.original, labels, measures, kinds=kinds, chances=chances)
    )
    if given.as_json:
        wipe_progress()
        click.echo(found.to_json(orient="records"))
    else:
        rows = [
            [name, measure, f"{value:.3f}", f"{low:.3f} to {high:.3f}", reason]
            for name, measure, value, low, high, _, reason in found.itertuples(index=False)
        ]
        wipe_progress()
        click.echo(drawn(rows, ["run", "measure", "corrected", "95%", "note"], "table"), nl=False)
    for line in _rates_in_words(labels, kinds):
        say(line)
    n_answers = n_of(n_answered, "answer")
    say(
        f"rests on: {n_answers} of experts, {n_of(len(labels.pairs), 'label')}; unbiased if experts are right"
    )


def _answers(given: Given, path: Path) -> pd.DataFrame:
    """Return experts' answers as query_id, doc_id and relevance; rows without a label are left out."""
    table = read_delimited(given.use(path), required=["pair_id", "label"])
    table = table[table["label"].str.strip() != ""]
    grades = given.guideline.grades
    unknown = sorted(set(table["label"].str.strip()) - set(grades))
    if unknown:
        raise FormatError(f"{path}: label {unknown[0]!r}, expected one of {', '.join(grades)}")
    relevance = table["label"].str.strip().map(grades)
    pairs = [split_pair_id(key) for key in table["pair_id"]]
    found = pd.DataFrame(pairs, columns=PAIR, dtype="str").assign(relevance=relevance.to_numpy())
    return found[found["relevance"].notna()].drop_duplicates(PAIR)


def _rates_in_words(labels: AuditedLabels, kinds: AuditedKinds) -> list[str]:
    """Return what the audit says of the labels in each band."""
    pairs = labels.pairs
    lines = []
    for band, name in enumerate(labels.names):
        own = pairs[pairs["band"] == band]
        if not len(own):
            continue
        counts = labels.counted * (pairs["band"] == band).to_numpy()[:, None]
        each = [counts.sum(axis=0) if n == band else [1, 0, 0, 0] for n in range(labels.n_bands)]
        rates = kinds.rates(pd.DataFrame(each).to_numpy(dtype=float).reshape(-1))
        (n_negative, n_positive), (accepted, right) = kinds.asked[band], kinds.relevant[band]
        lines.append(
            f"ranks {name}: t {rates.t[band]:.3f}, f {rates.f[band]:.4f} of {n_of(len(own), 'label')}; "
            f"experts reject {n_positive - right:.0f} of {n_positive:.0f} positives, "
            f"accept {accepted:.0f} of {n_negative:.0f} negatives"
        )
    return lines
