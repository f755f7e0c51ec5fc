"""CSV, TSV and the tables' own files: each field to the letter; what breaks a parser is one line."""

import csv
import io
import re
import string
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from brought import put, refused
from command import run
from hypothesis import example, given
from hypothesis import strategies as st

from examples import cases
from fire_toolkit.errors import FileNote, FireError, FormatError, TableError
from fire_toolkit.formats import written
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.tables import delimited, table_files
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.tifa import read_questions
from fire_toolkit.formats.written import delimited_bytes, delimited_text
from fire_toolkit.syntax import parse_json, parse_toml
from fire_toolkit.workspace.manifests import manifest_at

pytestmark = pytest.mark.usefixtures("here")


@cases("text", "rows")
def test_fields_are_text_to_the_letter(text: str, rows: list[list[str]]) -> None:
    assert read_delimited(put("table", text)).to_numpy().tolist() == rows


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_row_may_be_longer_than_a_block(quote: str) -> None:
    n = delimited._BLOCK_BYTES // 9
    fields = [f"{quote}{mark * (n // 9)}{quote}" for mark in string.ascii_lowercase for _ in range(9)]
    names = ",".join(f"c{place}" for place in range(len(fields)))
    path = put("table.csv", "\n".join([names, ",".join("x" for _ in fields), ",".join(fields), ""]))
    assert path.stat().st_size > 2 * delimited._BLOCK_BYTES
    assert read_delimited(path).iloc[1].tolist() == [field.strip('"') for field in fields]


@pytest.mark.parametrize("n_before", [0, 1])
def test_line_ends_within_quotes_stay_where_blocks_end(n_before: int) -> None:
    """Of line ends of two bytes all over a file, one lies across the end of a block in one of the cases."""
    field = "\r\n" * (delimited._LONGEST_FIELD // 4)
    path = put("table.csv", "id,text\n" + "x" * n_before + f',"{field}"\n' * 20)
    assert path.stat().st_size > delimited._BLOCK_BYTES
    assert set(read_delimited(path)["text"]) == {field}


def test_quotes_that_a_tsv_field_did_not_need_are_taken_off_with_a_note() -> None:
    path = put("table", 'query_id\ttext\n1\tx\n2\t"hello"\n')
    with pytest.warns(FileNote, match=r'table:3: the quotes of "hello" are taken off'):
        assert list(read_delimited(path)["text"]) == ["x", "hello"]


@cases("text", "message")
def test_a_defect_is_named_with_its_line(text: str, message: str) -> None:
    required = ["doc_id"] if text == "a,b\n1,2\n" else []
    refused(message, read_delimited, put("table", text.encode("latin-1")), required=required)


ids = st.text("ab\"#',", min_size=1, max_size=4) | st.sampled_from(["#", "##x", "NA", "null", "007"])
fields = st.text('ab"\t\n\r, #\u2028\x85;', max_size=8) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)


@given(st.lists(st.tuples(ids, fields), min_size=1), st.sampled_from([",", "\t"]))
def test_what_is_written_reads_back_to_the_letter(rows: list[tuple[str, str]], delimiter: str) -> None:
    table = pd.DataFrame(rows, columns=["query_id", "text"], dtype="str")
    path = put("table", delimited_bytes(table, delimiter=delimiter))
    assert read_delimited(path).to_numpy().tolist() == table.to_numpy().tolist()


