"""What each rule makes of the same answers where the truth is known: the demo's world, without its clips.

Four annotators (careful, hasty, lenient, strict) answer the sample pool's 2,244 pairs under four designs
that differ in which pairs are asked a second time; disputes go to a third. Every rule's labels are held
against the truth, and alpha of each design against that of asking everything twice. Means of some worlds.

    python examples/rules_on_the_demo.py [WORLDS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit import read_guideline, read_pool
from fire_toolkit.agreement.table import agreement
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.demo.annotators import Export, answer_tasks
from fire_toolkit.demo.world import World, make_world
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.tables import Judgments, Labels, check_judgments

PAIR = ["query_id", "doc_id"]
SAMPLE = Path(__file__).resolve().parent.parent / "pools" / "sample"
GUIDELINE = read_guideline("caption-relevance-v1")
CONTROLS = 60


class Campaign:
    """The answers of one world, asked for as they are needed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed
        self.seen: dict[str, set[str]] = {}
        self.number = 0

    def ask(self, pairs: pd.DataFrame, *, everybody: bool = False) -> Judgments:
        """Return one more annotator's judgments of `pairs`, or those of all four, as the next round."""
        keys = {f"{query} {doc}": (query, doc) for query, doc in pairs[PAIR].itertuples(index=False)}
        tasks = [{"data": {"pair_id": key, "query_id": q, "doc_id": d}} for key, (q, d) in keys.items()]
        rounds: list[dict[str, Export]] = []
        for _ in range(4 if everybody else 1):
            self.number += 1
            exports = answer_tasks(
                tasks,
                pair_ids=keys,
                pairs=self.world.pairs,
                seen=self.seen,
                batch=self.number,
                seed=self.seed,
            )
            rounds.append(exports)
            for name, export in exports.items():
                for task in export:
                    self.seen.setdefault(task["data"]["pair_id"], set()).add(name)
        files = [(name, export) for exports in rounds for name, export in exports.items()]
        judgments = judgments_from_export(files, guideline=GUIDELINE).judgments
        return check_judgments(judgments.assign(round=self.number))


def both(*tables: Judgments) -> Judgments:
    """Return the judgments of several rounds as one table."""
    return check_judgments(pd.concat(tables, ignore_index=True))


Choice = Callable[[Judgments, np.random.Generator], pd.DataFrame]


def drawn(share: float) -> Choice:
    """Return a choice of that share of the pairs, evenly."""

    def choose(first: Judgments, rng: np.random.Generator) -> pd.DataFrame:
        pairs = first[PAIR].drop_duplicates()
        return pairs[rng.random(len(pairs)) < share].assign(inclusion_probability=share)

    return choose


def positives_and(share: float) -> Choice:
    """Return a choice of all pairs that the first annotator calls relevant, and that share of the others."""

    def choose(first: Judgments, rng: np.random.Generator) -> pd.DataFrame:
        is_positive = first["label"] == "relevant"
        chance = np.where(is_positive, 1.0, share)
        return first[PAIR].assign(inclusion_probability=chance)[rng.random(len(first)) < chance]

    return choose


DESIGNS: dict[str, Choice] = {
    "15% at random": drawn(0.15),
    "positives": positives_and(0.0),
    "positives + 5% at random": positives_and(0.05),
    "all": drawn(1.0),
}


def beside_truth(labels: Labels, truth: pd.DataFrame) -> dict[str, float]:
    """Return the share of labels that are right, and precision, recall and F1 of the positives."""
    known = truth.merge(labels[[*PAIR, "relevance"]], on=PAIR, how="left", suffixes=("_true", ""))
    is_true, found = known["relevance_true"] == 1, known["relevance"] == 1
    labelled = known["relevance"].notna()
    n_right = int((is_true & found).sum())
    precision, recall = n_right / max(found.sum(), 1), n_right / is_true.sum()
    return {
        "labelled": float(labelled.mean()),
        "right": float((known["relevance"] == known["relevance_true"])[labelled].mean()),
        "precision": precision,
        "recall": recall,
        "F1": 2 * precision * recall / max(precision + recall, 1e-12),
    }


def one_world(seed: int, pool: pd.DataFrame) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return what each rule made of each design, and each design's alpha."""
    world = make_world()
    truth = pool[PAIR].merge(world.pairs[[*PAIR, "relevance"]], on=PAIR)
    outside = world.pairs.merge(pool[PAIR], on=PAIR, how="left", indicator=True)
    known = outside[outside["_merge"] == "left_only"].groupby("relevance").head(CONTROLS // 2)
    controls = known[PAIR].assign(label=np.where(known["relevance"] == 1, "relevant", "irrelevant"))
    rules, alphas = [], []
    for name, choose in DESIGNS.items():
        campaign, rng = Campaign(world, seed), np.random.default_rng(seed)
        first = campaign.ask(pool)
        again = choose(first, rng)
        doubled = both(first, campaign.ask(again))
        disputes = resolve(doubled, grades=GUIDELINE.grades).disputes
        judgments = both(doubled, campaign.ask(disputes))
        with_controls = both(judgments, campaign.ask(controls, everybody=True))
        for rule in RULES:
            labels = resolve(with_controls, grades=GUIDELINE.grades, rule=rule, controls=controls).labels
            rules.append({"design": name, "n": len(judgments), "rule": rule} | beside_truth(labels, truth))
        chances = check_judgments(doubled.merge(again, on=PAIR, how="left"))
        common = {"grades": GUIDELINE.grades, "statistics": ["alpha"]}
        told: dict[str, object] = {
            "design": name,
            "alpha": agreement(doubled, **common)["value"][0],
        }
        if name != "positives":  # the others have no chance of a second judgment, so no weight mends it
            told["weighted"] = agreement(chances, **common)["value"][0]
        alphas.append(told)
    return rules, alphas


def main(n_worlds: int) -> None:
    """Print the means over worlds whose annotators answer by different seeds."""
    pool = read_pool(SAMPLE)
    rules: list[dict[str, object]] = []
    alphas: list[dict[str, object]] = []
    for seed in range(n_worlds):
        made, measured = one_world(seed, pool)
        rules += made
        alphas += measured
    by_rule = pd.DataFrame(rules).groupby(["design", "rule"], sort=False).mean()
    print(f"{len(pool):,} pairs, {n_worlds} times; second judgments of ..., disputes to a third annotator\n")
    for name in DESIGNS:
        table = by_rule.loc[name]
        print(f"{name}: {table['n'].iloc[0]:,.0f} judgments")
        print(table.drop(columns="n").round(3).to_string(), "\n")
    print("alpha of the first two judgments, and weighted by inclusion probability")
    print(pd.DataFrame(alphas).groupby("design", sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
