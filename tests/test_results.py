"""Results have one shape: names, an order, a main table, notes, forms; a message is a line to be printed."""

import copy
import gc
import html
import io
import json
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd
import pytest
from brought import put, refused
from small_world import made, make_qrels, make_run

import fire_toolkit as fire
from fire_toolkit.errors import FireError, FormatError, UsageError
from fire_toolkit.results import Result, bold, drawn_text
from fire_toolkit.tables import check_labels

SAMPLE = Path(__file__).resolve().parents[1] / "pools" / "sample"
RUNS = [
    fire.run([[0.9, 0.1, 0.3], [0.2, 0.7, 0.1]], "clip_b", query_ids=["1", "2"], doc_ids=["a", "b", "c"]),
    fire.run([[0.1, 0.9, 0.3], [0.2, 0.7, 0.1]], "ssb", query_ids=["1", "2"], doc_ids=["a", "b", "c"]),
]
QRELS = make_qrels({"1": {"a": 1}, "2": {"b": 1}})
LABELS = made(check_labels, "query_id doc_id label relevance", ("1", "b", "x", 1), ("2", "b", "x", 1))
AUGMENTED = fire.augment_qrels(QRELS, LABELS)


def test_every_result_has_a_table_notes_and_a_form_for_papers() -> None:
    result = AUGMENTED
    assert isinstance(result, Result)
    first = next(part for part in result if isinstance(part, pd.DataFrame))
    pd.testing.assert_frame_equal(result.table, first)
    assert [getattr(result, field) is part for field, part in zip(result._fields, result, strict=True)]
    assert isinstance(result.notes, tuple)
    latex = result.to_latex()
    assert latex.startswith("\\begin{tabular}")
    assert latex.count("% note: ") == len(result.notes)
    page = result._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<li>") >= len(result.notes) + 1
    assert f"<li>rests on: {html.escape(result.basis)}</li>" in page
    assert f"{result._fields[0]}: {len(first):,} row" in result.basis


def test_a_notebook_says_what_a_result_rests_on() -> None:
    assert AUGMENTED.basis == "qrels: 3 rows (2 queries, 2 docs); changes: 3 rows (2 queries, 2 docs)"


HOSTILE = "<script>alert(1)</script>&"


def test_what_a_notebook_shows_is_text(tmp_path: Path) -> None:
    qrels = make_qrels({HOSTILE: {"a": 1}, "2": {"b": 1}})
    run = fire.run([[0.9, 0.1], [0.2, 0.7]], HOSTILE, query_ids=[HOSTILE, "2"], doc_ids=["a", "b"])
    file = put(tmp_path / f"{HOSTILE.replace('/', '')}.csv", f"query_id,text\n1,{HOSTILE}\n")
    shown = {
        "qrels": qrels,
        "run": run,
        "pool": fire.pool([run], depth=2),
        "scores": fire.score([run], qrels, measures=["C@1"]),
        "collection": fire.read_collection([file]),
        "measure": fire.parse_measure("AP@10"),
        "guideline": fire.read_guideline("caption-relevance-v1"),
    }
    pages = {name: each._repr_html_() for name, each in shown.items()}
    assert {name for name, page in pages.items() if "<script" in page} == set()
    assert {name for name, page in pages.items() if "&lt;script&gt;" in page} >= {"qrels", "pool", "scores"}
    assert "Does the caption describe this video?" in pages["guideline"]
    assert "AP@10" in pages["measure"]


def test_every_public_function_of_several_parts_returns_a_result() -> None:
    for name in fire.__all__:
        function = getattr(fire, name)
        wrapped = getattr(function, "__wrapped__", None)
        returned = str(wrapped.__annotations__.get("return", "")) if wrapped else ""
        assert not returned.startswith("tuple[") or name in ("list_guidelines", "list_measures"), name
    assert get_type_hints(Result.to_latex)["return"] is str


