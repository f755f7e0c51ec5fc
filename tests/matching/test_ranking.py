"""One ordering rule: score descending, then doc id descending."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.errors import TableError
from fire_toolkit.matching.ranking import rank_run, ranks_in_rows, split_runs, top, top_of_rows
from fire_toolkit.tables import Run

DOCS = ["007", "7", "NA", "a", "é", "日本", "q:1|x", "🙂"]
SCORES = [0.0, -0.0, 1.0, 1.0, -1e300, 1e300, 1e-300, 0.5]


def scored(pairs: list[tuple[str, str, float]], run_id: str = "m") -> pd.DataFrame:
    table = pd.DataFrame(pairs, columns=["query_id", "doc_id", "score"])
    return table.assign(run_id=run_id)


def lists(run: Run) -> dict[str, list[str]]:
    return {str(query): list(rows["doc_id"]) for query, rows in run.groupby("query_id", observed=True)}


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("pq"), st.sampled_from(DOCS)), st.sampled_from(SCORES), min_size=1
    ),
    st.randoms(),
)
def test_the_order_is_that_of_a_plain_python_sort(scores: dict[tuple[str, str], float], random: Any) -> None:
    rows = [(query, doc, score) for (query, doc), score in scores.items()]
    expected = {
        query: [
            doc
            for score, _, doc in sorted(
                ((score, doc.encode(), doc) for q, doc, score in rows if q == query), reverse=True
            )
        ]
        for query in {q for q, _, _ in rows}
    }
    random.shuffle(rows)
    run = rank_run(scored(rows))
    assert expected == lists(run)
    for _, group in run.groupby("query_id", observed=True):
        assert list(range(1, len(group) + 1)) == list(group["rank"])


def test_the_rank_that_a_file_gives_is_not_used() -> None:
    run = rank_run(scored([("q", "a", 1.0), ("q", "b", 2.0)]).assign(rank=0))
    assert lists(run) == {"q": ["b", "a"]}


def test_a_doc_twice_under_a_query_is_refused() -> None:
    with pytest.raises(TableError, match="given twice"):
        rank_run(scored([("q", "a", 1.0), ("q", "a", 2.0)]))


def test_top_keeps_the_first_ranks() -> None:
    run = rank_run(scored([("q", doc, float(n)) for n, doc in enumerate("abcd")]))
    assert lists(top(run, 2)) == {"q": ["d", "c"]}


def test_a_table_of_several_runs_is_split_in_order_and_a_name_twice_refused() -> None:
    one, two = rank_run(scored([("q", "a", 1.0)], "z")), rank_run(scored([("q", "a", 1.0)], "b"))
    assert list(split_runs([one, two])) == ["z", "b"]
    both = Run(pd.concat([one.astype({"run_id": "str"}), two.astype({"run_id": "str"})]))
    assert list(split_runs(rank_run(both))) == ["b", "z"]
    with pytest.raises(TableError, match="run 'b' is given twice"):
        split_runs([two, two])


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float16, np.float64]))
def test_the_top_of_a_matrix_is_that_of_a_full_sort(depth: int, seed: int, dtype: Any) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-2, 2, size=(4, 6)).astype(dtype)
    scores[scores == 0] = random.choice([0.0, -0.0], (scores == 0).sum())
    tie_codes = random.permutation(6).astype(np.int64)
    rows, columns = top_of_rows(scores, depth, tie_codes)
    expected = [
        (row, column)
        for row in range(4)
        for column in sorted(range(6), key=lambda c: (-scores[row, c], -tie_codes[c]))[:depth]
    ]
    assert expected == list(zip(rows.tolist(), columns.tolist(), strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [7, 32, 90])
@pytest.mark.parametrize("n_values", [3, 40, 10**6])
@pytest.mark.parametrize("n_cells", [30, 200])  # of few cells rows are compared, of many sorted
def test_ranks_in_rows_are_places_in_the_sorted_row(
    n_cells: int, n_values: int, n_columns: int, dtype: Any
) -> None:
    rng = np.random.default_rng(n_values)
    scores, codes = rng.integers(0, n_values, (40, n_columns)).astype(dtype), rng.permutation(n_columns)
    scores[scores == 0] = rng.choice([0.0, -0.0, -np.inf], (scores == 0).sum())
    rows, columns = rng.integers(0, 40, n_cells), rng.integers(0, n_columns, n_cells)
    cells = list(zip(rows, columns, strict=True))
    in_order = [np.lexsort([-codes, -scores[row]]).tolist() for row in range(40)]
    rank, n_equal = ranks_in_rows(scores, rows, columns, codes)
    assert [in_order[row].index(column) + 1 for row, column in cells] == list(rank)
    assert [(scores[row] == scores[row, column]).sum() for row, column in cells] == list(n_equal)
