"""CSV and TSV: every field is text to the letter, and every defect has a line."""

import contextlib
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.formats import delimited
from fire_toolkit.formats.delimited import delimited_text, read_delimited


def read(tmp_path: Path, text: str, **options: list[str]) -> pd.DataFrame:
    path = tmp_path / "table"
    path.write_bytes(text.encode())
    return read_delimited(path, **options)


def test_fields_stay_text(tmp_path: Path) -> None:
    table = read(tmp_path, "id,text\n007,NA\n,null\n1e5, x \n")
    assert [list(row) for row in table.to_numpy()] == [["007", "NA"], ["", "null"], ["1e5", " x "]]


def test_a_quote_in_tsv_does_not_swallow_the_next_line(tmp_path: Path) -> None:
    table = read(tmp_path, 'query_id\ttext\n1\t"Hello, she said\n2\tnext\n')
    assert list(table["text"]) == ['"Hello, she said', "next"]


def test_a_quoted_csv_field_may_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    table = read(tmp_path, 'query_id,text\r\n1,"a, ""b""\r\nc"\r\n')
    assert list(table["text"]) == ['a, "b"\r\nc']


def test_a_byte_order_mark_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    assert list(read(tmp_path, "\ufeffid,n\n\n1,2\n\n")["id"]) == ["1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty file"),
        ("   \n", "empty file"),
        ("id,n\n1\n", r"table:2: 1 fields, expected 2 \(id,n\)"),
        ("id,n\n1,2\n1,2,3\n", "table:3: 3 fields, expected 2"),
        ('id,n\n"a\nb",1\n2\n', "table:4: 1 fields"),
        ('id,n\n1,"x\n', "table:2: unexpected end of data"),
        ('id,n\n1,"x"y\n', "table:2:"),
        ("id,id\n1,2\n", "column id stands twice"),
        ("a,b\n1,2\n", "table:1: no column doc_id; found a, b"),
        ("id\0,n\n", "table:1: a NUL byte"),
    ],
)
def test_a_defect_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, text, required=["doc_id"] if text.startswith("a,b") else [])


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"id,n\n1,\xff\n")
    with pytest.raises(FormatError, match="table:2: byte 0xff is not UTF-8"):
        read_delimited(path)


fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.tuples(fields, fields), min_size=1))
def test_what_is_written_reads_back_equal(rows: list[tuple[str, str]]) -> None:
    import tempfile

    table = pd.DataFrame([("x" + a, b) for a, b in rows], columns=["one", "two"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(delimited_text(table).encode())
        assert table.to_numpy().tolist() == read_delimited(path).to_numpy().tolist()


@given(st.binary(max_size=200))
def test_arbitrary_bytes_give_a_table_or_a_clear_error(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        with contextlib.suppress(FireError):
            read_delimited(path)


def test_missing_values_are_empty_and_floats_read_back_equal() -> None:
    table = pd.DataFrame(
        {"n": pd.array([1, pd.NA], dtype="Int64"), "x": [0.1 + 0.2, np.nan], "ok": pd.array([True, pd.NA])}
    )
    assert delimited_text(table) == "n,x,ok\n1,0.30000000000000004,True\n,,\n"
    assert delimited_text(table, nan="nan").endswith(",nan,\n")


def test_tsv_has_no_line_ends_inside_fields() -> None:
    table = pd.DataFrame({"a": ["x\ty\nz"], "b": ['"q"']})
    assert delimited_text(table, delimiter="\t") == 'a\tb\nx y z\t"q"\n'


@pytest.mark.parametrize("n_rows", [0, 1, 4, 5, 8, 9])
def test_rows_are_read_in_stretches_of_any_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_rows: int
) -> None:
    monkeypatch.setattr(delimited, "_ROWS_AT_ONCE", 4)
    table = read(tmp_path, "id,n\n" + "".join(f"q{n},{n}\n" for n in range(n_rows)))
    assert list(table["id"]) == [f"q{n}" for n in range(n_rows)]
    assert list(table.index) == list(range(n_rows))
    with pytest.raises(FormatError, match=rf"table:{n_rows + 2}: 1 fields, expected 2"):
        read(tmp_path, "id,n\n" + "q,1\n" * n_rows + "x\n")


@given(st.text(alphabet='a,"\r\n\t', max_size=12))
def test_lines_end_where_python_ends_them(text: str) -> None:
    assert [found[0] for found in delimited._LINE.finditer(text)] == list(io.StringIO(text, newline=""))
