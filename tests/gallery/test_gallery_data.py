"""What a gallery shows, by a small world judged by hand, and by a loop over each list of a made world."""

import json
from collections.abc import Iterable
from itertools import product
from typing import Any

import pandas as pd
import pytest
from small_world import World

from fire_toolkit import tables
from fire_toolkit.gallery import Beside, Shown, gallery_files, shown_pairs, votes_on
from fire_toolkit.gallery.pairs import (
    HAS_NEW,
    HAS_REJECTED,
    HAS_UNJUDGED,
    MORE_WINNERS,
    SPLIT,
    STATES,
    UNUSABLE,
    WINNER_LOST,
    Votes,
    findings,
)
from fire_toolkit.matching.ranking import rank_run


def a_run(run_id: str, **lists: str) -> tables.Run:
    rows = [(run_id, q, doc, float(-rank)) for q, docs in lists.items() for rank, doc in enumerate(docs)]
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


def pairs(*rows: tuple[Any, ...], columns: str = "query_id doc_id") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def unvoted(shown: Shown) -> Votes:
    return votes_on(shown, None, grades={}, numbers={})


def benchmark(
    *positives: tuple[str, str], texts: Iterable[str] | None = None
) -> tuple[tables.Qrels, tables.Queries]:
    """Return qrels of these positives, and queries of their ids, or of others."""
    original = tables.check_qrels(pairs(*positives).assign(relevance=1))
    ids = sorted({query for query, _ in positives}) if texts is None else texts
    return original, tables.check_queries(pd.DataFrame({"query_id": ids}, dtype="str").assign(text="t"))


def labelled(*rows: str) -> tables.Labels:
    """Labels: query, doc, relevance, votes and how many agree."""
    columns = "query_id doc_id relevance n_judgments n_agree"
    table = pairs(*(row.split() for row in rows), columns=columns)
    return tables.check_labels(table.assign(label=table["relevance"].map({"1": "yes", "0": "no"})))


@pytest.fixture
def shown() -> Shown:
    """Two queries, two runs; `q1` has another winner after correction, `q2` one more."""
    labels = labelled("q2 a 1 1 1", "q1 b 1 3 2", "q1 c 0 1 1", "q1 z 0 1 1", "q1 y 1 1 1")
    return shown_pairs(
        [a_run("r1", q1="abc", q2="ac"), a_run("r2", q1="bax", q2="ca")],
        *benchmark(("q2", "c"), ("q1", "c"), ("q1", "w"), texts=["q1", "q0", "q2"]),  # q0 has no positive
        labels=labels,
        disputes=tables.check_disputes(pairs(("q1", "a", "tie"), columns="query_id doc_id reason")),
        unusable=["q2"],
        depth=3,
    )


def test_each_pair_has_its_state_and_queries_are_found_by_what_they_have(shown: Shown) -> None:
    ids = zip(shown.queries[shown.query], shown.docs[shown.doc], shown.state, strict=True)
    found = {f"{query} {doc}": STATES[state] for query, doc, state in ids}
    assert found == {  # q1 z is labelled not relevant, and no list holds it
        **{"q1 a": "disputed", "q1 b": "new", "q1 c": "rejected", "q1 w": "original"},
        **{"q1 x": "unjudged", "q1 y": "new", "q2 a": "new", "q2 c": "original"},
    }
    assert list(shown.queries) == ["q1", "q2"]
    votes = unvoted(shown)
    flags = shown.flags(votes.is_split)
    # q1: original c is third in r1 alone; corrected (union keeps c), r2 has b first
    assert flags[0] == HAS_NEW | SPLIT | WINNER_LOST | HAS_REJECTED | 1 << 5 | HAS_UNJUDGED
    # q2: r2 has the original first; corrected both have a relevant doc first
    assert flags[1] == HAS_NEW | MORE_WINNERS | UNUSABLE | HAS_UNJUDGED


