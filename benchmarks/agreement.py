"""Agreement and Dawid-Skene at the size of the FIRE paper's labels; print times, ratios and memory.

681,000 labels by 100 annotators on 579,000 pairs, 102,000 of them judged twice. Peers: index resampling
with the package krippendorff, and crowd-kit, if a Python that has it is named (with pandas and
scikit-learn; its text models are not needed). With --rules and the folder of TREC 2011's crowd labels, how
often crowd-kit's models and ours are right where NIST judged. agreement_coverage.py tells how often intervals
hold.

Usage: python benchmarks/agreement.py [--rules TREC2011_CROWD_FOLDER] [CROWDKIT_PYTHON]
"""

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd

from fire_toolkit.agreement.annotators import annotator_profiles, leave_one_out
from fire_toolkit.agreement.intervals import N_RESAMPLES, interval_of
from fire_toolkit.agreement.table import agreement
from fire_toolkit.resolution.dawid_skene import fit
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.votes import Votes, code_votes
from fire_toolkit.tables import Judgments, check_judgments

N_PAIRS, N_DOUBLED, N_ANNOTATORS = 579_000, 102_000, 100
GRADES = {"irrelevant": 0, "relevant": 1}

# Reads a table of votes, and prints the seconds of 2 and of 22 iterations of crowd-kit's Dawid-Skene.
CROWDKIT = """
import importlib.util, pathlib, sys, time, types
import pandas as pd
root = pathlib.Path(importlib.util.find_spec("crowdkit").submodule_search_locations[0])
for name in ("crowdkit", "crowdkit.aggregation", "crowdkit.aggregation.classification"):
    module = types.ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = module
from crowdkit.aggregation.classification.dawid_skene import DawidSkene
votes = pd.read_csv(sys.argv[1])
for n in (2, 22):
    start = time.process_time()
    DawidSkene(n_iter=n, tol=-1).fit(votes)
    print(time.process_time() - start)
"""


# Prints of each of crowd-kit's models how many of the known pairs without tied votes it labels right.
CROWDKIT_RULES = """
import importlib.util, pathlib, sys, types
from importlib import import_module
import pandas as pd
root = pathlib.Path(importlib.util.find_spec("crowdkit").submodule_search_locations[0])
for name in ("crowdkit", "crowdkit.aggregation", "crowdkit.aggregation.classification"):
    module = types.ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = module
folder = pathlib.Path(sys.argv[1])
votes = pd.read_csv(folder / "trec11_vuurens.labels.csv", dtype={"worker": str})[["task", "worker", "label"]]
gold = pd.read_csv(folder / "trec11_vuurens.gold.csv").set_index("task")["gold"] > 0
share = votes.groupby("task")["label"].mean()
gold = gold[gold.index.isin(share[share != 0.5].index)].astype(int)
for module, name, options in (
    ("majority_vote", "MajorityVote", {}),
    ("dawid_skene", "DawidSkene", {"n_iter": 200, "tol": 1e-9}),
    ("mace", "MACE", {"random_state": 0}),
    ("mace", "MACE", {"random_state": 0, "method": "em"}),
    ("glad", "GLAD", {"silent": True}),
):
    model = getattr(import_module("crowdkit.aggregation.classification." + module), name)(**options)
    labels = model.fit(votes).labels_.astype(int)
    right = int((labels[gold.index] == gold).sum())
    print(f"  crowd-kit {name} {options}: {right} of {len(gold)}, {labels.mean():.3f} positive")
"""


