"""Original and augmented labels read a run equally deep, whichever way it came."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import Result
from command import Fire, rows

from examples import some

Positives = list[set[int]]
N_QUERIES, N_DOCS = 30, 200
BOTH = ("--qrels", "original.txt", "--augmented", "augmented.txt")
MEASURES = ("AP", "nDCG", "MnR", "MedR", "Rprec", "C@5", "R@5", "AP@5")


class World:
    """A matrix, its original positives and the new ones, as files in the working folder."""

    def __init__(self) -> None:
        rng = np.random.default_rng(30)
        self.scores = rng.normal(size=(N_QUERIES, N_DOCS))  # without a tie
        self.original: Positives = [set(rng.choice(N_DOCS, 2, replace=False)) for _ in range(N_QUERIES)]
        more = [set(rng.choice(N_DOCS, 3, replace=False)) for _ in range(N_QUERIES)]
        for each in (self.original, more):  # some are easy
            for query in range(0, N_QUERIES, 3):
                each[query].add(int(np.argsort(-self.scores[query])[rng.integers(6)]))
        self.augmented: Positives = [a | b for a, b in zip(self.original, more, strict=True)]
        queries, docs = [f"q{n:02}" for n in range(N_QUERIES)], [f"d{n:03}" for n in range(N_DOCS)]
        np.savez("sims.npz", sims=self.scores, query_ids=queries, doc_ids=docs)
        for name, positives in (("original.txt", self.original), ("augmented.txt", self.augmented)):
            pairs = [(n, doc) for n, own in enumerate(positives) for doc in sorted(own)]
            Path(name).write_text("".join(f"q{n:02} 0 d{doc:03} 1\n" for n, doc in pairs))

    def expected(self, positives: Positives, depth: int) -> dict[str, float]:
        """Return the scores over all queries, of rankings that end at a depth, in plain numpy."""
        found = []
        for scores, own in zip(self.scores, positives, strict=True):
            order = np.argsort(-scores)
            rank = np.sort([r for r, doc in enumerate(order[:depth], 1) if doc in own]).astype(float)
            n = len(own)
            precision = np.arange(1, len(rank) + 1) / rank
            ideal = (1 / np.log2(1 + np.arange(1, n + 1))).sum()
            first = rank[0] if len(rank) else depth + 1
            gain, top = (1 / np.log2(1 + rank)).sum() / ideal, rank <= 5
            whole = [precision.sum() / n, gain, first, first, (rank <= n).sum() / n]
            found.append([*whole, float(first <= 5), top.sum() / n, precision[top].sum() / n])
        values: npt.NDArray[np.float64] = np.array(found)
        means = values.mean(axis=0)
        means[3] = np.median(values[:, 3])
        return dict(zip(MEASURES, means, strict=True))

    def check(self, result: Result, depth: int) -> None:
        """Expect these scores of both labellings."""
        found: dict[str, dict[str, float]] = {"original": {}, "augmented": {}, "delta": {}}
        for row in rows(result):
            found[row["qrels"]][row["measure"]] = float(row["value"])
        assert found["original"] == pytest.approx(self.expected(self.original, depth))
        assert found["augmented"] == pytest.approx(self.expected(self.augmented, depth))


@pytest.fixture
def world(folder: Path) -> World:
    return World()


def scored(fire: Fire, run: object) -> Result:
    named = [part for measure in MEASURES for part in ("-m", measure)]
    return fire("score", run, *BOTH, *named, "--format", "csv")


def keep(fire: Fire, depth: int) -> Path:
    out = Path(f"top{depth}")
    fire("add-run", "sims.npz", "--qrels", "original.txt", "--depth", depth, "--out", out, "--id", "m")
    return out / "m.parquet"


def trec(world: World, depth: int) -> Path:
    """Write the top of every query as TREC text, of the matrix itself."""
    path = Path(f"top{depth}.run")
    lines = [
        f"q{query:02} Q0 d{doc:03} {rank} {float(scores[doc])!r} m\n"
        for query, scores in enumerate(world.scores)
        for rank, doc in enumerate(np.argsort(-scores)[:depth], 1)
    ]
    path.write_text("".join(lines))
    return path


def test_a_matrix_knows_every_rank(fire: Fire, world: World) -> None:
    result = scored(fire, "sims.npz")
    world.check(result, N_DOCS)
    assert "add-run --depth" not in result.stderr


@pytest.mark.parametrize("depth", some([5, N_DOCS, 100], 2))
def test_a_kept_run_and_its_trec_text_cut_both_halves_alike(fire: Fire, world: World, depth: int) -> None:
    """`--depth` is the remedy that the note names: a run kept whole is as good as its matrix."""
    kept = scored(fire, keep(fire, depth))
    world.check(kept, depth)
    world.check(scored(fire, trec(world, depth)), depth)
    assert ("add-run --depth" in kept.stderr) == (depth < N_DOCS)


def test_every_command_reads_the_same_scores(fire: Fire, world: World) -> None:
    run, other = keep(fire, 10), trec(world, 100)
    other.write_text(other.read_text().replace(" m\n", " n\n"))
    told = fire("difference", run, other, *BOTH, "-m", "AP", "--format", "csv")
    found = {row["qrels"]: row for row in rows(told)}
    for name, positives in (("original", world.original), ("augmented", world.augmented)):
        assert float(found[name]["value_a"]) == pytest.approx(world.expected(positives, 10)["AP"])
        assert float(found[name]["value_b"]) == pytest.approx(world.expected(positives, 100)["AP"])
    assert "m: rank 10, " in told.stderr
    assert "n: rank" not in told.stderr


def test_honest_scores_are_cut_as_plain_ones(fire: Fire, world: World) -> None:
    new = [(n, doc) for n, own in enumerate(world.augmented) for doc in sorted(own - world.original[n])]
    votes = "".join(f"q{query:02},d{doc:03},ann,relevant\n" for query, doc in new)
    Path("judgments.csv").write_text("query_id,doc_id,annotator_id,label\n" + votes)
    fire("resolve", "judgments.csv", "--out", "labels")
    fire("augment", "--qrels", "original.txt", "--labels", "labels", "--out", "corrected.txt")
    both = ("--qrels", "original.txt", "--augmented", "corrected.txt")
    told = fire("score", keep(fire, 10), "--honest", *both, "-m", "AP", "-m", "MnR", "--format", "csv")
    for row in rows(told):
        for name, positives in (("original", world.original), ("augmented", world.augmented)):
            assert float(row[name]) == pytest.approx(world.expected(positives, 10)[row["measure"]])
    assert "AP, MnR read original and augmented labels down to the same rank" in told.stderr
