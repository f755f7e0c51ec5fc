"""The line of sense that `add-run` prints, beside a few lines of numpy."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put
from click.testing import Result
from command import run

import fire_toolkit as fire
from fire_toolkit.scoring.expect import sense_of
from fire_toolkit.tables import Qrels, check_qrels

Add = Callable[..., Result]
N = 60
VIDEOS = [f"v{n}" for n in np.random.default_rng(1).permutation(N)]
QUERIES = [f"q{n}" for n in np.random.default_rng(2).permutation(N)]
IDS: dict[str, Any] = {"query_ids": QUERIES, "doc_ids": VIDEOS}
NOISE = np.random.default_rng(3).normal(size=(N, N)).astype(np.float32)
SIMS = NOISE + 2 * np.eye(N, dtype=np.float32)


def diagonal() -> Qrels:
    return check_qrels(pd.DataFrame({"query_id": QUERIES, "doc_id": VIDEOS, "relevance": 1}))


def ranks(sims: np.ndarray) -> np.ndarray:
    return (sims >= np.diag(sims)[:, None]).sum(axis=1)


SHARE = (ranks(SIMS) == 1).mean()
SAID = f"C@1 {100 * SHARE:.1f} (chance 1.7)"


def test_the_words_are_those_of_numpy() -> None:
    run = fire.run(SIMS, "m", **IDS, qrels=diagonal(), depth=5)
    found = sense_of(run, diagonal(), n_docs=N)
    expected = (found.words, found.warning)
    assert (f"{SAID}; ranks of positives: median {np.median(ranks(SIMS)):g}", "") == expected
    assert "(chance 100)" in sense_of(run, diagonal(), n_docs=1).words  # not 1e+02


@pytest.mark.parametrize("kind", ["rows moved", "noise", "distances"])
@pytest.mark.parametrize("depth", [5, N])
def test_scrambled_ids_noise_and_distances_are_near_chance(kind: str, depth: int) -> None:
    sims = {"rows moved": np.roll(SIMS, 7, axis=0), "noise": NOISE, "distances": -SIMS}[kind]
    run = fire.run(sims, "m", **IDS, qrels=diagonal(), depth=depth)
    assert sense_of(run, diagonal(), n_docs=N).warning.startswith("near chance")


def test_lists_without_ranks_below_are_told_by_how_many_positives_they_hold() -> None:
    for sims, is_near in ((SIMS, False), (np.roll(SIMS, 7, axis=0), True)):
        run = fire.run(sims, "m", **IDS, depth=5)
        found = sense_of(run, diagonal(), n_docs=N)
        assert (found.warning != "") is is_near
        assert ("median below the lists" in found.words) is is_near


def test_lists_of_more_than_half_of_the_docs_are_not_near_chance_by_their_length() -> None:
    pairs = [(query, VIDEOS[(n + step) % N], 1) for n, query in enumerate(QUERIES) for step in range(12)]
    several = check_qrels(pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"]))
    places = (np.arange(N)[None, :] - np.arange(N)[:, None]) % N < 12
    for sims, is_near in ((NOISE + 1.5 * places, False), (NOISE, True)):
        run = fire.run(sims.astype(np.float32), "m", **IDS, depth=32)
        assert (sense_of(run, several, n_docs=N).warning != "") is is_near


def test_few_positives_tell_nothing_and_no_shared_query_is_said() -> None:
    few = Qrels(diagonal()[:19])
    run = fire.run(-SIMS, "m", **IDS, qrels=few)
    assert sense_of(run, few, n_docs=N).warning == ""
    other = check_qrels(pd.DataFrame({"query_id": ["x"], "doc_id": ["v1"], "relevance": 1}))
    found = sense_of(run, other, n_docs=N)
    assert found.words == "none of the 1 queries with a positive is in the run"
    assert "share no query" in found.warning
    nothing = sense_of(fire.run(SIMS, "m", **IDS), Qrels(diagonal().iloc[:0]), n_docs=N)
    assert nothing.words == "none of the 0 queries with a positive is in the run"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a collection from a list of captions, and matrices in the list's order."""
    with contextlib.chdir(folder := tmp_path_factory.mktemp("made")):
        rows = [f"{q},msr{v},{v},take {q}" for q, v in zip(QUERIES, VIDEOS, strict=True)]
        listed = put("list.csv", "\n".join(["key,vid_key,video_id,sentence", *rows]) + "\n")
        put("fire.toml", "")
        put("sim.npy", SIMS)
        put("own.npz", {"sims": SIMS, "query_ids": QUERIES, "doc_ids": VIDEOS})
        put("turned.txt", "\n".join(QUERIES[::-1]))
        places = {row: np.argsort(-SIMS[row])[:10].tolist() for row in range(N)}
        put("places.json", places)
        put("named.json", {QUERIES[row]: [VIDEOS[doc] for doc in docs] for row, docs in places.items()})
        run("add-collection", listed)
    return folder