@given(
    st.lists(st.tuples(ids, st.text('ab"\t, #', max_size=8)), min_size=1, max_size=4),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_a_tsv_is_read_as_pandas_wrote_it(rows: list[tuple[str, str]], quoting: int) -> None:
    table = pd.DataFrame(rows, columns=["query_id", "text"], dtype="str")
    table.to_csv("table", sep="\t", index=False, quoting=quoting)
    assert read_delimited(Path("table")).to_numpy().tolist() == table.to_numpy().tolist()


@pytest.mark.parametrize("mark", [",", '"', "\n", "\r"])
def test_a_mark_far_down_has_its_rows_quoted_and_none_written_twice(mark: str) -> None:
    texts = ["x"] * 70_000 + [f"b{mark}c"]
    rows = delimited_text(pd.DataFrame({"a": pd.array(texts, dtype="str"), "n": 1}))
    quoted = mark.replace('"', '""')
    assert rows == "a,n\n" + "x,1\n" * 70_000 + f'"b{quoted}c",1\n'


def test_a_table_written_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a, b", 'say "x"', "", "c\nd", None, "é", "plain"]
    table = pd.DataFrame({"text": pd.Series(texts, dtype="str"), "score": [0.1, 1e-9, np.nan, 2, -3.5, 7, 1]})
    table["kind"] = pd.Categorical(["x", "y, z", "x", None, "x", "y, z", "x"])
    table["is_new"], table["rank"] = [True, False] * 3 + [True], [1, None, 3, 4, 5, 6, 7]
    table["rank"] = table["rank"].astype("Int64")
    whole = delimited_bytes(table)
    assert whole.count(b"\n") == 9
    for rows in (1, 2, 3, 7):
        monkeypatch.setattr(written, "_ROWS_WRITTEN_AT_ONCE", rows)
        monkeypatch.setattr(written, "_ROWS_JOINED_AT_ONCE", 2)
        assert whole == delimited_bytes(table)
        for start in (1, 6, 7):
            assert delimited_text(table.iloc[start:]) == cell_by_cell(table.iloc[start:], ",", "")


def cell_by_cell(table: pd.DataFrame, delimiter: str, nan: str) -> str:
    """What a table is as text, by definition."""

    def field(value: object) -> str:
        if value is None or value is pd.NA:
            return ""
        if isinstance(value, float):
            return nan if value != value else repr(float(value))
        return str(value)

    columns = [[field(value) for value in table[name]] for name in table]
    is_risky = delimiter == "\t" and any(
        "\t" in (c := "".join(own)) and set(c) & set("\r\n") for own in columns
    )

    def written(text: str) -> str:
        needs = is_risky or set(text) & {delimiter, *'"\r\n'}
        return '"' + text.replace('"', '""') + '"' if needs else text

    rows = [list(table.columns), *map(list, zip(*columns, strict=True))]
    return "".join(delimiter.join(map(written, row)) + "\n" for row in rows)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text(
    'a,"\r\n\t\v\x1c\x85\u2028é', max_size=6
)
floats = st.floats() | st.sampled_from([0.0, -0.0, 1e16, 1e-5, 0.1])
of_each_kind = st.tuples(
    texts, st.none() | texts, floats, st.floats(width=32),
    st.integers(-(2**63), 2**63 - 1), st.none() | st.integers(0, 9), st.booleans(),
    st.none() | st.booleans(), st.none() | st.sampled_from(["a", 'b"', "c\td"]),
    st.none() | st.booleans() | floats | texts | st.integers(),
)  # fmt: skip
DTYPES = ["str", "str", "float64", "float32", "int64", "Int64", "bool", "boolean", "category", "object"]


@given(st.lists(of_each_kind, max_size=6), st.sampled_from([",", "\t"]), st.sampled_from(["", "nan"]))
def test_columns_at_once_are_what_cells_one_by_one_are(
    rows: list[tuple[object, ...]], delimiter: str, nan: str
) -> None:
    cells = list(zip(*rows, strict=True)) or [()] * len(DTYPES)
    columns = {
        f"{n},{dtype}": pd.Series(list(values), dtype=dtype)
        for n, (dtype, values) in enumerate(zip(DTYPES, cells, strict=True))
    }
    table = pd.DataFrame(columns | {"na": pd.Series(list(cells[1]), dtype=pd.StringDtype(na_value=pd.NA))})
    assert delimited_text(table, delimiter=delimiter, nan=nan) == cell_by_cell(table, delimiter, nan)


@example('a,"\r\n"\n' * 9, "a,b\n", 8)
@example("\n;", "", 8)
@example(" \n;", "", 8)
@given(
    st.text('ab,;"\n\r\t \x0bé', max_size=30)
    | st.lists(st.sampled_from(['a,"\r\n"\n', '"b\r\n",""""\n', '"\r\n\r\n",a\r\n']), max_size=6).map(
        "".join
    ),
    st.sampled_from(
        ["a,b\n", "a;b\n", "a\tb\n", "a\n", " a,b\r\n", '"a","b"\n', '"a\n",b\r', "a\rb,c\r", ""]
    ),
    st.sampled_from([delimited._BLOCK_BYTES, 12, 8]),
)
def test_a_table_is_what_pythons_reader_reads(body: str, header: str, block: int) -> None:
    text = header + body
    mark = delimited.delimiter_of(text.lstrip("\r\n").split("\n", 1)[0])
    has_quotes = mark != "\t" or re.search('(^|[\t\r\n])"', text)
    quoting = csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE
    lines = list(io.StringIO(text, newline=""))
    try:
        rows = [row for row in csv.reader(lines, delimiter=mark, quoting=quoting, strict=True) if row]
    except csv.Error:
        rows = []
    try:
        with mock.patch.object(delimited, "_BLOCK_BYTES", block):
            table = read_delimited(put("table", text.encode()))
    except FormatError:
        names = [name.strip() for name in rows[0]] if text.strip() and rows else []
        is_refused_tsv = mark == "\t" and has_quotes  # quotes that fit neither CSV nor plain text
        widths = {len(row) for row in rows}
        assert is_refused_tsv or not any(names) or len(set(names)) < len(names) or len(widths) > 1
    else:
        assert [[name.strip() for name in rows[0]], *rows[1:]] == [list(table), *table.to_numpy().tolist()]
        assert (table.dtypes == "str").all()


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n4,5,6\n", '"a",b,c\n1,2,3\n4,5,6\n'])
def test_only_the_columns_asked_for_are_kept_and_all_are_utf8(text: str) -> None:
    table = read_delimited(put("table", text), required=["a"], only=["c", "a", "none"])
    assert table.to_dict("list") == {"a": ["1", "4"], "c": ["3", "6"]}
    odd = put("table", text.encode().replace(b"2", b"\xff"))
    refused("table:2: byte 0xff is not UTF-8", read_delimited, odd, only=["a"])


def test_a_pool_needs_its_ids_only_and_may_be_named_by_its_folder() -> None:
    put("pool.csv", "query_id,doc_id\n1,NA\n1,007\n")
    assert list(table_files.read_pool(Path())["doc_id"]) == ["007", "NA"]


def test_queries_keep_further_columns_and_items_may_have_times() -> None:
    queries = table_files.read_queries(put("q.tsv", "query_id\ttext\taspect\n1\ta cat\tanimal\n"))
    assert list(queries["aspect"]) == ["animal"]
    items = table_files.read_items(put("i.csv", "doc_id,media_url,start_s,end_s\nv,v.mp4,1.5,\n"))
    assert items["start_s"].tolist() == [1.5]
    assert items["end_s"].isna().all()


def test_captions_as_items_need_no_media_and_videos_as_queries_no_text() -> None:
    items = table_files.read_items(put("i.tsv", "doc_id\ttext\nc1\ta cat\n"))
    queries = table_files.read_queries(put("q.tsv", "query_id\tmedia_url\nv1\tv1.mp4\n"))
    assert (list(items["text"]), list(queries["media_url"])) == (["a cat"], ["v1.mp4"])
    refused("no column media_url", table_files.read_items, put("bad.tsv", "doc_id\tother\nc1\tx\n"))


@cases("name", "content", "docs")
def test_judged_pairs_come_from_tables_and_from_qrels(name: str, content: object, docs: str) -> None:
    assert set(table_files.judged_pairs(put(name, content))[0]["doc_id"]) == {*docs}


@pytest.mark.parametrize(
    ("rounds", "first"), [("213", [("1", "a", 1), ("1", "b", 2)]), ("2x3", [("1", "a", 1), ("1", "b", 1)])]
)
def test_judged_pairs_are_of_the_first_of_their_rounds(
    rounds: str, first: list[tuple[str, str, int]]
) -> None:
    """A round that is somebody's own word makes all of them round 1."""
    rows = [f"1,{doc},long comment,{number}\n" for doc, number in zip("baa", rounds, strict=True)]
    pairs, _ = table_files.judged_pairs(put("j.csv", "query_id,doc_id,comment,round\n" + "".join(rows)))
    assert list(pairs.columns) == ["query_id", "doc_id", "round"]
    assert sorted(pairs.itertuples(index=False, name=None)) == first


@cases("text")
def test_the_pooled_runs_are_those_of_the_whole_table(text: str) -> None:
    path = put("pool_sources.csv", text)
    assert set(table_files.read_pool_sources(path)["run_id"]) == {"a", "b"}
    assert table_files.read_pooled_runs(path) == {"a", "b"}


def test_what_is_no_such_table_is_a_clear_error() -> None:
    for text in ("run_id\na\n", "query_id,doc_id,run_id,rank\nq,d,two words,1\n"):
        refused("pool_sources.csv", table_files.read_pooled_runs, put("pool_sources.csv", text), by=FireError)
    bare = put("labels.csv", "query_id,doc_id\n1,a\n")
    refused("no column label, relevance", table_files.read_labels, bare)
    odd = put("labels2.csv", "query_id,doc_id,label,relevance\n1,a,x,yes\n")
    refused("labels2.csv: relevance is not a number", table_files.read_labels, odd, by=TableError)
    refused("no such file", table_files.read_labels, Path("none.csv"))
    tabs_and_commas = put("f", "query_id,doc_id\tlabel\nq,d\tyes\n")
    refused("f: columns query_id,doc_id, label; expected columns", table_files.judged_pairs, tabs_and_commas)
    refused("f: no query_ids; found query_id,doc_id, label", read_ids, tabs_and_commas, "query_id")
    pairs, _ = table_files.judged_pairs(put("f", '\ufeff"query_id";"doc_id";"round"\n"q";"d";"2"\n'))
    assert pairs.values.tolist() == [["q", "d", 2]]  # as spreadsheets write it


DEEP = "[" * 100_000 + "]" * 100_000
LONG = "1" * 5000
ABOUT = '{"stage": "pool", "tool_version": "1", "parameters": {}, "inputs": {}'
MANIFEST = ABOUT + ', "schema_version": 1, "outputs": %s}'
LONG_NAME = "damaged manifest (a name of a file that is empty, or longer"


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_json, DEEP, "f: JSON nested too deeply"),
        (parse_json, f"[{LONG}]", "f: JSON that cannot be read (Exceeds the limit"),
        (parse_json, '[1,\n"a', "f:2: damaged or truncated JSON: Unterminated string"),
        (parse_json, '{"a": 1, "a": 2}', "f: the key 'a' appears twice in one object"),
        (parse_toml, f"a = {DEEP}", "f: TOML nested too deeply"),
        (parse_toml, f"a = {LONG}", "f: not TOML: Exceeds the limit"),
        (parse_toml, "a = ", "f: not TOML: Invalid value (at end of document)"),
        (parse_toml, "[r]\na = 1\n[r]\n", "f: not TOML: ... twice ... ; a table stands once in a file: fill"),
        (read_questions, DEEP, "f: JSON"),
        (read_questions, f'[{{"id": {LONG}}}]', "f: JSON"),
        (manifest_at, MANIFEST % DEEP, "damaged manifest (maximum recursion depth"),
        (manifest_at, MANIFEST % LONG, "damaged manifest (Exceeds the limit"),
        (manifest_at, '["stage", "schema_version"]', "damaged manifest"),
        (manifest_at, '{"schema_version": "1", "stage": ""}', "damaged manifest"),
        (manifest_at, MANIFEST % "[]", "damaged manifest (Expected `object`, got `array` - at `$.outputs`)"),
        (manifest_at, MANIFEST % '{"a": 1}', "damaged manifest (Expected `str`, got `int`"),
        (manifest_at, MANIFEST % f'{{"{"a" * 300}": ""}}', LONG_NAME),
        (manifest_at, MANIFEST % f'{{"{"a/" * 3000}": ""}}', LONG_NAME),
        (manifest_at, (MANIFEST % "{}").replace(": 1,", ": 2,"), "schema 2, this version knows 1"),
        (manifest_at, "\0", "damaged manifest (Expecting value"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_json_and_toml_that_cannot_be_read_are_one_line(parse: Any, text: str, said: str) -> None:
    if parse in (parse_json, parse_toml):
        assert refused(said, parse, text, "f").startswith("f:")
    else:
        refused(said, parse, put("f", text))


@pytest.mark.parametrize("text", [f"[pool]\ndepth = {DEEP}", f"[pool]\ndepth = {LONG}", "[pool]\ndepth = \0"])
def test_a_workspace_whose_settings_cannot_be_read(text: str, here: Path) -> None:
    put("fire.toml", text)
    done = run("status", code=1)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: {here / 'fire.toml'}")
