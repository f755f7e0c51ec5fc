"""Labels audited by experts: `next-round` draws, `import` reads the answers, `score` corrects by them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.tasks import make_tasks, split_pair_id
from fire_toolkit.cli.common import n_of
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import made_file, needed_workspace, relative_path, say_next, setting_or_default
from fire_toolkit.cli.readers import ANSWERS, EXPERTS, SAMPLE
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_bytes
from fire_toolkit.folder.sheets import labels_in_sheet, sheet_of
from fire_toolkit.formats.tables.delimited import delimited_text, read_delimited
from fire_toolkit.formats.tables.table_files import has_columns, read_pool
from fire_toolkit.inference.audit import draw_audit, labels_by_band
from fire_toolkit.tables import check_pool
from fire_toolkit.tables.columns import PAIR

SHEET = "sheet.csv"
MARK = "audit"  # the column of a sheet that says of which draw it is
POSITIVES, NEGATIVES = 100, 200  # labels for each band of ranks


def draw_for_experts(given: Given, budget: int | None) -> None:
    """Draw labels by label and band of ranks, and write the experts' sheet, without a label, and the sample.

    budget: at most so many labels, a third of them positive; None: 100 and 200 for each band.
    """
    folder = relative_path(needed_workspace(": labels are audited in a workspace").root / EXPERTS)
    if given.values["out"]:
        raise UsageError(f"--ask {MARK} writes into {folder}, where `import` and `score` look for it")
    drawn = folder / Path(SAMPLE).name
    if drawn.exists():
        raise UsageError(
            f"{drawn}: there is a sample, and experts may have its sheet; move the folder away to "
            "draw another"
        )
    seed = int(setting_or_default(given.values["seed"], "tasks", "seed"))
    if (path := made_file("pool/pool.csv")) is None:
        raise UsageError("pool/pool.csv: not made yet; the ranks of labelled pairs are in it")
    labels = labels_by_band(given.labels, given.original, read_pool(given.use(path)))
    each = None if budget is None else max(1, budget // (3 * len(labels.bands)))
    numbers = {"positives": each or POSITIVES, "negatives": 2 * each if each else NEGATIVES, "seed": seed}
    sample = draw_audit(labels, **numbers)
    rules = given.guideline
    pairs = check_pool(sample[PAIR])
    shown = make_tasks(pairs, given.queries, items=given.items_if_any, guideline=rules, overlap=0, seed=seed)
    text = delimited_text(sample.sort_values(PAIR))
    mark = sha256(text.encode()).hexdigest()[:8]
    contents: dict[str, Any] = {SHEET: sheet_of(shown, rules, {MARK: mark}), drawn.name: text}
    counts = {"pairs": len(sample), "positive": int(sample["relevance"].sum())}
    words = f"{n_of(len(sample), 'label')} for experts in {folder / SHEET}"
    words += f", {counts['positive']:,} of them positive; {drawn.name} says which"
    given.write(folder, contents, "next-round", numbers, counts, words)
    say_next("import FILLED.csv")


def is_expert_sheet(path: Path) -> bool:
    """Whether a file is a sheet of an audit."""
    return path.suffix in (".csv", ".tsv") and path.is_file() and has_columns(path, "pair_id", "label", MARK)


def import_experts(given: Given, sheets: Sequence[Path]) -> None:
    """Add the answers in sheets to those of the audit; an expert's later answer replaces the one before.

    Raises:
        FormatError: a sheet is of another draw, or there is none.
    """
    sample = made_file(SAMPLE)
    if sample is None:
        raise FormatError(f"{sheets[0]}: a sheet of an audit; {SAMPLE} is not in this workspace")
    mark = sha256(read_bytes(given.use(sample))).hexdigest()[:8]
    for path in sheets:
        if (read_delimited(path)[MARK].str.strip() != mark).any():
            raise FormatError(f"{path}: a sheet of another draw than {sample}; import it where it was drawn")
    filled = pd.concat([labels_in_sheet(given.use(path), given.guideline) for path in sheets])
    filled["relevance"] = filled["label"].map(given.guideline.grades)
    filled[PAIR] = [split_pair_id(key) for key in filled.pop("pair_id")]
    voted = filled[filled["relevance"].notna()].astype({"relevance": "int64"})
    out = sample.with_name(Path(ANSWERS).name)
    key = ["annotator_id", *PAIR]
    columns = [*key, "label", "relevance"]
    before = [read_delimited(given.use(out, goes_on=True), required=columns)] if out.is_file() else []
    both = pd.concat([*before, voted])[columns].astype({"relevance": "int64"})
    both = both.drop_duplicates(key, keep="last")
    counts = {"read": len(voted), "answers": len(both), "pairs": len(both.drop_duplicates(PAIR))}
    words = f"{n_of(len(voted), 'answer')} of experts read; {counts['pairs']:,} pairs in {out}"
    given.write(out, {out.name: both.sort_values(key)}, "import", {}, counts, words)
    say_next("score")