@pytest.fixture
def add(here: Path, made: Path) -> Add:
    shutil.copytree(made, here, dirs_exist_ok=True)
    return lambda *words, code=0: run("add-run", *words, code=code)


def score(*words: str) -> str:
    return run("score", *words, "-m", "C@1", "--format", "csv").stdout


BOTH = ("--query-ids", "list.csv", "--doc-ids", "list.csv")
AS_ROWS = ("--orientation", "queries-rows")


@pytest.mark.parametrize(
    "options", [(), BOTH, ("--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv")]
)
def test_a_matrix_in_the_order_of_the_benchmarks_list_gets_the_right_ids(
    options: tuple[str, ...], add: Add
) -> None:
    result = add("sim.npy", *AS_ROWS, *options)
    assert SAID in result.stderr
    note = (
        "note: no ids for queries and docs in sim.npy; they are taken to be in the order of "
        "collection/queries.tsv and collection/items.tsv; if the model used another order, give --query-ids "
        "and --doc-ids\n"
    )
    assert result.stderr.count("note: ") == result.stderr.count(note) == (not options)


@pytest.mark.usefixtures("add")
@pytest.mark.parametrize("command", ["score", "difference"])
def test_a_matrix_without_ids_is_scored_in_the_order_of_the_collection(command: str) -> None:
    """Its numbers are those of the same matrix with its ids; where all runs have ids, nothing is said."""
    half = NOISE + np.eye(N, dtype=np.float32)
    put("half.npy", half)
    put("other.npz", {"sims": half, "query_ids": QUERIES, "doc_ids": VIDEOS})
    options = ["--qrels", "collection/qrels.txt", "--measure", "R@1"]
    without, own = (
        run(command, f"a={a}", f"b={b}", *options)
        for a, b in (("sim.npy", "half.npy"), ("own.npz", "other.npz"))
    )
    assert without.stdout == own.stdout
    note = "no ids for queries and docs in sim.npy and half.npy; they are taken to be in the order of"
    assert (without.stderr.count(note), own.stderr.count(note)) == (1, 0)


def test_ids_map_places_of_json(add: Add) -> None:
    result = add("places.json", *BOTH)
    assert SAID in result.stderr
    assert "doc_ids are places from 0" in result.stderr
    assert "share no query" in add("places.json", "--id", "unnamed").stderr
    put("places.json", {"0": [3, 60]})
    said = "hold '60', neither an id of that list nor a place"
    assert said in add("places.json", *BOTH, code=1).stderr


@pytest.mark.parametrize("option", ["--query-ids", "--doc-ids"])
def test_an_option_that_the_file_makes_useless_is_refused(option: str, add: Add) -> None:
    assert "are ids already" in add("named.json", option, "list.csv", code=1).stderr
    put("turned.txt", "\n".join((QUERIES if "query" in option else VIDEOS)[::-1]))
    assert "has its own" in add("own.npz", option, "turned.txt", *AS_ROWS, code=1).stderr
    assert SAID in add("own.npz", option, "list.csv", *AS_ROWS).stderr


def test_numbers_that_are_ids_and_places_are_not_guessed(add: Add) -> None:
    put("ids.txt", "\n".join(str(n) for n in reversed(range(N))))
    told = "places.json: --doc-ids: its doc_ids may be ids of the list of ids or places in it, which only you"
    assert told in add("places.json", "--doc-ids", "ids.txt", code=1).stderr


