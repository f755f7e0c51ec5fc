"""What the pages say of rules and designs holds in the demo's world."""

from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from examples import load_script
from fire_toolkit import read_pool

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "rules_on_the_demo.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_script(EXAMPLE)


@pytest.fixture(scope="module")
def made(example: ModuleType) -> tuple[pd.DataFrame, pd.DataFrame]:
    rules, alphas = example.one_world(0, read_pool(example.SAMPLE))
    return pd.DataFrame(rules).set_index(["design", "rule"]), pd.DataFrame(alphas).set_index("design")


def test_every_rule_labels_nineteen_of_twenty_pairs_right(made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rules, _ = made
    assert rules["right"].min() > 0.95
    assert rules["n"].is_monotonic_increasing


def test_second_judgments_of_positives_buy_more_than_as_many_at_random(
    made: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    rules, _ = made
    assert rules.loc[("positives", "fire"), "F1"] > rules.loc[("15% at random", "fire"), "F1"]


def test_unanimity_buys_precision_with_recall(made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rules, _ = made
    all_twice = rules.loc["all"]
    assert all_twice.loc["unanimous", "precision"] > all_twice.loc["fire", "precision"]
    assert all_twice.loc["unanimous", "recall"] < all_twice.loc["fire", "recall"] - 0.05


def test_weights_mend_the_alpha_of_chosen_pairs(made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, alphas = made
    truth = alphas.loc["all", "alpha"]
    assert alphas.loc["15% at random", "alpha"] == pytest.approx(truth, abs=0.05)
    assert alphas.loc["positives", "alpha"] < 0.2
    assert alphas.loc["positives + 5% at random", "alpha"] < truth - 0.05
    assert alphas.loc["positives + 5% at random", "weighted"] == pytest.approx(truth, abs=0.06)