def test_scores_for_a_paper_have_the_best_of_each_measure_bold_equal_ones_too() -> None:
    scoring = fire.score(RUNS, QRELS, measures=["C@1", "MedR", "Judged@1"])
    # clip_b finds both positives at rank 1; ssb only the second: C@1 1 and .5, median ranks 1 and 2
    lines = [line.split("&") for line in scoring.to_latex().splitlines() if "&" in line]
    assert [[cell.strip(" \\") for cell in line] for line in lines] == [
        ["measure", "clip\\_b", "ssb"],
        ["C@1", "textbf{100.0}", "50.0"],
        ["MedR", "textbf{1.0}", "2.0"],
        ["Judged@1", "100.0", "50.0"],
    ]
    assert "<b>100.0</b>" in scoring._repr_html_()
    both = fire.score(RUNS, QRELS, measures=["R@3"]).to_latex()
    assert both.count("\\textbf{100.0}") == 2
    assert "textbf" not in fire.score(RUNS[0], QRELS, measures=["R@3"]).to_latex()


def test_bold_is_marked_as_each_form_does_and_ids_are_escaped() -> None:
    rows = [["a_b", bold("1.0")], ["<i>", "2.0"]]
    drawn = {form: drawn_text(rows, ["run", "x"], form) for form in ("latex", "markdown", "html", "table")}
    for form, words in (
        ("latex", ("\\textbf{1.0}", "a\\_b")),
        ("markdown", ("| **1.0** |",)),
        ("html", ("<b>1.0</b>", "&lt;i&gt;")),
    ):
        assert all(word in drawn[form] for word in words), form
    assert drawn["table"].splitlines()[2] == "a_b    1.0"


TABLE = pd.DataFrame({"run_id": ["a_b", "c"], "n": [1200, 3], "value": [2 / 3, float("nan")], "is_new": True})


def test_forms_for_programs_keep_every_digit_and_an_empty_table_has_its_header() -> None:
    assert [row["value"] for row in json.loads(fire.table_text(TABLE, "json"))] == [2 / 3, None]
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        again = pd.read_csv(io.StringIO(fire.table_text(TABLE, form)), sep=delimiter)
        pd.testing.assert_frame_equal(TABLE, again, check_dtype=False)
    assert fire.table_text(TABLE[:0], "csv") == "run_id,n,value,is_new\n"
    assert fire.table_text(TABLE[:0], "json") == "[]\n"
    assert "run_id" in fire.table_text(TABLE[:0], "markdown")
    said = "form 'xml' is unknown; expected one of table, latex, markdown, html, csv"
    refused(said, fire.table_text, TABLE, "xml", by=UsageError)


def test_forms_for_people_round_at_the_end_and_leave_missing_values_empty() -> None:
    assert fire.table_text(TABLE, "markdown", digits=2).splitlines()[2:] == [
        "| a_b      | 1,200 |    0.67 |     True |",
        "| c        |     3 |         |     True |",
    ]
    latex = fire.table_text(TABLE, "latex")
    assert all(word in latex for word in ("\\toprule", "\\bottomrule", "a\\_b", "0.6667"))
    assert fire.table_text(TABLE).splitlines()[0].split() == ["run_id", "n", "value", "is_new"]
    compared = fire.table_text(fire.compare(RUNS).table, "csv")
    assert compared.startswith("run_a,run_b,query_id,measure,value\n")


JUDGMENTS = fire.judgments(SAMPLE / "judgments.csv")


