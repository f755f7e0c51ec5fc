"""A table is what its spec says, also of its design, or an error names all that is wrong with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from brought import put, refused
from hypothesis import given
from hypothesis import strategies as st
from small_judgments import judged_docs
from small_world import made, make_qrels, make_run

from examples import cases
from fire_toolkit.agreement.table import agreement
from fire_toolkit.errors import FileNote, TableError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import read_query_design
from fire_toolkit.formats.written import delimited_text
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.machines.scores import one_answer_per_pair
from fire_toolkit.tables import (
    AGREEMENT,
    COMPARISONS,
    check_judgments,
    check_machine_judgments,
    check_pool,
    check_qrels,
    check_query_design,
    check_run,
    columns,
)
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.ids import is_id
from fire_toolkit.tables.specs import Column, TableSpec

HARD_IDS = ["007", "NA", "null", "q:1|x", "é", "日本", "1e5", "-0", "True", "a,b", '"q"', "🙂"]
SPEC = TableSpec(
    "things",
    (
        Column("doc_id", "id"),
        Column("n", "int", minimum=0),
        Column("share", "float", optional=True, missing=True, default=np.nan),
        Column("ok", "bool", optional=True, missing=True, default=pd.NA),
    ),
    ("doc_id",),
)


def test_ids_are_kept_to_the_letter_and_rows_ordered_by_code_point() -> None:
    table = check_table(SPEC, pd.DataFrame({"doc_id": HARD_IDS, "n": 1}))
    assert sorted(HARD_IDS) == list(table["doc_id"])
    table = check_table(SPEC, pd.DataFrame({"doc_id": ["é", "a", "Z", "🙂", "日"], "n": 1}))
    assert list(table["doc_id"]) == ["Z", "a", "é", "日", "🙂"]


@given(st.permutations(HARD_IDS))
def test_row_order_is_irrelevant(ids: list[str]) -> None:
    one = check_table(SPEC, pd.DataFrame({"doc_id": ids, "n": [len(i) for i in ids]}))
    two = check_table(SPEC, pd.DataFrame({"doc_id": HARD_IDS, "n": [len(i) for i in HARD_IDS]}))
    pd.testing.assert_frame_equal(one, two)


def test_text_from_a_file_becomes_numbers_and_booleans() -> None:
    table = pd.DataFrame({"doc_id": ["a", "b"], "n": ["1", "2"], "share": ["", "0.5"], "ok": ["True", ""]})
    before = table.copy(deep=True)
    checked = check_table(SPEC, table)
    pd.testing.assert_frame_equal(table, before)
    assert list(checked["n"]) == [1, 2]
    assert checked["share"].isna().tolist() == [True, False]
    assert checked["ok"].isna().tolist() == [False, True]
    assert checked.dtypes.astype(str).tolist() == ["str", "int64", "float64", "boolean"]


def test_an_empty_table_is_valid_and_typed() -> None:
    checked = check_table(SPEC, pd.DataFrame({"doc_id": [], "n": []}))
    assert len(checked) == 0
    assert checked.dtypes.astype(str).tolist() == ["str", "int64", "float64", "boolean"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"n": [1]}, "things: no column doc_id; found n; expected doc_id, n, share, ok"),
        ({"doc_id": [7], "n": [1]}, "doc_id is not text in UTF-8 (1 of 1; row 1: 7)"),
        ({"doc_id": [None], "n": [1]}, "doc_id is missing"),
        ({"doc_id": [""], "n": [1]}, "doc_id is empty or holds white space"),
        ({"doc_id": [" ab"], "n": [1]}, "doc_id is empty or holds white space ... row 1: ' ab'"),
        ({"doc_id": ["a\u00a0b"], "n": [1]}, "white space"),
        ({"doc_id": ["a", "a"], "n": [1, 2]}, "doc_id given twice (1 row; a)"),
        ({"doc_id": ["a"], "n": ["x"]}, "n is not a number (1 of 1; row 1: 'x')"),
        ({"doc_id": ["a"], "n": [1.5]}, "n is not a whole number"),
        ({"doc_id": ["a"], "n": ["1" * 25]}, f"n is too large a number (1 of 1; row 1: '{'1' * 25}')"),
        ({"doc_id": ["a"], "n": ["-" + "1" * 25]}, "n is below 0 ... n is too large a number"),
        ({"doc_id": ["a"], "n": [10**25]}, "n is too large a number"),
        ({"doc_id": ["a"], "n": ["1" * 400]}, "n is too large a number ... … (402 characters)"),
        ({"doc_id": ["a"], "n": [10**400]}, "n is too large a number ... … (401 characters)"),
        ({"doc_id": ["a"], "n": [2**63]}, "n is too large a number"),
        ({"doc_id": ["a", "b"], "n": ["1.0", str(2**53 + 1)]}, "n is too large a number (1 of 2; row 2"),
        ({"doc_id": ["a"], "n": [-1]}, "n is below 0"),
        ({"doc_id": ["a"], "n": [np.nan]}, "n is missing"),
        ({"doc_id": ["a"], "n": [1], "ok": ["perhaps"]}, "ok is neither True nor False"),
    ],
)
def test_what_is_wrong_is_said_with_row_and_value(table: dict[str, list[object]], message: str) -> None:
    refused(message, check_table, SPEC, pd.DataFrame(table), by=TableError)


def test_two_columns_of_one_name_are_refused() -> None:
    table = pd.DataFrame([["a", 1, 2]], columns=["doc_id", "n", "n"])
    refused("things: several columns are called n, expected one", check_table, SPEC, table, by=TableError)


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python", na_value=np.nan)])
def test_text_that_utf8_cannot_carry_is_refused(dtype: Any) -> None:
    table = pd.DataFrame({"doc_id": pd.Series(["b", "a\ud800"], dtype=dtype), "n": [1, 2]})
    said = r"doc_id is not text in UTF-8 (1 of 2; row 2: 'a\ud800')"
    refused(said, check_table, SPEC, table, by=TableError)


@pytest.mark.parametrize("dtype", [object, "str", pd.StringDtype("python", na_value=np.nan), "string"])
def test_however_text_is_held_the_table_is_the_same(dtype: Any) -> None:
    texts = [pd.Series(ids, dtype=dtype) for ids in (HARD_IDS, ["zz", "ü"])]
    spec = TableSpec("things", (Column("doc_id", "id"), Column("note", "text", missing=True)), ("doc_id",))
    table = pd.DataFrame({"doc_id": pd.concat(texts, ignore_index=True)})  # in two chunks
    checked = check_table(spec, table.assign(note=table["doc_id"].where(table["doc_id"] != "zz")))
    assert checked["doc_id"].tolist() == sorted([*HARD_IDS, "zz", "ü"])
    assert checked["note"].tolist() == ["" if doc_id == "zz" else doc_id for doc_id in checked["doc_id"]]
    assert checked.dtypes.tolist() == [pd.StringDtype(na_value=np.nan)] * 2


def test_whole_numbers_are_kept_to_the_digit_as_far_as_64_bits_go() -> None:
    numbers = [2**53 + 1, 2**62, 7]
    checked = check_table(SPEC, pd.DataFrame({"doc_id": ["a", "b", "c"], "n": list(map(str, numbers))}))
    assert checked["n"].tolist() == numbers


def test_all_failures_stand_in_one_line() -> None:
    table = pd.DataFrame({"doc_id": [" ab", "c"], "n": [-1, 0.5]})
    said = "pools/x.csv: doc_id ... n is below 0 ... n is not a whole number"
    refused(said, check_table, SPEC, table, where="pools/x.csv", by=TableError)


def test_run_ids_become_codes_whose_order_is_the_order_of_ids() -> None:
    ids = {"query_id": HARD_IDS, "doc_id": HARD_IDS[::-1]}
    run = check_run(pd.DataFrame(ids | {"run_id": "m", "rank": 1, "score": 0.5}))
    for name in ("query_id", "doc_id"):
        assert sorted(HARD_IDS) == list(run[name].cat.categories)
    assert sorted(HARD_IDS) == list(run["query_id"].astype("str"))


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_a_run_takes_finite_scores_only(score: float) -> None:
    row, columns = ("m", "q", "d", 1, score), "run_id query_id doc_id rank score"
    refused("score is not finite", made, check_run, columns, row, by=TableError)


def test_optional_columns_are_filled_and_further_ones_kept_where_the_spec_says_so() -> None:
    pool = made(check_pool, "query_id doc_id other", ("q", "d", 1))
    own = ["query_id", "doc_id", "best_rank", "n_runs", "is_original", "round"]
    assert list(pool.columns) == [*own, "other"]
    assert pool["best_rank"].isna().all()
    qrels = made(check_qrels, "query_id doc_id relevance other", ("q", "d", -1, 1))
    assert list(qrels.columns) == ["query_id", "doc_id", "relevance", "source"]
    assert list(qrels["relevance"]) == [-1]  # pairs that are not judged are allowed
    assert list(judged_docs({"d": ["x"]}, site="s").columns)[-1] == "site"


def test_two_annotators_may_judge_a_pair_but_not_one_twice() -> None:
    rows = pd.DataFrame({"query_id": "q", "doc_id": "d", "annotator_id": ["a", "b"], "label": "x"})
    assert len(check_judgments(rows)) == 2
    said = "annotator_id, query_id, doc_id given twice"
    refused(said, check_judgments, rows.assign(annotator_id="a"), by=TableError)


def test_a_rare_column_stays_away_when_absent_and_is_checked_when_there() -> None:
    pairs = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "e"], "relevance": [1, 0]})
    assert list(check_qrels(pairs).columns) == ["query_id", "doc_id", "relevance", "source"]
    assert list(check_qrels(pairs.assign(stratum=["s", None]))["stratum"]) == ["s", ""]
    refused("stratum is not text in UTF-8 (2 of 2", check_qrels, pairs.assign(stratum=1), by=TableError)


@given(st.text(max_size=5))
def test_an_id_survives_a_line_of_trec_text(text: str) -> None:
    if is_id(text):
        assert f"q 0 {text} 1".split() == ["q", "0", text, "1"]
        assert text.encode().decode() == text


def test_ids_counted_in_an_empty_table_can_be_joined() -> None:
    ids = pd.factorize(pd.Series([], dtype="str"), sort=True)[1]  # an Arrow array without any chunk
    bare = pd.DataFrame({"query_id": ids, "doc_id": ids}, dtype="str")
    with pytest.raises(pa.ArrowInvalid):
        bare.merge(bare, on=["query_id", "doc_id"], how="outer")
    empty = check_qrels(bare.assign(relevance=[]))
    assert len(empty.merge(empty, on=["query_id", "doc_id"], how="outer")) == 0


numbers_as_text = st.lists(
    st.sampled_from(
        ["", "0", "-3", "007", "1.5", "1e3", "-0.0", "9223372036854775807", "9223372036854775808"]
    )
    | st.integers().map(str)
    | st.floats().map(repr)
    | st.text("0123456789.e+- x", max_size=5),
    max_size=5,
)


@given(numbers_as_text, st.sampled_from(["int", "float"]), st.booleans(), st.sampled_from([None, 0, 1]))
def test_a_number_is_the_same_whatever_stands_beside_it_and_however_it_is_held(
    texts: list[str], kind: Any, missing: bool, minimum: float | None
) -> None:
    spec = TableSpec("n", (Column("n", kind, missing=missing, minimum=minimum, finite=False),), ())
    tables = [pd.DataFrame({"n": pd.Series(texts, dtype=dtype)}) for dtype in ("str", object)]
    try:
        found, again = (check_table(spec, table)["n"] for table in tables)
    except TableError:
        assert len({refused("", check_table, spec, table, by=TableError) for table in tables}) == 1
        return
    pd.testing.assert_series_equal(found, again)
    for text, number in zip(texts, found, strict=True):
        if text == "":
            assert pd.isna(number)
        elif kind == "float":
            assert number == float(text)
        else:
            assert number == (int(text) if text.strip().lstrip("+-").isdigit() else float(text))


@given(st.lists(st.tuples(st.sampled_from("abé🙂日"), st.sampled_from("xyz"))), st.randoms())
def test_a_pair_is_found_where_it_stands(pairs: list[tuple[str, str]], random: Any) -> None:
    wanted = [(random.choice("abé🙂日-"), random.choice("xyz-")) for _ in range(6)]
    names = ["query_id", "doc_id"]
    among, own = (pd.DataFrame(rows, columns=names, dtype="str") for rows in (pairs, wanted))
    expected = [pairs.index(pair) if pair in pairs else -1 for pair in wanted]
    assert expected == columns.pair_rows(own, among).tolist()


def test_tables_that_a_function_returns_are_as_their_contract_says() -> None:
    runs = [make_run({"q": {"a": 2, "b": 1}, "r": {"a": 1}}, name) for name in "xy"]
    compared = compare_runs(runs, depth=2, per_query=True).comparisons
    pd.testing.assert_frame_equal(check_table(COMPARISONS, compared), compared)
    for by in (None, "annotator_id"):
        found = agreement(judged_docs({"a": "11", "b": "00"}), by=by)
        pd.testing.assert_frame_equal(check_table(AGREEMENT, found), found)


def test_ids_with_a_blank_within_are_percent_encoded_all_or_none_and_it_is_said() -> None:
    pairs = pd.DataFrame({"query_id": ["q 1", "q2"], "doc_id": ["50%", "d"], "relevance": 1})
    with pytest.warns(FileNote, match="theirs: ids with blanks: all ids .*encoded, 'q 1' is 'q%201'"):
        found = check_qrels(pairs, where="theirs")
    assert found[["query_id", "doc_id"]].to_numpy().tolist() == [["q%201", "50%25"], ["q2", "d"]]
    assert pairs["query_id"].tolist() == ["q 1", "q2"]
    assert check_qrels(found).equals(found)
    assert make_qrels({"q2": {"50%": 1}})["doc_id"].tolist() == ["50%"]


DESIGN = pd.DataFrame({"query_id": [*"rqs"], "depth": [10, 50, 10], "is_sampled": [False, True, False]})
DESIGN = DESIGN.assign(inclusion_probability=1 / 3, seed=4)
PAIRS = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "stratum": "11:50:0.1"})


def test_a_design_is_read_as_it_was_written_in_the_order_of_the_qrels(tmp_path: Path) -> None:
    file = tmp_path / "query_design.csv"
    file.write_text(delimited_text(check_query_design(DESIGN)))
    assert file.read_text().splitlines()[:3] == [
        "query_id,depth,is_sampled,inclusion_probability,seed",
        "r,10,False,0.3333333333333333,4",
        "q,50,True,0.3333333333333333,4",
    ]
    pd.testing.assert_frame_equal(read_query_design(tmp_path), check_query_design(DESIGN))


@pytest.mark.parametrize("bad", [0, -0.1, 1.01, float("nan"), "often"])
def test_what_is_no_probability_is_refused(bad: object) -> None:
    with pytest.raises(TableError, match=r"inclusion_probability is (no|not|missing).*\(3 of 3"):
        check_query_design(DESIGN.assign(inclusion_probability=bad))
    if not pd.isna(bad):
        with pytest.raises(TableError, match="inclusion_probability is no"):
            check_pool(PAIRS.assign(inclusion_probability=bad))


@cases("column", "values", "message")
def test_two_designs_in_one_file_are_refused(column: str, values: list[object], message: str) -> None:
    refused(message, check_query_design, DESIGN.assign(**{column: values}), by=TableError)


def test_two_samples_in_one_pool_or_qrels_are_refused() -> None:
    mixed = PAIRS.assign(inclusion_probability=[0.1, 0.2])
    said = "stratum 11:50:0.1: inclusion_probability 0.1 and 0.2"
    refused(f"pool: {said}", check_pool, mixed, by=TableError)
    refused(f"qrels: {said}", check_qrels, mixed.assign(relevance=1), by=TableError)
    refused("seed 1 and 2, expected one", check_pool, PAIRS.assign(seed=[1, 2]), by=TableError)
    partly = {"stratum": ["", "11:50:0.1"], "inclusion_probability": [None, 0.1]}
    sound = check_qrels(PAIRS.assign(relevance=1, **partly))
    assert sound["inclusion_probability"].tolist()[1:] == [0.1]


def test_strata_that_overlap_are_of_two_samples(tmp_path: Path) -> None:
    mixed = PAIRS.assign(stratum=["1:10:1", "6:50:0.2"], inclusion_probability=[1.0, 0.2])
    refused("pool: strata 1:10:1 and 6:50:0.2 overlap", check_pool, mixed, by=TableError)
    side_by_side = mixed.assign(stratum=["1:5:1", "6:50:0.2"])
    assert check_pool(side_by_side)["stratum"].tolist() == ["1:5:1", "6:50:0.2"]
    odd = mixed.assign(stratum=["1:10:1", "deep"])
    refused("strata 1:10:1 and deep overlap; a sample of two designs", check_pool, odd, by=TableError)
    for one, other, said in (("1:10:1", "6:50:0.2", "overlap"), ("shallow", "1:10:1", "1:10:1 and shallow")):
        text = put(tmp_path / "qrels.txt", f"q 0 a {one} 1\nq 0 b {other} 0\n")  # of five columns
        refused(said, read_qrels, text, by=TableError)


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"judge_id": "j", "query_id": "q", "doc_id": ["b", "a"], **columns})


def test_query_and_doc_and_a_score_are_enough() -> None:
    checked = check_machine_judgments(table(score=["", "-3.5"], label=["relevant", ""]))
    expected = [["a", "", 1, "ok"], ["b", "relevant", 1, "ok"]]
    assert checked[["doc_id", "label", "sample_number", "status"]].values.tolist() == expected
    assert checked["score"].tolist()[0] == -3.5
    assert checked["score"].isna().tolist() == [False, True]


@cases("columns", "said")
def test_what_is_refused(columns: dict[str, object], said: str) -> None:
    asked = {"where": "machine.csv"}
    refused(f"machine.csv:  ... {said}", check_machine_judgments, table(**columns), **asked, by=TableError)


def test_samples_of_one_pair_are_rows_of_their_own_and_no_row_at_all_is_a_table() -> None:
    checked = check_machine_judgments(table(score=[0.5, 0.25], doc_id="a", sample_number=[2, 1]))
    assert checked["score"].tolist() == [0.25, 0.5]
    assert check_machine_judgments(table(score=1.0).iloc[:0]).empty


def test_a_tie_of_samples_is_no_label_and_failures_count_for_nothing() -> None:
    rows = [("a", 1, 0.9, "yes"), ("a", 2, 0.2, "no"), ("b", 1, 0.4, ""), ("b", 2, None, "")]
    samples = pd.DataFrame(rows, columns=["doc_id", "sample_number", "score", "label"])
    samples = samples.assign(judge_id="j", query_id="q", status=["ok", "ok", "ok", "failed"])
    found = one_answer_per_pair(check_machine_judgments(samples))
    expected = [["a", pytest.approx(0.55), "", 2], ["b", 0.4, "", 1]]
    assert found.drop(columns=["judge_id", "query_id"]).values.tolist() == expected
    assert one_answer_per_pair(check_machine_judgments(samples.iloc[:0])).empty
