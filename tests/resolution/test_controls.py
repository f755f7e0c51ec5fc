import numpy as np
import pandas as pd
import pytest
from small_judgments import judged_docs as judged

from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.tables import check_judgments

GRADES = {"n": 0, "y": 1, "?": None}


def known(**labels: str) -> pd.DataFrame:
    return pd.DataFrame({"query_id": "q", "doc_id": list(labels), "label": list(labels.values())})


def test_fewer_than_two_controls_say_nothing() -> None:
    judgments = judged({"one": "yyn", "two": "nny"})
    assert resolve(judgments, grades=GRADES).on_controls is None
    full = resolve(judgments, grades=GRADES, controls=known(one="y", four="n"))
    assert full.on_controls is None


def test_each_control_is_judged_as_by_resolving_without_its_part() -> None:
    draw = np.random.default_rng(6)
    truth = draw.random(120) < 0.3
    error = np.array([0.05, 0.2, 0.4])
    given = truth[:, None] ^ (draw.random((120, 3)) < error)
    answers = {f"d{n:03d}": "".join("ny"[int(v)] for v in row) for n, row in enumerate(given)}
    controls = known(**{f"d{n:03d}": "ny"[int(truth[n])] for n in range(23)})
    expected = 0
    for part in range(5):
        hidden = controls.iloc[part::5]
        told = controls.drop(index=hidden.index)
        full = resolve(judged(answers), grades=GRADES, rule="dawid-skene", controls=told)
        both = full.labels.merge(hidden, on=["query_id", "doc_id"], suffixes=("", "_known"))
        expected += int((both["label"] == both["label_known"]).sum())
    found = resolve(judged(answers), grades=GRADES, rule="dawid-skene", controls=controls).on_controls
    assert found is not None
    assert found["n_right"] == expected


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_be_measured(rule: str) -> None:
    judgments = check_judgments(judged({f"d{n}": "yyy" for n in range(6)}).assign(round=1))
    controls = known(**{f"d{n}": "y" for n in range(4)})
    found = resolve(judgments, grades=GRADES, rule=rule, controls=controls).on_controls
    assert found is not None
    assert (found["n_controls"], found["n_labelled"], found["n_right"], found["majority_right"]) == (
        4,
        4,
        4,
        4,
    )


def test_controls_with_the_first_label_count_as_any_other() -> None:
    """The first label has the code 0, and a pair without a known label the code -1."""
    answers = {f"d{n}": "nn" if n % 2 else "ny" for n in range(8)} | {"last": "yy", "tied": "yn"}
    controls = known(**{f"d{n}": "n" for n in range(8)}, tied="n")
    full = resolve(judged(answers), grades=GRADES, rule="dawid-skene", controls=controls)
    assert full.on_controls is not None
    assert full.on_controls["n_controls"] == 9
    labels = full.labels.set_index("doc_id")["label"]
    # the second annotator is right on half of the controls, so the first decides
    assert [labels[f"d{n}"] for n in range(8)] == ["n"] * 8
    assert labels["tied"] == "n"  # a model keeps what it is told