def test_an_own_item_is_not_unjudged_unless_the_benchmark_calls_it_right() -> None:
    known, queries = benchmark(("q1", "a"), ("q2", "a"))
    kept = pairs(("q1", "b")).assign(relevance=0)  # as rankings keep it
    known = tables.check_qrels(pd.concat([known, kept]))
    runs = [a_run("r1", q1="bac", q2="ab")]
    shown = shown_pairs(runs, known, queries, own_items={"q1": "b", "q2": "a"}, depth=3)
    places = zip(shown.queries[shown.query], shown.docs[shown.doc], strict=True)
    found = dict(zip(places, shown.state, strict=True))
    assert {"".join(pair): STATES[state] for pair, state in found.items()} == {
        **{"q1a": "original", "q1b": "own", "q1c": "unjudged"},
        **{"q2a": "original", "q2b": "unjudged"},
    }


def test_what_is_worth_a_look_comes_in_order(shown: Shown) -> None:
    votes = unvoted(shown)

    def named(places: Any) -> list[str]:
        return [f"{shown.queries[shown.query[n]]} {shown.docs[shown.doc[n]]}" for n in places]

    best, *others = findings(shown, votes)
    assert (named(best.pairs), best.n) == (["q2 a", "q1 y", "q1 b"], 3)  # unanimous first, then by lists
    assert named(findings(shown, votes, most=1)[0].pairs) == ["q2 a"]
    assert {each.why: named(each.pairs) for each in others} == {
        "a positive of the benchmark that was judged not relevant": ["q1 c"],
        "decided by one vote of several": ["q1 b"],
        "relevant by one vote alone, and no second run lists it": ["q1 y"],
    }


def test_the_most_convincing_false_negatives_are_at_the_top_of_every_run_with_several_votes() -> None:
    """One run lists the doc with most votes; three have another at the top, by two votes or by one."""
    labels = labelled("q1 x 1 5 5", "q2 x 1 2 2", "q3 x 1 1 1", "q4 x 1 3 2")
    lists = {"q2": "xabc", "q3": "xabc", "q4": "xabc"}
    runs = [a_run(name, q1=q1, **lists) for name, q1 in (("r1", "xabc"), ("r2", "abcx"), ("r3", "abcx"))]
    known = benchmark(*((f"q{n}", "w") for n in range(1, 5)))
    shown = shown_pairs(runs, *known, labels=labels, depth=4)
    best = findings(shown, unvoted(shown))[0]
    assert [shown.queries[shown.query[n]] for n in best.pairs] == ["q2", "q1", "q3", "q4"]


def test_votes_go_to_their_pairs(shown: Shown) -> None:
    given = pairs(
        ("q1", "b", "ann", "yes", "2026-01-02", "", "task"),
        ("q1", "b", "bob", "no", "2026-01-01", "</script>", "overlap"),
        ("q1", "b", "cat", "unsure", "2026-01-03", "", "adjudication"),
        ("q1", "b", "dan", "no", "2026-01-03", "", "unassigned"),
        ("q1", "z", "ann", "no", "2026-01-02", "in no list", "task"),
        columns="query_id doc_id annotator_id label created_at comment kind",
    )
    judgments = tables.check_judgments(given)
    numbers = {"ann": 1, "bob": 2, "cat": 3, "dan": 4}
    votes = votes_on(shown, judgments, grades={"no": 0, "yes": 1, "unsure": None}, numbers=numbers)
    shown_votes = [[2, "no", "</script>"], [1, "yes", ""], [3, "unsure", ""]]
    assert votes.table[["who", "label", "comment"]].values.tolist() == shown_votes
    at = int(votes.table["pair"].iloc[0])
    assert (shown.docs[shown.doc[at]], votes.n_for[at], votes.n_against[at]) == ("b", 1, 1)
    assert votes.is_split.sum() == 1


def read(content: bytes) -> list[Any]:
    """Return the arguments of the call that a data file is."""
    text = content.decode()
    inner = text[text.index("(") + 1 : text.rindex(")")]
    return list(json.loads(f"[{inner}]"))


