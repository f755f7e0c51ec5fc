"""The tables' own files read back as what was written."""

from pathlib import Path

import pytest

from fire_toolkit.errors import FormatError, TableError
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


def put(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_pool_needs_its_ids_only_and_may_be_named_by_its_folder(tmp_path: Path) -> None:
    put(tmp_path, "pool.csv", "query_id,doc_id\n1,NA\n1,007\n")
    assert list(read_pool(tmp_path)["doc_id"]) == ["007", "NA"]


def test_queries_keep_further_columns(tmp_path: Path) -> None:
    queries = read_queries(put(tmp_path, "q.tsv", "query_id\ttext\taspect\n1\ta cat\tanimal\n"))
    assert list(queries["aspect"]) == ["animal"]


def test_items_may_have_times(tmp_path: Path) -> None:
    items = read_items(put(tmp_path, "i.csv", "doc_id,media_url,start_s,end_s\nv,v.mp4,1.5,\n"))
    assert items["start_s"].tolist() == [1.5]
    assert items["end_s"].isna().all()


def test_captions_as_items_need_no_media_and_videos_as_queries_no_text(tmp_path: Path) -> None:
    items = read_items(put(tmp_path, "i.tsv", "doc_id\ttext\nc1\ta cat\n"))
    queries = read_queries(put(tmp_path, "q.tsv", "query_id\tmedia_url\nv1\tv1.mp4\n"))
    assert (list(items["text"]), list(queries["media_url"])) == (["a cat"], ["v1.mp4"])
    with pytest.raises(FormatError, match="no column media_url"):
        read_items(put(tmp_path, "bad.tsv", "doc_id\tother\nc1\tx\n"))


def test_of_repeated_answers_the_latest_counts(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "j.csv",
        "query_id,doc_id,annotator_id,label,created_at\n"
        "1,d,ann,relevant,2026-01-02T00:00:00Z\n1,d,ann,irrelevant,2026-01-01T00:00:00Z\n",
    )
    judgments, n_superseded = read_judgments(path)
    assert (list(judgments["label"]), n_superseded) == (["relevant"], 1)


def test_judged_pairs_come_from_tables_and_from_qrels(tmp_path: Path) -> None:
    labels = put(tmp_path, "labels.csv", "query_id,doc_id,label,relevance\n1,a,x,0\n1,b,y,1\n")
    qrels = put(tmp_path, "qrels.txt", "1 0 a 1\n1 0 b 0\n1 0 c -1\n")
    positives = put(tmp_path, "positives.json", '{"1": ["a", "b"]}')
    grades = put(tmp_path, "grades.json", '{"1": {"a": 1, "b": 0, "c": -1}}')
    for file in (labels, qrels, positives, grades):
        assert set(read_judged_pairs(file)["doc_id"]) == {"a", "b"}


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,run_id,rank\nq,d,b,1\nq,e,a,1\nq,e,b,2\n",
        'rank,run_id,query_id,doc_id\r\n1,"a",q,d\r\n1,"b",q,d\r\n',
        "query_id\tdoc_id\trun_id\trank\nq\td\ta\t1\n\nq\td\tb\t1\n",
    ],
)
def test_the_pooled_runs_are_those_of_the_whole_table(tmp_path: Path, text: str) -> None:
    path = put(tmp_path, "pool_sources.csv", text)
    assert set(read_pool_sources(path)["run_id"]) == read_pooled_runs(path) == {"a", "b"}


@pytest.mark.parametrize("text", ["run_id\na\n", "query_id,doc_id,run_id,rank\nq,d,two words,1\n"])
def test_pooled_runs_of_no_such_table_are_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises((FormatError, TableError)):
        read_pooled_runs(put(tmp_path, "pool_sources.csv", text))


@pytest.mark.parametrize(
    ("rounds", "first"), [("213", [("1", "a", 1), ("1", "b", 2)]), ("2x3", [("1", "a", 1), ("1", "b", 1)])]
)
def test_judged_pairs_are_of_the_first_of_their_rounds(
    tmp_path: Path, rounds: str, first: list[tuple[str, str, int]]
) -> None:
    """A round that is somebody's own word makes all of them round 1."""
    rows = [f"1,{doc},long comment,{number}\n" for doc, number in zip("baa", rounds, strict=True)]
    path = put(tmp_path, "j.csv", "query_id,doc_id,comment,round\n" + "".join(rows))
    pairs = read_judged_pairs(path)
    assert list(pairs.columns) == ["query_id", "doc_id", "round"]
    assert sorted(pairs.itertuples(index=False, name=None)) == first


def test_judged_pairs_may_begin_with_a_blank_line_and_have_a_quoted_header(tmp_path: Path) -> None:
    assert list(read_judged_pairs(put(tmp_path, "qrels", "\n1 0 a 1\n"))["doc_id"]) == ["a"]
    quoted = put(tmp_path, "j.csv", '"query_id","doc_id","label"\n1,a,x\n')
    assert list(read_judged_pairs(quoted)["doc_id"]) == ["a"]


def test_what_is_no_such_table_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no column label, relevance"):
        read_labels(put(tmp_path, "labels.csv", "query_id,doc_id\n1,a\n"))
    with pytest.raises(TableError, match=r"labels2\.csv: relevance is not a number"):
        read_labels(put(tmp_path, "labels2.csv", "query_id,doc_id,label,relevance\n1,a,x,yes\n"))
    with pytest.raises(FormatError, match="no such file"):
        read_labels(tmp_path / "none.csv")


def test_a_header_of_tabs_and_commas_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("query_id,doc_id\tlabel\nq,d\tyes\n")
    with pytest.raises(FormatError, match=r"f:1: no column query_id"):
        read_judged_pairs(tmp_path / "f")
    with pytest.raises(FormatError, match=r"f: no query_ids; found query_id,doc_id, label"):
        read_ids(tmp_path / "f", "query_id")
