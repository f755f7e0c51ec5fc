"""Agreement and resolution on real crowd labels: TREC 2011's crowdsourcing track, beside NIST's judgments.

17,395 relevance labels (0 or 1) by 445 workers on 2,165 topic-document pairs; NIST judged 290 of them.

    python examples/trec2011_crowd.py TREC2011_CROWD_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.agreement.annotators import leave_one_out
from fire_toolkit.agreement.intervals import N_RESAMPLES
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import agreement
from fire_toolkit.resolution.judgments import latest_judgments
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import Resolution, resolve
from fire_toolkit.tables import Judgments

GRADES = {"0": 0, "1": 1}
PAIR = ["query_id", "doc_id"]


def pairs_of(tasks: pd.Series) -> pd.DataFrame:
    """Return query_id and doc_id of tasks named `topic_document`."""
    parts = tasks.str.split("_", n=1, expand=True)
    return pd.DataFrame({"query_id": parts[0], "doc_id": parts[1]})


def read(folder: Path) -> tuple[Judgments, pd.DataFrame]:
    """Return the workers' judgments, and NIST's labels (columns query_id, doc_id, label)."""
    labels = pd.read_csv(folder / "trec11_vuurens.labels.csv", dtype="str")
    answers = pairs_of(labels["task"]).assign(annotator_id=labels["worker"], label=labels["label"])
    judgments, again = latest_judgments(answers)
    print(f"{len(labels):,} labels, {len(again):,} of them replaced by the same worker's later one")
    gold = pd.read_csv(folder / "trec11_vuurens.gold.csv", dtype={"task": "str"})
    known = pairs_of(gold["task"]).assign(label=np.where(gold["gold"] > 0, "1", "0"))
    judged = known.merge(judgments[PAIR].drop_duplicates())
    print(f"NIST knows {len(known)} pairs, {len(judged)} of which workers judged")
    return judgments, judged


def print_agreement(judgments: Judgments) -> None:
    """Print every statistic with its interval, drawn by topic-document pair and by topic."""
    for words, cluster in (("pairs", None), ("topics", "query_id")):
        how = {"statistics": list(STATISTICS), "n_resamples": N_RESAMPLES, "cluster": cluster}
        table = agreement(judgments, grades=GRADES, **how)
        print(f"\nAgreement, intervals by drawing {words}")
        for row in table.itertuples():
            interval = f"[{row.low:.3f}, {row.high:.3f}]" if row.low == row.low else row.interval_note
            print(f"  {row.statistic:20} {row.value:.3f} {interval}")
        alpha = table.iloc[0]
        print(f"  q(alpha < .667) = {alpha.below_667:.3f}, q(alpha < .8) = {alpha.below_800:.3f}")


def print_annotators(judgments: Judgments) -> None:
    """Print who moves alpha most, and how much of the workers can be compared at all."""
    left = leave_one_out(judgments, grades=GRADES).sort_values("change", ascending=False)
    lowest, highest = left["value"].min(), left["value"].max()
    print(f"\nAlpha without one of {len(left)} workers: from {lowest:.4f} to {highest:.4f}")
    for row in left.head(3).itertuples():
        print(f"  without {row.annotator_id} ({row.n_votes} votes) {row.value:.4f} ({row.change:+.4f})")


def halves(known: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return every second known pair as controls, and the others to be measured on."""
    ordered = known.sort_values(PAIR, ignore_index=True)
    return ordered.iloc[::2], ordered.iloc[1::2]


def print_rules(judgments: Judgments, known: pd.DataFrame) -> dict[str, float]:
    """Print how often each rule's labels are NIST's; the model is also given half of NIST's labels."""
    controls, others = halves(known)
    accuracies: dict[str, float] = {}
    print("\nLabels beside NIST's: right of labelled; disputes; against a majority")
    for name in RULES:
        if name == "adjudicator":
            continue
        full = resolve(judgments, grades=GRADES, rule=name)
        accuracies[name] = tell(name, full, known, judgments)
    full = resolve(judgments, grades=GRADES, rule="dawid-skene", controls=controls)
    accuracies["dawid-skene+controls"] = tell("dawid-skene+controls", full, others, judgments)
    print(
        f"  (with controls: {len(controls)} of NIST's labels are known, and the other {len(others)} measured)"
    )
    return accuracies


def tell(name: str, full: Resolution, known: pd.DataFrame, judgments: Judgments) -> float:
    """Print one rule's line, and return the share of the known pairs with a label that it labels right."""
    both = full.labels.merge(known, on=PAIR, suffixes=("", "_known"))
    n_right = int((both["label"] == both["label_known"]).sum())
    n_disputed = len(full.disputes.merge(known[PAIR]))
    change = full.against_majority
    print(
        f"  {name:20} {n_right} of {len(both)} ({n_right / len(both):.3f}); {n_disputed} in dispute; "
        f"{change['other']} other, {change['gained']} gained, {change['lost']} lost"
    )
    if full.trace:
        ends = f"{full.trace[0]:,.1f} to {full.trace[-1]:,.1f}"
        print(f"  {'':20} log-likelihood {ends} in {len(full.trace)} iterations")
    return n_right / len(both)


def main(folder: Path) -> None:
    """Print it all."""
    judgments, known = read(folder)
    print_agreement(judgments)
    print_annotators(judgments)
    print_rules(judgments, known)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
