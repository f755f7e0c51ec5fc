"""Where smaller values of a measure are better, the run with the smaller one is ahead, everywhere."""

import pandas as pd
import pytest

from fire_toolkit.inference.leave_out import leave_out
from fire_toolkit.inference.orders import compare_orders
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.reporting.paper import saturation
from fire_toolkit.results import bold
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.drawn import score_cells
from fire_toolkit.tables import Qrels, Run, check_pool_sources, check_qrels

RANKS = {"first": 1, "second": 2, "third": 3}  # of the only positive in each query


@pytest.fixture
def world() -> tuple[Run, Qrels]:
    rows = []
    for run_id, rank in RANKS.items():
        docs = ["x", "y"]
        docs.insert(rank - 1, "good")
        rows += [(run_id, q, doc, -float(at)) for q in ("q1", "q2") for at, doc in enumerate(docs)]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    return run, check_qrels(pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": "good", "relevance": 1}))


def test_tau_ap_weighs_from_the_best_run_on() -> None:
    """Rank and 1 / rank of the only positive order four runs alike."""
    docs = ["d1", "d2", "d3", "d4"]
    rows = [(run_id, "q", docs[(start + place) % 4], -float(place))
            for start, run_id in enumerate("abcd") for place in range(4)]  # fmt: skip
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    pairs = {"query_id": "q", "doc_id": ["d1", "d2"]}
    one, other = (check_qrels(pd.DataFrame(pairs | {"relevance": each})) for each in ([1, 0], [0, 1]))
    found = compare_orders(run, {"one": one, "other": other}, ["MnR", "RR"]).agreement
    sources = check_pool_sources(pd.DataFrame(pairs | {"run_id": "a", "rank": [1, 2]}))
    left = leave_out(run, one, other, ["MnR", "RR"], sources=sources).orders
    # By d1 the order is a d c b, by d2 b a d c. Of b a d c: 2/3 (0/1 + 1/2 + 2/3) - 1, by the order a d c b.
    assert found["tau_ap"].tolist() == pytest.approx([-2 / 9] * 2)
    # Of a d c b: 2/3 (1/1 + 2/2 + 0/3) - 1, by the order b a d c.
    assert left["tau_ap"].tolist() == pytest.approx([1 / 3] * 2)


def test_the_best_value_of_a_table_is_bold(world: tuple[Run, Qrels]) -> None:
    run, qrels = world
    for measure, values in (("MnR", (1.0, 2.0)), ("RR", (2.0, 1.0))):
        cells = score_cells([{"original": value} for value in values], measure)
        assert [cell.startswith(bold("")[:1]) for cell in cells] == [True, False]
    assert score_runs(run, qrels, ["MnR"]).scores["value"].tolist() == [1.0, 2.0, 3.0]


def test_saturation_is_of_measures_that_end_at_one(world: tuple[Run, Qrels]) -> None:
    run, qrels = world
    with pytest.raises(Exception, match=r"saturation of unjudged@2; expected"):
        saturation(run, qrels, qrels, ["unjudged@2"])
