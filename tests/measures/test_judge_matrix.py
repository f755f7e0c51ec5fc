"""A matrix is joined with qrels as the run of all its cells is."""

import numpy as np
import pandas as pd
import pytest
from small_world import judge_matrix

from examples import seeds
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import code_qrels, judge_run
from fire_toolkit.tables import check_qrels

QUERIES, DOCS = [f"q{row}" for row in range(12)], [f"d{column}" for column in range(30)]


@pytest.mark.parametrize("seed", seeds(5))
def test_it_equals_the_join_of_the_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (12, 30)).astype(np.float32)  # most docs are tied
    pairs = pd.DataFrame(
        {"query_id": rng.choice([*QUERIES, "other"], 60), "doc_id": rng.choice([*DOCS, "x"], 60)}
    )
    qrels = check_qrels(pairs.drop_duplicates().assign(relevance=lambda t: rng.integers(-1, 3, len(t))))
    cells = [("m", q, d, scores[i, j]) for i, q in enumerate(QUERIES) for j, d in enumerate(DOCS)]
    run = rank_run(pd.DataFrame(cells, columns=["run_id", "query_id", "doc_id", "score"]))
    coded = code_qrels(qrels)
    expected = judge_run(run, coded)
    found = judge_matrix(scores, coded, query_ids=QUERIES, doc_ids=DOCS)
    assert expected.query.size > 5
    for name in vars(expected):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
