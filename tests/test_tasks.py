"""Pair keys that say nothing and lose nothing; tasks that tell nothing of the pool."""

import base64
import hashlib
import itertools
import re
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pandas.testing as pdt
import pytest
from brought import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import cases, examples
from fire_toolkit.campaign.keys import pair_id, pair_ids, read_key, split_pair_id
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.tables import Items, Pool, Queries, Tasks, check_items, check_pool, check_queries
from fire_toolkit.tables.ids import is_id

GUIDELINE = read_guideline("caption-relevance-v1")
IDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1).filter(is_id)
ODD_IDS = ["007", "NA", "q:1|x", "a|b|c", "video1", "видео", "🎬", "-", "_", "x" * 300]


def pool_of(n_queries: int, n_docs: int) -> Pool:
    pairs = list(itertools.product((f"q{i}" for i in range(n_queries)), (f"v{i}" for i in range(n_docs))))
    return check_pool(pd.DataFrame(pairs, columns=["query_id", "doc_id"], dtype=object))


def queries_of(n: int) -> Queries:
    ids = [f"q{n}" for n in range(n)]
    texts = [f"caption of {query_id}" for query_id in ids]
    return check_queries(pd.DataFrame({"query_id": ids, "text": texts}, dtype=object))


def tasks_of(n_queries: int, n_docs: int, **options: Any) -> Tasks:
    return make_tasks(pool_of(n_queries, n_docs), queries_of(n_queries), guideline=GUIDELINE, **options)


def items_of(**columns: Any) -> Items:
    doc_ids = [f"v{n}" for n in range(len(columns["media_url"]))]
    return check_items(pd.DataFrame({"doc_id": doc_ids, **columns}))


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=8))
@example(list(itertools.product(ODD_IDS, ODD_IDS)))
def test_keys_are_plain_and_give_both_ids_back_to_the_letter(pairs: list[tuple[str, str]]) -> None:
    keys = list(pair_ids(*map(list, zip(*pairs, strict=True))))
    assert keys == [pair_id(*pair) for pair in pairs]
    assert [split_pair_id(key) for key in keys] == pairs
    assert [read_key(key) for key in keys] == pairs
    assert all(re.fullmatch("[A-Za-z0-9_-]+", key) for key in keys)


def key_of(payload: bytes) -> str:
    """Return a key as it is documented."""
    check = hashlib.sha256(payload).digest()[:6]
    stream = hashlib.sha256(check + b"\0\0\0\0").digest()
    body = bytes(a ^ b for a, b in zip(payload, stream, strict=False))
    return base64.urlsafe_b64encode(check + body).decode().rstrip("=")


def test_a_key_has_the_documented_form_or_the_readable_one_and_may_come_from_a_spreadsheet() -> None:
    assert pair_id("video1", "video1") == key_of(b"video1\x1fvideo1")
    assert split_pair_id("007|видео") == ("007", "видео")
    for token in ("q:1|x|d", "|d", "q|", "|", "||"):
        refused("with exactly one '|'", split_pair_id, token)
    assert split_pair_id("'" + pair_id("q", "d")) == ("q", "d")
    assert split_pair_id("'q|d") == ("'q", "d")
    key = pair_id("q", "d")
    others = [key[:-1] + "=", "é" * len(key), key[:-2] + "==", key[:-1] + " ", key[:-1] + "+"]
    assert [read_key(each) for each in (*others, key)] == [None] * len(others) + [("q", "d")]


def test_keys_share_no_more_with_each_other_than_chance() -> None:
    """Of 64 letters two noise keys agree at 1/64 of the places; ids that share prefixes must not show."""
    same = [pair_id(f"video{i}", f"video{i}") for i in range(100, 400)]
    shared = [pair_id("video7000", f"video{i}") for i in range(100, 400)]
    for keys in (same, shared):
        letters = np.array([list(key) for key in keys])
        agreeing = (letters[:, None] == letters[None, :])[np.triu_indices(len(keys), 1)]
        by_place = agreeing.mean(axis=0)[:-1]  # the last letter carries fewer bits
        assert by_place == pytest.approx(1 / 64, abs=0.005)
    halves = [base64.urlsafe_b64decode(key + "==")[6:] for key in same]
    assert sum(half[:8] == half[9:] for half in halves) == 0


