"""Judges left out in turn, beside AUC counted pair by pair."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import fire

from fire_toolkit.errors import UsageError
from fire_toolkit.machines.check_judges import leave_judges_out
from fire_toolkit.tables import check_labels

RNG = np.random.default_rng(4)
PAIRS = pd.DataFrame(
    {"query_id": [f"q{n % 30}" for n in range(240)], "doc_id": [f"d{n}" for n in range(240)]}
)
Y = (RNG.random(240) < 0.4).astype(int)
LABELS = check_labels(PAIRS.assign(label="x", relevance=Y))
NOISE = {"good": 0.6, "fair": 1.2, "weak": 5.0}
SCORES = {name: PAIRS.assign(score=Y + noise * RNG.normal(size=240)) for name, noise in NOISE.items()}


def counted(score: np.ndarray) -> float:
    above = score[Y == 1][:, None] - score[Y == 0][None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def test_each_row_is_the_auc_of_the_mean_rank() -> None:
    found = leave_judges_out(SCORES, LABELS, n_resamples=200).set_index("judges")
    ranks = {name: own["score"].rank().to_numpy() for name, own in SCORES.items()}
    assert found.loc["all", "auc"] == pytest.approx(counted(sum(ranks.values())))  # type: ignore[arg-type]
    assert found.loc["without weak", "auc"] == pytest.approx(counted(ranks["good"] + ranks["fair"]))
    assert found.loc["fair alone", "auc"] == pytest.approx(counted(ranks["fair"]))
    assert found.loc["without weak", "change"] > 0 > found.loc["without good", "change_high"]
    assert (found["low"] <= found["auc"]).all()
    assert (found["auc"] <= found["high"]).all()
    assert found.loc["all", ["change", "change_low", "change_high"]].tolist() == [0, 0, 0]


def test_only_pairs_that_all_answered_count_and_few_are_refused() -> None:
    gaps = SCORES | {"fair": SCORES["fair"].assign(score=lambda t: t["score"].where(t.index < 150))}
    assert set(leave_judges_out(gaps, LABELS, n_resamples=20)["n_pairs"]) == {150}
    with pytest.raises(UsageError, match="150 labelled pairs that the judge answered, fewer than 200"):
        leave_judges_out(gaps, LABELS, least=200)
    with pytest.raises(UsageError, match="leaving one out needs two or more"):
        leave_judges_out({"good": SCORES["good"]}, LABELS)


def test_the_command_takes_all_judges_of_the_workspace(folder: Path) -> None:
    (folder / "pool.csv").unlink()
    fire("init", ".")
    LABELS.to_csv("labels.csv", index=False)
    for name, own in SCORES.items():
        own.to_csv(f"{name}.csv", index=False)
        fire("machine", "import", f"{name}.csv")
    shown = fire("machine", "check", "--labels", "labels.csv", "--show", "judges", "--out", "out.csv")
    rows = [line.split()[:2] for line in shown.stdout.splitlines()[2:]]
    assert rows[:3] == [["all", "240"], ["without", "fair"], ["fair", "alone"]]
    expected = leave_judges_out({name: SCORES[name] for name in sorted(SCORES)}, LABELS)
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), expected)
    assert "leave JUDGE out" in fire("machine", "check", "good", "--show", "judges", code=1).stderr
