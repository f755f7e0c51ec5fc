"""What the pages say of rules and designs holds in the demo's world."""

from pathlib import Path

import pandas as pd
import pytest

from examples import load_script
from fire_toolkit import read_pool

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "rules_on_the_demo.py"


@pytest.mark.slow
def test_what_the_pages_say_of_rules_and_designs_holds() -> None:
    example = load_script(EXAMPLE)
    made = example.one_world(0, read_pool(example.SAMPLE))
    rules = pd.DataFrame(made[0]).set_index(["design", "rule"])
    assert rules["right"].min() > 0.95  # every rule labels nineteen of twenty pairs right
    assert rules["n"].is_monotonic_increasing
    # Second judgments of positives buy more than as many at random, and unanimity precision with recall.
    assert rules.loc[("positives", "fire"), "F1"] > rules.loc[("15% at random", "fire"), "F1"]
    fire, unanimous = (rules.loc["all"].loc[rule] for rule in ("fire", "unanimous"))
    assert unanimous["precision"] > fire["precision"]
    assert unanimous["recall"] < fire["recall"] - 0.05
    # Weights mend the alpha of chosen pairs.
    alphas = pd.DataFrame(made[1]).set_index("design")
    truth = alphas.loc["all", "alpha"]
    assert alphas.loc["15% at random", "alpha"] == pytest.approx(truth, abs=0.05)
    assert alphas.loc["positives", "alpha"] < 0.2
    assert alphas.loc["positives + 5% at random", "alpha"] < truth - 0.05
    assert alphas.loc["positives + 5% at random", "weighted"] == pytest.approx(truth, abs=0.06)
