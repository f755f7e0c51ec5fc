"""A machine judge's claims against the truth, in the demo's world: its answers, its order, its estimates.

The judge sees the pixels of the clips (demo_judge.py, beside this file). People's answers are the truth here,
so that every error below is the judge's or the draw's. Needs no network and writes nothing.

    python examples/machine_on_the_demo.py [LABELS]
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
from demo_judge import BACKBONE, JUDGE, judge_clips

from fire_toolkit.demo.film import render_clip
from fire_toolkit.demo.models import score_clips
from fire_toolkit.demo.world import World, make_world
from fire_toolkit.inference.background import Background, Design
from fire_toolkit.inference.honest import scores_with_uncertainty
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Labels, Run, check_labels

PAIR = ["query_id", "doc_id"]
PER_QUERY, DEPTH, MEASURE = 5, 10, "P@10"
LABELS = 300


class Demo(NamedTuple):
    """The world, its five runs, and the judge's score of every pair."""

    world: World
    runs: list[Run]
    machine: pd.DataFrame


def make_demo() -> Demo:
    """Return the demo's world as the models and the judge see it."""
    world = make_world()
    frames = [render_clip(clip) for clip in world.clips]
    texts, ids = world.queries["text"].tolist(), [clip.doc_id for clip in world.clips]
    own = [ids.index(doc_id) for doc_id in world.original["doc_id"]]
    runs = [
        rank_run(_long(world, ids, scores).assign(run_id=name))
        for name, scores in score_clips(texts, frames, own).items()
    ]
    captions = dict(zip(world.queries["query_id"], texts, strict=True))
    return Demo(world, runs, judge_clips(captions, dict(zip(ids, frames, strict=True))))


def _long(world: World, ids: list[str], scores: np.ndarray) -> pd.DataFrame:
    table = pd.DataFrame(scores, index=world.queries["query_id"], columns=pd.Index(ids, name="doc_id"))
    return table.stack().rename("score").reset_index()


def answers(demo: Demo) -> pd.DataFrame:
    """Return by score how often the judge's yes is right, and its AUC below."""
    pairs = demo.world.pairs.merge(demo.machine[[*PAIR, "score"]])
    place = np.minimum((pairs["score"] * 5).astype(int), 4)
    by_score = pairs.groupby(place).agg(
        pairs=("score", "size"), judge=("score", "mean"), truth=("relevance", "mean")
    )
    ranks, n = pairs["score"].rank(), int(pairs["relevance"].sum())
    above = ranks[pairs["relevance"] == 1].sum() - n * (n + 1) / 2
    by_score.attrs["AUC"] = float(above / n / (len(pairs) - n))
    return by_score


def found_by_order(demo: Demo) -> dict[str, int]:
    """Return how many positives each order of the queue finds at five pairs a query."""
    found = {}
    for strategy in ("rrf", f"machine(judge={JUDGE},fusion=0)", f"machine(judge={JUDGE})"):
        pool = pool_runs(
            demo.runs, depth=DEPTH, strategy=strategy, per_query=PER_QUERY, machine=demo.machine
        ).pool
        found[strategy] = len(pool.merge(demo.world.truth[PAIR]))
    return found


def estimates(demo: Demo, n_labels: int, seed: int) -> pd.DataFrame:
    """Return each run's estimate from so many labels, with its interval, and the truth."""
    strategy = f"machine(judge={JUDGE},random={n_labels})"
    given = {"originals": demo.world.original, "machine": demo.machine, "seed": seed}
    sample = pool_runs(demo.runs, depth=DEPTH, strategy=strategy, **given).machine_sample
    assert sample is not None
    scores = scores_with_uncertainty(
        demo.runs,
        demo.world.original,
        people(demo.world, sample[sample["is_drawn"]]),
        [MEASURE],
        Background(design=Design(sample, None, sample)),
    ).scores
    true = score_runs(demo.runs, demo.world.truth, [MEASURE]).scores.set_index("run_id")["value"]
    columns = ["run_id", "original", "estimate", "estimate_low", "estimate_high"]
    return scores[columns].assign(truth=scores["run_id"].map(true))


def people(world: World, pairs: pd.DataFrame) -> Labels:
    """Return people's labels of pairs: the truth."""
    return check_labels(pairs[PAIR].merge(world.pairs[[*PAIR, "relevance"]]).assign(label="x"))


def main() -> None:
    n_labels = int(sys.argv[1]) if len(sys.argv) > 1 else LABELS
    demo = make_demo()
    by_score = answers(demo)
    print(
        f"judge {JUDGE} (backbone {BACKBONE}, which no model of the demo has): {len(demo.machine):,} answers"
    )
    print(f"\nIts answers: AUC {by_score.attrs['AUC']:.3f}; mean P(yes) and share of positives by score\n")
    print(by_score.to_string(index=False, float_format="{:.3f}".format))
    print(f"\nIts order: positives found at {PER_QUERY} pairs a query\n")
    for strategy, n in found_by_order(demo).items():
        print(f"{n:6,} {strategy}")
    print(f"\nIts estimates of {MEASURE} from {n_labels} labels, by the bootstrap over queries\n")
    print(estimates(demo, n_labels, seed=0).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