GRADES = fire.read_guideline("caption-relevance-v1").grades
# A table of each public function that returns one plain.
TABLES: dict[str, Callable[[], Any]] = {
    "agree": lambda: fire.agree(JUDGMENTS).table,
    "annotator_profiles": lambda: fire.annotator_profiles(JUDGMENTS, grades=GRADES),
    "leave_one_out": lambda: fire.leave_one_out(JUDGMENTS),
    "qrels": lambda: fire.qrels(str(SAMPLE / "qrels.txt")),
    "run": lambda: fire.run(SAMPLE / "runs/fused.run"),
    "resolve": lambda: fire.resolve(JUDGMENTS, grades=GRADES).labels,
    "pool": lambda: fire.pool(RUNS, depth=2).pool_sources,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_notebook_says_what_a_table_rests_on(name: str) -> None:
    table = TABLES[name]()
    page = table._repr_html_()
    assert page.startswith(pd.DataFrame(table)._repr_html_())
    assert f"<li>rests on: {name} (" in page
    assert f"; table: {len(table):,} row" in page


def test_the_words_say_what_was_given_and_no_folder() -> None:
    made = [
        fire.agree(JUDGMENTS).table,
        fire.qrels(SAMPLE / "qrels.txt"),
        fire.run([[1.0]], "<script>", query_ids=["1"], doc_ids=["a"]),
        fire.agree(JUDGMENTS, grades=GRADES, by="annotator_id").table,
    ]
    shown, read, hostile, graded = (table._repr_html_() for table in made)  # type: ignore[operator]
    assert f"rests on: agree (judgments of {len(JUDGMENTS):,} rows" in shown
    assert "rests on: qrels (x qrels.txt); table: 100 rows (100 queries" in read
    assert "name &lt;script&gt;" in hostile
    assert "<script>" not in hostile
    assert "rows, grades of 3, by annotator_id); table: " in graded


def test_a_table_stays_a_plain_frame_and_what_is_made_of_it_says_nothing() -> None:
    table = fire.qrels(SAMPLE / "qrels.txt")
    assert type(table) is pd.DataFrame
    plain = pd.read_csv(SAMPLE / "qrels.txt", sep=" ", header=None, dtype=str)
    same = pd.DataFrame({"query_id": plain[0], "doc_id": plain[2]})
    for left, right in ((table[["query_id", "doc_id"]], same), (same, table[["query_id", "doc_id"]])):
        pd.testing.assert_frame_equal(left, right, check_dtype=False)
    made = [table.copy(), table[:3], copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    assert ["rests on" in each._repr_html_() for each in made] == [False] * 4
    pd.testing.assert_frame_equal(made[-1], table)
    assert table.attrs == {}


def test_a_table_is_let_go_when_nobody_holds_it_and_one_that_was_given_is_not_changed() -> None:
    table = fire.run([[1.0]], "one", query_ids=["1"], doc_ids=["a"])
    gone, was_on = weakref.ref(table), gc.isenabled()
    gc.disable()
    try:
        del table
        assert gone() is None
    finally:
        if was_on:
            gc.enable()
    given = make_qrels({"1": {"a": 1}})
    fire.augment_qrels(given, LABELS[:0])
    assert "_repr_html_" not in vars(given)


def test_what_scores_rest_on_counts_queries_and_not_their_aggregate() -> None:
    pairs = {f"q{number}": {"a": 1} for number in range(6)}
    run, qrels = make_run(pairs), make_qrels(pairs)
    for per_query, n_rows in ((False, 1), (True, 7)):
        found = fire.score(run, qrels, measures=["C@1"], per_query=per_query)
        assert (len(found.table), found.basis) == (n_rows, "1 run; 6 queries; 6 pairs in the original qrels")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a: two\n lines\tand  blanks", "a: two lines and blanks"),
        ("sims\x1b[31m.npy\x00", r"sims\x1b[31m.npy\x00"),
        ("half a character \ud800, a mark \ufeff", r"half a character \ud800, a mark \ufeff"),
        ("frage-ü, 日本, 🙂", "frage-ü, 日本, 🙂"),
    ],
)
def test_what_a_file_says_of_itself_cannot_spoil_the_terminal(text: str, shown: str) -> None:
    assert shown == str(FormatError(text))


def test_a_very_long_message_keeps_its_beginning_and_its_end() -> None:
    told = str(FireError("labels.csv: no column, found " + "x" * 100_000 + "; expected a header"))
    assert len(told) < 2100
    assert told.startswith("labels.csv: no column, found xxx")
    assert told.endswith("xxx; expected a header")
