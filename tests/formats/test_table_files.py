"""The tables' own files read back as what was written; JSON and TOML made to break a parser give one line."""

from pathlib import Path
from typing import Any

import pytest
from brought import put, refused
from command import run

from fire_toolkit.errors import FireError, TableError
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.tables.table_files import (
    read_items,
    read_judged_pairs,
    read_judgments,
    read_labels,
    read_pool,
    read_pool_sources,
    read_pooled_runs,
    read_queries,
)
from fire_toolkit.formats.tables.tifa import read_questions
from fire_toolkit.syntax import parse_json, parse_toml
from fire_toolkit.workspace.manifests import read_manifest

pytestmark = pytest.mark.usefixtures("here")


def test_a_pool_needs_its_ids_only_and_may_be_named_by_its_folder() -> None:
    put("pool.csv", "query_id,doc_id\n1,NA\n1,007\n")
    assert list(read_pool(Path())["doc_id"]) == ["007", "NA"]


def test_queries_keep_further_columns_and_items_may_have_times() -> None:
    queries = read_queries(put("q.tsv", "query_id\ttext\taspect\n1\ta cat\tanimal\n"))
    assert list(queries["aspect"]) == ["animal"]
    items = read_items(put("i.csv", "doc_id,media_url,start_s,end_s\nv,v.mp4,1.5,\n"))
    assert items["start_s"].tolist() == [1.5]
    assert items["end_s"].isna().all()


def test_captions_as_items_need_no_media_and_videos_as_queries_no_text() -> None:
    items = read_items(put("i.tsv", "doc_id\ttext\nc1\ta cat\n"))
    queries = read_queries(put("q.tsv", "query_id\tmedia_url\nv1\tv1.mp4\n"))
    assert (list(items["text"]), list(queries["media_url"])) == (["a cat"], ["v1.mp4"])
    refused("no column media_url", read_items, put("bad.tsv", "doc_id\tother\nc1\tx\n"))


def test_of_repeated_answers_the_latest_counts() -> None:
    rows = "1,d,ann,relevant,2026-01-02T00:00:00Z\n1,d,ann,irrelevant,2026-01-01T00:00:00Z\n"
    judgments, n_superseded = read_judgments(
        put("j.csv", "query_id,doc_id,annotator_id,label,created_at\n" + rows)
    )
    assert (list(judgments["label"]), n_superseded) == (["relevant"], 1)


@pytest.mark.parametrize(
    ("name", "content", "docs"),
    [
        ("labels.csv", "query_id,doc_id,label,relevance\n1,a,x,0\n1,b,y,1\n", "ab"),
        ("qrels.txt", "1 0 a 1\n1 0 b 0\n1 0 c -1\n", "ab"),
        ("qrels.txt", "\n1 0 a 1\n", "a"),
        ("positives.json", {"1": ["a", "b"]}, "ab"),
        ("grades.json", {"1": {"a": 1, "b": 0, "c": -1}}, "ab"),
        ("j.csv", '"query_id","doc_id","label"\n1,a,x\n', "a"),
    ],
)
def test_judged_pairs_come_from_tables_and_from_qrels(name: str, content: object, docs: str) -> None:
    assert set(read_judged_pairs(put(name, content))["doc_id"]) == {*docs}


@pytest.mark.parametrize(
    ("rounds", "first"), [("213", [("1", "a", 1), ("1", "b", 2)]), ("2x3", [("1", "a", 1), ("1", "b", 1)])]
)
def test_judged_pairs_are_of_the_first_of_their_rounds(
    rounds: str, first: list[tuple[str, str, int]]
) -> None:
    """A round that is somebody's own word makes all of them round 1."""
    rows = [f"1,{doc},long comment,{number}\n" for doc, number in zip("baa", rounds, strict=True)]
    pairs = read_judged_pairs(put("j.csv", "query_id,doc_id,comment,round\n" + "".join(rows)))
    assert list(pairs.columns) == ["query_id", "doc_id", "round"]
    assert sorted(pairs.itertuples(index=False, name=None)) == first


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,run_id,rank\nq,d,b,1\nq,e,a,1\nq,e,b,2\n",
        'rank,run_id,query_id,doc_id\r\n1,"a",q,d\r\n1,"b",q,d\r\n',
        "query_id\tdoc_id\trun_id\trank\nq\td\ta\t1\n\nq\td\tb\t1\n",
    ],
)
def test_the_pooled_runs_are_those_of_the_whole_table(text: str) -> None:
    path = put("pool_sources.csv", text)
    assert set(read_pool_sources(path)["run_id"]) == read_pooled_runs(path) == {"a", "b"}


def test_what_is_no_such_table_is_a_clear_error() -> None:
    for text in ("run_id\na\n", "query_id,doc_id,run_id,rank\nq,d,two words,1\n"):
        refused("pool_sources.csv", read_pooled_runs, put("pool_sources.csv", text), by=FireError)
    refused("no column label, relevance", read_labels, put("labels.csv", "query_id,doc_id\n1,a\n"))
    odd = put("labels2.csv", "query_id,doc_id,label,relevance\n1,a,x,yes\n")
    refused("labels2.csv: relevance is not a number", read_labels, odd, by=TableError)
    refused("no such file", read_labels, Path("none.csv"))
    tabs_and_commas = put("f", "query_id,doc_id\tlabel\nq,d\tyes\n")
    refused("f:1: no column query_id", read_judged_pairs, tabs_and_commas)
    refused("f: no query_ids; found query_id,doc_id, label", read_ids, tabs_and_commas, "query_id")


DEEP = "[" * 100_000 + "]" * 100_000
LONG = "1" * 5000
ABOUT = '{"stage": "pool", "tool_version": "1", "parameters": {}, "inputs": {}'
MANIFEST = ABOUT + ', "schema_version": 1, "outputs": %s}'
LONG_NAME = "damaged manifest (a name of a file that is longer"


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
        (read_manifest, DEEP, "JSON nested too deeply"),
        (read_manifest, '{"schema_version": ' + LONG + "}", "JSON that cannot be read"),
        (read_manifest, "[]", "damaged manifest"),
        (read_manifest, '{"schema_version": "1"}', "damaged manifest"),
        (read_manifest, MANIFEST % "[]", "damaged manifest (outputs is a list); delete it"),
        (read_manifest, MANIFEST % '{"a": 1}', "damaged manifest (a hash that is not text)"),
        (read_manifest, MANIFEST % f'{{"{"a" * 300}": ""}}', LONG_NAME),
        (read_manifest, MANIFEST % f'{{"{"a/" * 3000}": ""}}', LONG_NAME),
        (read_manifest, (MANIFEST % "{}").replace(": 1,", ": 2,"), "schema 2, this version knows 1"),
        (read_manifest, "\0", "a NUL byte"),
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
