"""TREC text and FIRE's release to the letter: comments, ids with #, strata; answers, labels, disputes."""

import copy
import gzip
import json
import tempfile
import warnings
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused
from command import run
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import cases, examples
from fire_toolkit.errors import FileNote, FireError, JoinError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs import trec
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.formats.runs.reader import READERS
from fire_toolkit.formats.runs.trec import read_trec_qrels
from fire_toolkit.formats.tables.fire_release import Release, fire_release_json, read_fire_release
from fire_toolkit.formats.tables.table_files import read_queries
from fire_toolkit.formats.written import trec_qrels_text
from fire_toolkit.tables import check_items, check_judgments, check_qrels

pytestmark = pytest.mark.usefixtures("here")
PLAIN = "q1 Q0 a 1 0.9 m\nq1 Q0 b 2 0.8 m\nq2 Q0 a 1 0.7 m\n"
LONGER = "".join(f"{line} 0.5 x\n" for line in PLAIN.splitlines())
COMMENTED = "# made by a script\n#run\n\n  # of six fields in it all\n" + PLAIN
QRELS = "q1 0 a 1\nq2 0 a 0\n"
FAST_OR_BY_LINE = pytest.mark.parametrize("separator", [" ", "  "])  # Arrow refuses the second as it lies


@pytest.fixture(scope="module")
def lines() -> list[str]:
    rng = np.random.default_rng(40)
    return [
        f"q{query:02d} Q0 d{doc} {rank} {rng.random():.4f} m\n"
        for query in range(40)
        for rank, doc in enumerate(rng.permutation(50)[: rng.integers(1, 20)], 1)
    ]


@FAST_OR_BY_LINE
def test_the_order_of_lines_and_the_size_of_blocks_change_nothing(
    lines: list[str], separator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_run(put("a.trec", "".join(lines)))
    shuffled = "".join(np.random.default_rng(0).permutation(lines)).replace(" ", separator)
    pd.testing.assert_frame_equal(whole, read_run(put("b.trec", shuffled)))
    monkeypatch.setattr(trec, "_BLOCK_BYTES", 200)  # a query's lines are in several
    pd.testing.assert_frame_equal(whole, read_run(put("a.trec", "".join(lines).replace(" ", separator))))


def test_a_second_run_id_deep_in_the_file_is_seen(lines: list[str]) -> None:
    path = put("a.trec", "".join([*lines[:200], lines[200].replace(" m\n", " other\n"), *lines[201:]]))
    said = "2 runs in one file; choose one with `add-run --key`: m, other, or name all of it yourself"
    refused(said, read_run, path)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (COMMENTED, "left out 3 lines beginning with #"),
        (COMMENTED.replace("in it all", "in it"), "left out 3 lines beginning with #"),
        (LONGER, "left out the fields past the sixth on 3 lines"),
        (LONGER + "q2 Q0 b 2 0.6 m\n", "left out the fields past the sixth on 3 lines"),
        ("# x\n" + LONGER, "left out 1 line beginning with # and the fields past the sixth on 3 lines"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_runs(text: str, note: str, pack: Callable[[bytes], bytes]) -> None:
    expected = read_run(put("plain.run", PLAIN if "q2 Q0 b" not in text else PLAIN + "q2 Q0 b 2 0.6 m\n"))
    with pytest.warns(FileNote, match=note):
        found = read_run(put("a.run", pack(text.encode())))
    assert found.astype({"run_id": str}).equals(expected.astype({"run_id": str}))
    assert READERS["trec"].sniff(text.encode(), Path("a.run"))


def test_qrels() -> None:
    with pytest.warns(FileNote, match="q.txt: left out 3 lines beginning with #"):
        found = read_qrels(put("q.txt", "# query 0 doc grade\n#\n# q9 0 a 1\n" + QRELS))
    assert found.equals(read_qrels(put("plain.txt", QRELS)))


def test_commands_say_it_once_and_hash_for_a_manifest_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("fire_toolkit.cli.given.sha256_of")
    result = run("score", put("a.run", COMMENTED), "--qrels", put("q.txt", QRELS), "-m", "C@1")
    assert result.stderr.count("a.run: left out 3 lines beginning with #") == 1


@FAST_OR_BY_LINE
def test_ids_with_a_hash_stay_ids_and_are_said(separator: str) -> None:
    text = "#cats 0 a 1\n# 0 a 1\nq 0 #a 1\n##dogs 0 a 1\n".replace(" ", separator)
    with pytest.warns(FileNote, match="3 lines beginning with # and with the fields of data"):
        found = read_qrels(put("q.txt", text))
    expected = {("#cats", "a"), ("#", "a"), ("q", "#a"), ("##dogs", "a")}
    assert {*zip(found["query_id"], found["doc_id"], strict=True)} == expected


@cases("text", "said")
@FAST_OR_BY_LINE
@pytest.mark.filterwarnings("ignore::fire_toolkit.errors.FileNote")
def test_what_is_wrong_in_a_run_is_told_by_line(text: str, said: str, separator: str) -> None:
    refused(said, read_run, put("f", text.replace(" ", separator)))


@cases("text", "said")
@FAST_OR_BY_LINE
def test_what_is_wrong_in_qrels_is_told_by_line_or_row(text: str, said: str, separator: str) -> None:
    refused(said, read_qrels, put("f", text.replace(" ", separator).replace("MANY", "9" * 400)), by=FireError)


def test_qrels_of_four_and_of_five_columns_are_read_to_the_letter_and_written_back() -> None:
    own, four = ["query_id", "doc_id", "relevance", "source"], "q 0 a 1\nq 0 b 0\n"
    five = "1501 0 shot1_2 1 1\n1501 0 shot1_3 02 -1\n1502 0 shot9_1 all 0\n"
    for text, columns in ((four, own), (five, [*own, "stratum"])):
        qrels = read_trec_qrels(put("qrels", text))
        assert set(qrels.columns) == set(columns)
        assert trec_qrels_text(qrels) == text
    assert list(qrels["stratum"]) == ["1", "02", "all"]
    assert list(qrels["relevance"]) == [1, -1, 0]
    table = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "stratum": ["1", None]})
    assert trec_qrels_text(check_qrels(table)) == "q 0 a 1 1\nq 0 b - 1\n"