def made_up_judgments() -> Judgments:
    """Votes of annotators who differ in how often they are wrong and which way; 12.8% are positive."""
    rng = np.random.default_rng(0)
    truth = rng.random(N_PAIRS) < 0.128
    first = rng.integers(N_ANNOTATORS, size=N_PAIRS)
    doubled = rng.choice(N_PAIRS, size=N_DOUBLED, replace=False)
    second = (first[doubled] + rng.integers(1, N_ANNOTATORS, size=N_DOUBLED)) % N_ANNOTATORS
    pair, annotator = np.concatenate([np.arange(N_PAIRS), doubled]), np.concatenate([first, second])
    misses, alarms = rng.uniform(0.05, 0.3, N_ANNOTATORS), rng.uniform(0.005, 0.04, N_ANNOTATORS)
    wrong = rng.random(len(pair)) < np.where(truth[pair], misses[annotator], alarms[annotator])
    columns = {
        "query_id": np.char.add("q", (pair // 20).astype(str)),
        "doc_id": np.char.add("video", (pair % 20 + pair // 20 % 900).astype(str)),
        "annotator_id": np.char.add("a", annotator.astype(str)),
        "label": np.where(truth[pair] ^ wrong, "relevant", "irrelevant"),
    }
    return check_judgments(pd.DataFrame(columns))


def timed(name: str, work: Callable[[], Any]) -> tuple[Any, float]:
    """Do `work` twice for its CPU time (the better), then for the memory it takes beyond its input."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        done = work()
        seconds.append(time.process_time() - start)
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"{name:<58} {min(seconds):8.3f} s   {peak:6.0f} MB")
    return done, min(seconds)


def index_resampling(counts: np.ndarray, n: int) -> float:
    """Return the seconds of one resample of pairs by index, alpha by the package."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    for _ in range(n):
        drawn = counts[rng.integers(len(counts), size=len(counts))]
        krippendorff.alpha(value_counts=drawn, level_of_measurement="nominal")
    return (time.process_time() - start) / n


def measure_agreement(judgments: Judgments, votes: Votes) -> None:
    """Print alpha, intervals, leave-one-out and profiles."""
    timed("ids to codes", lambda: code_votes(judgments, grades=GRADES))
    timed(
        "alpha, by the package, with ids to codes",
        lambda: agreement(judgments, grades=GRADES, statistics=["alpha"]),
    )
    interval, seconds = timed(
        "alpha with 10,000 resamples of pairs, from codes",
        lambda: interval_of(fresh(votes), "alpha", N_RESAMPLES),
    )
    timed("the same with ids to codes", lambda: alpha(judgments, N_RESAMPLES))
    timed(
        "the same, 29,000 captions drawn whole, 1,000 resamples",
        lambda: alpha(judgments, 1000, cluster="query_id"),
    )
    interval_of(votes, "alpha", N_RESAMPLES)
    _, counted = timed("  the same, once pairs are counted", lambda: interval_of(votes, "alpha", N_RESAMPLES))
    once = index_resampling(votes.counts, 5)
    print(f"  alpha {interval.value:.4f} [{interval.low:.4f}, {interval.high:.4f}]")
    print(f"  resampling counted pairs by index with the package: {1000 * once:.0f} ms each,")
    alone, whole = once * 10_000 / counted, once * 10_000 / seconds
    print(f"  {alone:,.0f} times as long as resampling here, {whole:,.0f} times as long as counting too")
    timed("alpha without each annotator", lambda: leave_one_out(judgments, grades=GRADES))
    timed("profiles of 100 annotators", lambda: annotator_profiles(judgments, grades=GRADES))


def alpha(judgments: Judgments, n_resamples: int, cluster: str | None = None) -> Any:
    """Return alpha with its interval, from ids."""
    how = {"statistics": ["alpha"], "n_resamples": n_resamples, "cluster": cluster}
    return agreement(judgments, grades=GRADES, **how)


def fresh(votes: Votes) -> Votes:
    """Return the same votes with nothing counted yet."""
    return votes.select(slice(None))  # type: ignore[arg-type]


def measure_dawid_skene(judgments: Judgments, votes: Votes, python: str | None) -> None:
    """Print Dawid-Skene to convergence, and the time of an iteration beside crowd-kit's."""

    def fitted(n: int, tolerance: float = -1.0) -> Any:
        unknown = np.full(votes.pair.max() + 1, -1)
        options = {"truth": unknown, "n_labels": 2, "max_iterations": n, "tolerance": tolerance}
        return fit(votes.pair, votes.annotator, votes.label, **options)  # type: ignore[arg-type]

    model, _ = timed("Dawid-Skene to convergence, from codes", lambda: fitted(500, 1e-7))
    timed("resolve --rule dawid-skene", lambda: resolve(judgments, grades=GRADES, rule="dawid-skene"))
    _, two = timed("  2 iterations", lambda: fitted(2))
    _, many = timed("  42 iterations", lambda: fitted(42))
    own = (many - two) / 40
    print(f"  {len(model.log_likelihoods)} iterations to convergence, {1000 * own:.1f} ms each")
    if python is None:
        print("  crowd-kit was not named, so it is not compared")
        return
    table = {"task": votes.pair, "worker": votes.annotator, "label": votes.label}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        pd.DataFrame(table).to_csv(path, index=False)
        command = [python, "-W", "ignore", "-c", CROWDKIT, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    few, most = map(float, done.stdout.split())
    peer = (most - few) / 20
    print(f"  crowd-kit: {1000 * peer:.1f} ms an iteration, {peer / own:.1f} times as long")


def measure_rules(folder: Path, python: str | None) -> None:
    """Print how often each rule, and each of crowd-kit's models, is right where NIST judged."""
    print("Labels of crowd workers beside NIST's, pairs without tied votes", flush=True)
    example = Path(__file__).resolve().parent.parent / "examples" / "trec2011_crowd.py"
    subprocess.run([sys.executable, example, folder], check=True)
    if python is not None:
        subprocess.run([python, "-W", "ignore", "-c", CROWDKIT_RULES, folder], check=True)


def main() -> None:
    """Measure."""
    words = sys.argv[1:]
    if "--rules" in words:
        place = words.index("--rules")
        folder = Path(words[place + 1])
        del words[place : place + 2]
        measure_rules(folder, words[-1] if words and not words[-1].startswith("--") else None)
    judgments = made_up_judgments()
    votes = code_votes(judgments, grades=GRADES)
    n_pairs = len(votes.pairs)
    print(f"{len(judgments):,} labels, {n_pairs:,} pairs, {len(votes.counts):,} judged twice")
    measure_agreement(judgments, votes)
    measure_dawid_skene(judgments, votes, words[0] if words else None)


if __name__ == "__main__":
    main()