@given(IDS, IDS, st.data())
def test_a_changed_key_is_noticed(query_id: str, doc_id: str, data: st.DataObject) -> None:
    key = pair_id(query_id, doc_id)
    place = data.draw(st.integers(0, len(key) - 1))
    letter = data.draw(st.sampled_from("AZaz09-_+/=.é").filter(lambda letter: letter != key[place]))
    head, tail = key[:place], key[place + 1 :]
    for damaged in {head + letter + tail, head, key + letter, head + tail} - {key}:
        refused("is damaged or was made by another tool", split_pair_id, damaged)


@given(st.text(alphabet=st.characters(exclude_categories=(), exclude_characters="|")))
def test_a_foreign_key_is_a_format_error(token: str) -> None:
    refused("", split_pair_id, token)


@pytest.mark.parametrize("payload", [b"", b"\x1f", b"q\x1f", b"\x1fd", b"qd", b"q\x1fd\x1fe", b"\xff\x1fd"])
def test_a_key_with_a_right_check_over_no_pair_is_refused(payload: bytes) -> None:
    refused("", split_pair_id, key_of(payload))
    assert read_key(key_of(payload)) is None


@pytest.mark.parametrize("ids", [("", "d"), ("q", ""), ("q\x1f", "d"), ("q", "\ud800")])
def test_ids_that_no_key_can_hold_are_refused(ids: tuple[str, str]) -> None:
    refused("", pair_id, *ids, by=TableError)


def test_batch_one_has_every_pair_once_and_batch_two_a_share_of_them() -> None:
    tasks = tasks_of(5, 9, overlap=0.3)
    first, second = (tasks[tasks["batch"] == number] for number in (1, 2))
    pairs = pool_of(5, 9)[["query_id", "doc_id"]].itertuples(index=False)
    assert set(first["pair_id"]) == {pair_id(*pair) for pair in pairs}
    assert (len(first), len(second)) == (45, 14)  # .3 * 45 = 13.5, half up
    assert set(second["pair_id"]) < set(first["pair_id"])
    assert [*first["position"], *second["position"]] == [*range(1, 46), *range(1, 15)]
    assert set(tasks["guideline"]) == {"caption-relevance-v1"}
    assert all(tasks["text"] == "caption of " + tasks["query_id"])
    assert list(tasks["media_url"]) == list(tasks["doc_id"])


@pytest.mark.parametrize(
    ("overlap", "n_pairs", "n_doubled"),
    [(0, 50, 0), (1, 50, 50), (0.29, 50, 15), (0.1, 5, 1), (0.1, 4, 0), (0.35, 10, 4), (0.5, 0, 0)],
)
def test_the_number_of_doubled_pairs_is_rounded_half_up(overlap: float, n_pairs: int, n_doubled: int) -> None:
    """0.29 * 50 is 14.499999999999998 in floats and 14.5 as written."""
    assert list(tasks_of(1, n_pairs, overlap=overlap)["batch"]) == [1] * n_pairs + [2] * n_doubled


@pytest.mark.parametrize(
    "wrong",
    [{"overlap": -0.1}, {"overlap": 1.01}, {"overlap": float("nan")}, {"seed": -1}, {"n_captions": 0}],
)
def test_values_out_of_range_are_usage_errors(wrong: dict[str, float]) -> None:
    refused("", tasks_of, 1, 2, **wrong, by=UsageError)


@settings(max_examples=examples(20))
@given(st.integers(0, 9), st.floats(0, 1), st.randoms(use_true_random=False))
def test_tasks_rest_on_no_order_nor_on_what_the_pool_knows(seed: int, overlap: float, random: Random) -> None:
    pool, queries = pool_of(4, 5), queries_of(4)
    knowing = pool.assign(
        best_rank=[random.randint(1, 10) for _ in range(20)],
        n_runs=[random.randint(1, 3) for _ in range(20)],
        is_original=[random.random() < 0.5 for _ in range(20)],
    )
    before = pool.copy(deep=True)
    shuffled = Pool(knowing.iloc[random.sample(range(20), 20)])
    plain, other = (
        make_tasks(*tables, guideline=GUIDELINE, overlap=overlap, seed=seed)
        for tables in ((pool, queries), (shuffled, Queries(queries[::-1])))
    )
    pdt.assert_frame_equal(plain, other)
    pdt.assert_frame_equal(before, pool)


def test_the_seed_decides_order_and_share() -> None:
    one, same, other = (tasks_of(4, 10, overlap=0.5, seed=seed) for seed in (1, 1, 2))
    pdt.assert_frame_equal(one, same)
    assert list(one["pair_id"]) != list(other["pair_id"])