def rows_of(read: Callable[[Path], Any], text: str, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a file with this text, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNote)
        found = read(put(Path(folder) / "f", text))
    return [*found[list(columns)].astype(dict.fromkeys(columns[:2], str)).itertuples(index=False, name=None)]


WORDS = st.one_of(
    st.sampled_from(["q1", "007", "NA", "日本", '"', "a,b", "é", "1", "-1", "0", "1.0"]),
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="#"), min_size=1, max_size=3),
)
FIELDS = (
    WORDS
    | st.sampled_from(["x y", "\u00a0", ""])
    | st.text(max_size=3).map(lambda text: text.replace("#", ""))
)
SOUND = st.tuples(WORDS, WORDS, WORDS, st.sampled_from(["-1", "0", "1", "2"]))
LINES = st.one_of(
    st.lists(SOUND, min_size=1, max_size=5, unique_by=itemgetter(0, 2)),
    st.lists(st.lists(FIELDS, min_size=3, max_size=6), max_size=5),
)


@given(LINES, st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=examples(300))
def test_what_is_read_is_what_stands_between_white_space(
    lines: list[Any], between: str, end: str, has_mark: bool
) -> None:
    text = end.join(between.join(line) for line in lines)
    try:
        found = rows_of(read_trec_qrels, "\ufeff" * has_mark + text, "query_id", "doc_id", "relevance")
    except FireError:
        return
    rows = [fields for line in text.split("\n") if (fields := line.split())]
    assert sorted((fields[0], fields[2], int(fields[-1])) for fields in rows) == sorted(found)


IDS = st.sampled_from(["#", "##x", "#1", "NA", "null", "007", '"', 'a"b', "'x'", "q", "é", "日"]) | st.text(
    '#"a0-,;', min_size=1, max_size=3
)


