"""Real crowd labels (TREC 2011's crowdsourcing track) beside NIST's judgments."""

import runpy
import sys
from pathlib import Path
from types import ModuleType

import krippendorff
import numpy as np
import pandas as pd
import pytest
from small_judgments import krippendorff_alpha

from examples import load_script
from fire_toolkit.agreement.annotators import leave_one_out
from fire_toolkit.resolution.resolve import resolve

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "trec2011_crowd.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_script(EXAMPLE)


def test_alpha_is_that_of_the_package_on_the_raw_file(example: ModuleType, trec2011_crowd: Path) -> None:
    raw = pd.read_csv(trec2011_crowd / "trec11_vuurens.labels.csv", dtype={"worker": "str"})
    counts = raw.groupby("task")["label"].value_counts().unstack(fill_value=0).to_numpy(dtype=np.int64)
    paired = counts[counts.sum(axis=1) >= 2]
    expected = krippendorff.alpha(value_counts=paired, level_of_measurement="nominal")
    judgments, _ = example.read(trec2011_crowd)
    found = krippendorff_alpha(judgments)
    assert expected == pytest.approx(found.value, abs=1e-12)
    assert (len(raw), found.n_annotators, found.n_units) == (17_395, 445, 2_165)


def test_majority_is_that_of_the_raw_file(example: ModuleType, trec2011_crowd: Path) -> None:
    raw = pd.read_csv(trec2011_crowd / "trec11_vuurens.labels.csv")
    gold = pd.read_csv(trec2011_crowd / "trec11_vuurens.gold.csv").set_index("task")["gold"] > 0
    share = raw.groupby("task")["label"].mean()
    decided = share[(share != 0.5) & share.index.isin(gold.index)]
    n_right = int(((decided > 0.5) == gold[decided.index]).sum())
    judgments, known = example.read(trec2011_crowd)
    labels = resolve(judgments, grades=example.GRADES, rule="majority").labels
    both = labels.merge(known, on=["query_id", "doc_id"], suffixes=("", "_known"))
    assert len(known) == 290
    assert (len(decided), n_right) == (len(both), int((both["label"] == both["label_known"]).sum()))


def test_alpha_without_a_worker_is_alpha_of_the_others(example: ModuleType, trec2011_crowd: Path) -> None:
    judgments, _ = example.read(trec2011_crowd)
    left = leave_one_out(judgments, grades=example.GRADES).set_index("annotator_id")
    for worker in ("w363", "w345", left.index[7]):
        others = judgments[judgments["annotator_id"] != worker]
        expected = krippendorff_alpha(others, grades=example.GRADES).value
        assert expected == pytest.approx(left.loc[worker, "value"], abs=1e-9)


def test_the_example_prints_agreement_annotators_and_rules(
    trec2011_crowd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(trec2011_crowd)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    for words in (
        "alpha                0.166 [0.1",
        "Alpha without one of 445 workers",
        "majority             197 of 279 (0.706)",
        "dawid-skene          194 of 279 (0.695)",
    ):
        assert words in printed


def test_the_model_gives_what_crowd_kit_gives(example: ModuleType, trec2011_crowd: Path) -> None:
    # crowd-kit 1.4.2 in benchmarks/agreement.py: DawidSkene(n_iter=200, tol=1e-9) is right on 194 of the 279
    # known pairs without tied votes.
    judgments, known = example.read(trec2011_crowd)
    labels = resolve(judgments, grades=example.GRADES, rule="dawid-skene").labels
    both = labels.merge(known, on=["query_id", "doc_id"], suffixes=("", "_known"))
    assert (len(both), int((both["label"] == both["label_known"]).sum())) == (279, 194)