@pytest.mark.parametrize(("seed", "size"), [(0, 1), (1, 4), (2, 100)])
def test_shards_hold_every_list_and_label(seed: int, size: int) -> None:
    world = World(seed)
    index_of = world.runs["run_id"].astype("str")
    runs = [rank_run(world.runs[index_of == name].drop(columns="rank")) for name in world.run_ids]
    queries = tables.check_queries(world.original[["query_id"]].assign(text="t"))
    shown = shown_pairs(runs, world.original, queries, labels=world.labels, depth=4)
    files = dict(gallery_files(shown, unvoted(shown), Beside(), title="t", size=size))
    (index,) = read(files["data/index.js"])
    tops = world.runs[world.runs["rank"] <= 4].astype({"run_id": "str", "query_id": "str", "doc_id": "str"})
    expected = {(r.query_id, r.run_id, r.rank): r.doc_id for r in tops.itertuples()}
    relevant = {(r.query_id, r.doc_id): r.relevance for r in world.labels.itertuples()}
    originals = set(map(tuple, world.original[["query_id", "doc_id"]].to_numpy()))
    found = {}
    for n, query in enumerate(index["ids"]):
        number, made, shard = read(files[f"data/{n // size:04}.js"])
        assert (number, made) == (n // size, index["made"])
        local = n % size
        for (r, run), rank in product(enumerate(index["runs"]), range(4)):
            pair = shard["lists"][(local * len(index["runs"]) + r) * 4 + rank]
            if pair >= 0:
                found[query, run, rank + 1] = shard["docs"][shard["doc"][pair]]
        for pair in range(shard["at"][local], shard["at"][local + 1]):
            key = (query, shard["docs"][shard["doc"][pair]])
            state = index["states"][shard["state"][pair]]
            label = relevant.get(key)
            if key in originals:
                assert state == {None: "original", 0: "rejected", 1: "confirmed"}[label]
            else:
                assert state == {None: "unjudged", 0: "irrelevant", 1: "new"}[label]
    assert found == expected
    other = shown_pairs(runs, world.original, queries, labels=world.labels, depth=3)
    files = dict(gallery_files(other, unvoted(other), Beside(), title="t", size=size))
    assert read(files["data/index.js"])[0]["made"] != index["made"]  # its shards are told apart


def test_nothing_in_a_text_ends_a_script_or_a_line(shown: Shown) -> None:
    text = "</script><!--\u2028\u2029\u202e\n\"'\\"
    texts = {"texts": [text, "x" * 10_000], "queries": pd.Index([text, "__proto__"])}
    beside = Beside(texts={"a": text}, links={("__proto__", "a"): "javascript:1"})
    files = dict(gallery_files(Shown(**(vars(shown) | texts)), unvoted(shown), beside, title=text))
    for content in files.values():
        assert b"<" not in content
        assert content.decode().splitlines() == [content.decode().rstrip("\n")]
        assert read(content)
    (index,) = read(files["data/index.js"])
    assert (index["title"], index["texts"][0], index["ids"]) == (text, text, [text, "__proto__"])


def test_a_shared_label_is_no_judgment() -> None:
    rows, columns = ("q", "yes", 1), "query_id label relevance doc_id shared_from"
    labels = tables.check_labels(pairs((*rows, "b", ""), (*rows, "c", "q b"), columns=columns))
    shown = shown_pairs([a_run("r", q="cb")], *benchmark(("q", "a")), labels=labels)
    found = dict(zip(shown.docs[shown.doc], (STATES[state] for state in shown.state), strict=True))
    assert found == {"a": "original", "b": "new", "c": "shared"}


def test_nothing_judged_is_shown_as_such() -> None:
    original = tables.check_qrels(pairs(("q", "a", 1), ("q", "n", 0), columns="query_id doc_id relevance"))
    queries = tables.check_queries(pairs(columns="query_id text"))
    shown = shown_pairs([a_run("r", q="nb")], original, queries, depth=5)
    assert [STATES[state] for state in shown.state] == ["original", "unjudged", "unjudged"]
    assert shown.texts == [""]
    assert findings(shown, unvoted(shown)) == []  # so that the page offers no labels after correction
    listed, none = shown.lists[0, 0, :2], shown.lists[0, 0, 2:]
    assert (list(shown.docs[shown.doc[listed]]), list(none)) == (["n", "b"], [-1, -1, -1])