@given(
    st.dictionaries(st.tuples(IDS, IDS), st.integers(-9, 9), min_size=1, max_size=6),
    st.none() | st.lists(st.sampled_from(["", "s1", "#"]), min_size=6, max_size=6),
)
def test_qrels_with_hostile_ids_read_back_to_the_same_rows(
    grades: dict[tuple[str, str], int], strata: list[str] | None
) -> None:
    columns = dict(zip(("query_id", "doc_id"), zip(*grades, strict=True), strict=True))
    table = pd.DataFrame({**columns, "relevance": list(grades.values())})
    qrels = check_qrels(table if strata is None else table.assign(stratum=strata[: len(table)]))
    names = ["query_id", "doc_id", "relevance"]
    expected = [*qrels[names].itertuples(index=False, name=None)]
    assert rows_of(read_qrels, trec_qrels_text(qrels), *names) == expected


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6, unique=True))
def test_runs_with_hostile_ids_keep_every_row(pairs: list[tuple[str, str]]) -> None:
    lines = [f"{query} Q0 {doc} {n} {9 - n}.5 m\n" for n, (query, doc) in enumerate(pairs)]
    assert {*rows_of(read_run, "# a comment\n" + "".join(lines), "query_id", "doc_id")} == {*pairs}


GOLDEN = Path(__file__).parents[1] / "golden" / "fire-release"  # FIRE's shape, invented content
CONTENT = json.loads((GOLDEN / "release.json").read_text())
QUERIES = read_queries(GOLDEN / "queries.tsv")
RELEASE = read_fire_release(GOLDEN / "release.json", QUERIES)


def rows(table: pd.DataFrame, *columns: str, pair: str = "") -> list[tuple[object, ...]]:
    """The rows of columns; pair: only those of this query and doc."""
    if pair:
        table = table[table["query_id"] + " " + table["doc_id"] == pair]
    return list(table[list(columns)].itertuples(index=False, name=None))


def test_every_answer_of_every_annotator_becomes_a_judgment() -> None:
    # Three captions; two have the text of the first, so its three answers count for both.
    assert len(RELEASE.judgments) == 2 * 3 + 3 + 2 + 1
    answers = [("ann1", "irrelevant"), ("ann2", "relevant"), ("ann3", "relevant")]
    assert rows(RELEASE.judgments, "annotator_id", "label", pair="ret1 v1") == answers


def test_labels_count_the_answers_that_agree_and_disagreements_are_kept() -> None:
    assert rows(RELEASE.labels, "query_id", "doc_id", "relevance", "n_judgments", "n_agree") == [
        ("ret0", "v1", 1, 1, 1),
        ("ret0", "v2", 0, 2, 2),
        ("ret1", "v1", 1, 3, 2),
        ("ret1", "v9", 1, 1, 1),
        ("ret2", "v1", 1, 1, 1),
        ("ret2", "v2", 0, 2, 2),
    ]
    assert len(RELEASE.qrels) == 6
    assert rows(RELEASE.disputes, *RELEASE.disputes.columns) == [("ret1", "v2", "no_majority", 1, 1)]


def test_the_models_that_proposed_a_pair_are_kept() -> None:
    assert rows(RELEASE.provenance, "model", pair="ret1 v1") == [("CLIP4CLIP",)]
    assert rows(RELEASE.provenance, "model", pair="ret0 v1") == [("CE",), ("SSB",)]


def test_shared_texts_entries_outside_and_the_licence_are_said() -> None:
    outside = [("a caption of no query", "v1", "no caption has this text")]
    assert rows(RELEASE.outside, "text", "doc_id", "reason") == outside
    licence, *notes = RELEASE.notes
    assert licence.startswith("licence: the file says 'CC BY 4.0'; FIRE's repository says CC BY-NC")
    assert notes == [
        "2 captions share 1 of the texts: judgments of such a text (2 of the entries) count for each of them",
        "1 of 6 entries are outside the collection",
    ]