def test_a_files_own_ids_come_before_those_of_the_workspace_and_what_lies_beside(add: Add) -> None:
    expected = score("own.npz")
    assert f"{SHARE:.4f}"[:6] in expected
    put("fire.toml", '[runs]\nquery_ids = "turned.txt"\n')
    assert SAID in add("own.npz", *AS_ROWS).stderr
    Path("fire.toml").write_text("")
    Path("turned.txt").rename("own.query_ids.txt")
    assert expected == score("own.npz")


def test_ids_of_the_workspace_stand_by_for_runs_that_need_them(add: Add) -> None:
    lines = [f"{q} Q0 {d} 0 {SIMS[n, m]} t\n" for n, q in enumerate(QUERIES) for m, d in enumerate(VIDEOS)]
    put("t.run", "".join(lines))
    add("own.npz", "--id", "native", *AS_ROWS)
    put("sim.query_ids.txt", "\n".join(QUERIES))
    put("sim.doc_ids.txt", "\n".join(VIDEOS))
    value = f"{SHARE:.4f}"[:6]
    assert score("t.run", "sim.npy").count(value) == 2
    put("fire.toml", '[runs]\nquery_ids = "turned.txt"\n')
    assert value in score("own.npz")
    assert value in score("t.run")


def test_a_matrix_itself_is_told_as_add_run_tells_it(here: Path) -> None:
    put("qrels.txt", "".join(f"{q} 0 {v} 1\n" for q, v in zip(QUERIES, VIDEOS, strict=True)))
    for name, sims in (("good", SIMS), ("far", -SIMS), ("ranks", np.argsort(np.argsort(-SIMS)))):
        put(f"{name}.npz", {"sims": sims, **IDS})
    told = "note: far.npz: near chance: the positives of 60 queries stand where they would by chance"
    for command in (["score"], ["pool", "--out", "p"], ["score", "--direction", "both"]):
        assert "near chance" not in run(*command, "good.npz", "--qrels", "qrels.txt").stderr
        assert told in run(*command, "far.npz", "--qrels", "qrels.txt").stderr
        refusal = run(*command, "ranks.npz", "--qrels", "qrels.txt", code=1).stderr
        assert "error: ranks.npz: the scores of 60 queries are whole numbers without a gap" in refusal


def test_ids_that_are_not_those_of_the_collection_are_said_by_every_command(add: Add) -> None:
    """A third of the docs is spelled otherwise: their positives count as not found, which no score shows."""
    other = [video.upper() if n % 3 else video for n, video in enumerate(VIDEOS)]
    put("other.npz", {"sims": SIMS, "query_ids": QUERIES, "doc_ids": other})
    put("other.json", {q: dict(zip(other, map(float, SIMS[n]), strict=True)) for n, q in enumerate(QUERIES)})
    strangers = "40 docs of 60 not in collection/items.tsv, so not relevant (V"
    outside = "note: other.npz: 40 positives of the qrels have a query or doc that is not among the ids"
    assert strangers in add("other.npz", *AS_ROWS).stderr
    for command in (["score"], ["pool", "--out", "p"]):
        assert strangers in run(*command, "other.json").stderr
        told = run(*command, "other.npz").stderr
        assert strangers in told
        assert outside in told
    both = run("score", "own.npz", "a=other.npz").stderr
    assert f"note: other.npz: {strangers}" in both
    assert "own.npz: " not in both.replace("own.npz: square", "")


def test_chance_is_told_by_queries_that_have_a_positive(here: Path) -> None:
    """Of 1,260 queries the last 60 alone have one; of more than 200 the first 200 tell."""
    far = np.vstack([np.random.default_rng(0).normal(size=(1200, N)), -SIMS])
    put("far.npz", {"sims": far, "query_ids": [f"q{n}" for n in range(1260)], "doc_ids": VIDEOS})
    lines = [f"q{n} 0 {VIDEOS[n % N]} 1\n" for n in range(1260)]
    for n_told, told in ((60, lines[1200:]), (200, lines)):
        put("qrels.txt", "".join(told))
        result = run("score", "far.npz", "--qrels", "qrels.txt")
        assert f"the positives of {n_told} queries stand where they would by chance" in result.stderr