def test_the_place_of_a_task_tells_nothing_of_its_rank() -> None:
    """Over 10 seeds of 400 pairs the rank correlations average 0 with standard deviation 1/sqrt(399 * 10)."""
    rank = pool_of(20, 20)["doc_id"].str[1:].astype(int).to_numpy()  # as if v0 were every run's first
    correlations, doubled = [], []
    for seed in range(10):
        found = tasks_of(20, 20, overlap=0.25, seed=seed)["doc_id"].str[1:].astype(int).to_numpy()
        correlations.append(np.corrcoef(found[:400], np.arange(400))[0, 1])
        doubled.append(found[400:].mean())
    assert np.mean(correlations) == pytest.approx(0, abs=4 / np.sqrt(399 * 10))
    assert np.mean(doubled) == pytest.approx(rank.mean(), abs=4 * rank.std() / np.sqrt(100 * 10))


@pytest.mark.slow
def test_every_pair_has_the_same_chance_of_a_second_annotator() -> None:
    """Over 60 seeds a share of .5 doubles each pair 30 times, give or take 4 standard deviations of 3.9."""
    tasks = pd.concat([tasks_of(1, 20, overlap=0.5, seed=seed) for seed in range(60)])
    counts = tasks["doc_id"][tasks["batch"] == 2].value_counts()
    assert (len(counts), counts.sum()) == (20, 600)
    assert counts.between(15, 45).all()


def test_captions_may_be_the_items_and_videos_the_queries() -> None:
    videos = check_queries(pd.DataFrame({"query_id": ["q0"], "text": "", "media_url": "http://x/q0.mp4"}))
    captions = items_of(media_url=["", ""], text=["a cat", "a dog"])
    tasks = make_tasks(pool_of(1, 2), videos, items=captions, guideline=GUIDELINE, overlap=0)
    assert dict(zip(tasks["doc_id"], tasks["text"], strict=True)) == {"v0": "a cat", "v1": "a dog"}
    assert set(tasks["media_url"]) == {"http://x/q0.mp4"}
    with pytest.raises(JoinError, match=r"queries: 1 pooled ids have no text \(q0\)"):
        make_tasks(pool_of(1, 1), videos, guideline=GUIDELINE)


def clip_url(media_url: str, start_s: float, end_s: float) -> str:
    items = items_of(media_url=[media_url], start_s=start_s, end_s=end_s)
    return str(tasks_of(1, 1, items=items, overlap=0)["media_url"].item())


# Media Fragments URI 1.0, section 4.2.1: t=begin,end in seconds; to s3:// it would be part of the key.
@cases("media_url", "start_s", "end_s", "added")
def test_a_part_of_a_video_is_a_fragment(media_url: str, start_s: float, end_s: float, added: str) -> None:
    assert clip_url(media_url, start_s, end_s) == media_url + added


@pytest.mark.parametrize("end_s", [3.0, 1.0])
def test_a_part_that_ends_before_it_begins_is_refused(end_s: float) -> None:
    refused("v.mp4 plays from 3 to", clip_url, "v.mp4", 3.0, end_s, by=TableError)


@given(st.lists(st.tuples(IDS, IDS), max_size=5), st.lists(st.text("Ab0-_+/|=é\x1f", max_size=30)), st.data())
def test_many_keys_are_read_alike(pairs: list[tuple[str, str]], odd: list[str], data: st.DataObject) -> None:
    keys = [pair_id(*pair) for pair in pairs]
    cut = [key[: data.draw(st.integers(0, len(key)))] + data.draw(st.sampled_from("Aw_")) for key in keys]
    found = {token: ids for token in (*keys, *cut, *odd) if (ids := read_key(token))}
    assert all(split_pair_id(token) == ids for token, ids in found.items())


def test_with_several_captions_pages_are_doubled_whole() -> None:
    """12 captions of each of 5 items are 10 pages of 6; the share .4 doubles 4 of them, not 24 lone pairs."""
    tasks = tasks_of(12, 5, overlap=0.4, n_captions=10, seed=2)
    first, doubled = (tasks[tasks["batch"] == number] for number in (1, 2))
    assert len(doubled) == 24
    assert set(doubled.groupby("media_url").size()) <= {6, 12}
    pool = pool_of(12, 5)
    assert sorted(first["pair_id"]) == sorted(pair_ids(list(pool["query_id"]), list(pool["doc_id"])))