def test_pairs_with_other_items_are_outside_when_items_are_given() -> None:
    items = check_items(pd.DataFrame({"doc_id": ["v1", "v2"], "media_url": ""}))
    release = read_fire_release(GOLDEN / "release.json", QUERIES, items=items)
    expected = [("a caption of no query", "no caption has this text"), ("A Cat  sleeps", "no such item")]
    assert rows(release.outside, "text", "reason") == expected
    assert {"v1", "v2"} == set(release.judgments["doc_id"])


def changed(folder: Path, change: Callable[[Any], object]) -> Release:
    content = copy.deepcopy(CONTENT)
    change(content)
    return read_fire_release(put(folder / "release.json", content), QUERIES)


def test_a_pair_with_two_labels_is_a_dispute(tmp_path: Path) -> None:
    again = CONTENT["annotations"][0] | {"label": "irrelevant"}
    again |= {"annotator_ids": ["ann9"], "annotator_labels": ["irrelevant"]}
    release = changed(tmp_path, lambda content: content["annotations"].append(again))
    disputes = rows(release.disputes, "query_id", "doc_id")
    assert {("ret0", "v1"), ("ret2", "v1"), ("ret1", "v2")} == set(disputes)
    assert ("ret0", "v1") not in rows(release.labels, "query_id", "doc_id")


def test_an_annotators_second_answer_replaces_the_first_and_is_counted(tmp_path: Path) -> None:
    twice = {"annotator_ids": ["ann1", "ann1"], "annotator_labels": ["irrelevant", "relevant"]}
    release = changed(tmp_path, lambda content: content["annotations"][2].update(twice))
    assert rows(release.judgments, "annotator_id", "label", pair="ret1 v1") == [("ann1", "relevant")]
    assert "1 answers replaced by a later one of the same annotator" in release.notes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("annotations"), "no field 'annotations', expected the JSON of FIRE's release"),
        (lambda c: c["annotations"][1].pop("video_id"), "annotations[1]: no field 'video_id'"),
        (lambda c: c["annotations"][0].update(label="maybe"), "annotations[0]: label 'maybe', expected one"),
        (lambda c: c["annotations"][0].update(annotator_labels=[]), "1 annotators and 0 labels"),
        (lambda c: c["disagreements"].append(3), "disagreements[1]: 3, expected an object"),
    ],
)
def test_another_shape_is_an_error_that_says_where(change: Any, said: str, tmp_path: Path) -> None:
    refused(said, changed, tmp_path, change)


def written(queries: Any = QUERIES, judgments: Any = RELEASE.judgments, **more: Any) -> str:
    return fire_release_json(judgments, RELEASE.labels, RELEASE.disputes, queries, **more)


def test_what_is_written_reads_back_as_the_same_tables(tmp_path: Path) -> None:
    more = {"provenance": RELEASE.provenance, "dataset": "sample", "about": {"creator": "us"}}
    # One caption has the text of another: only pairs of the first two captions come back one to one.
    unique = QUERIES[QUERIES["query_id"] != "ret2"].reset_index(drop=True)
    release = read_fire_release(put(tmp_path / "f.json", written(**more)), unique)
    for name in ("judgments", "labels", "disputes", "provenance"):
        before, after = getattr(RELEASE, name), getattr(release, name)
        expected = before[before["query_id"] != "ret2"].reset_index(drop=True)
        pd.testing.assert_frame_equal(expected, after)
    assert written(**more) == written(**more)
    content = json.loads(written(**more))
    assert (content["license"], content["datasets"], content["creator"]) == ("CC BY-NC", ["sample"], "us")


def test_ids_that_no_answer_has_are_written_as_none() -> None:
    bare = RELEASE.judgments.drop(columns=["response_id", "queue_id"])
    one, other = (
        written(judgments=check_judgments(judgments), licence="CC0")
        for judgments in (bare, bare.assign(response_id="", queue_id=""))
    )
    assert one == other
    assert all(entry["response_ids"] == [] for entry in json.loads(one)["annotations"])


def test_a_judged_query_without_a_text_cannot_be_written() -> None:
    others = QUERIES[QUERIES["query_id"] != "ret1"]
    refused("1 judged queries have no text (ret1)", written, others, by=JoinError)
