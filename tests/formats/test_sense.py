"""The line of sense that `add-run` prints, beside a few lines of numpy."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from fire_toolkit.cli import main
from fire_toolkit.formats.runs.held_runs import run_from_matrix
from fire_toolkit.scoring.sense import sense_of
from fire_toolkit.tables import Qrels, check_qrels

N = 60
VIDEOS = [f"v{n}" for n in np.random.default_rng(1).permutation(N)]
QUERIES = [f"q{n}" for n in np.random.default_rng(2).permutation(N)]
NOISE = np.random.default_rng(3).normal(size=(N, N)).astype(np.float32)
SIMS = NOISE + 2 * np.eye(N, dtype=np.float32)
Add = Callable[..., Result]


def diagonal() -> Qrels:
    return check_qrels(pd.DataFrame({"query_id": QUERIES, "doc_id": VIDEOS, "relevance": 1}))


def ranks(sims: np.ndarray) -> np.ndarray:
    return (sims >= np.diag(sims)[:, None]).sum(axis=1)


def test_the_words_are_those_of_numpy() -> None:
    own = ranks(SIMS)
    run = run_from_matrix(SIMS, QUERIES, VIDEOS, "m", qrels=diagonal(), depth=5)
    expected = (
        f"C@1 {100 * (own == 1).mean():.1f} (chance 1.7); ranks of positives: median {np.median(own):g}"
    )
    found = sense_of(run, diagonal(), n_docs=N)
    assert (expected, "") == (found.words, found.warning)


@pytest.mark.parametrize("kind", ["rows moved", "noise", "distances"])
@pytest.mark.parametrize("depth", [5, N])
def test_scrambled_ids_noise_and_distances_are_near_chance(kind: str, depth: int) -> None:
    sims = {"rows moved": np.roll(SIMS, 7, axis=0), "noise": NOISE, "distances": -SIMS}[kind]
    run = run_from_matrix(sims, QUERIES, VIDEOS, "m", qrels=diagonal(), depth=depth)
    assert sense_of(run, diagonal(), n_docs=N).warning.startswith("near chance")


def test_lists_without_ranks_below_are_told_by_how_many_positives_they_hold() -> None:
    for sims, is_near in ((SIMS, False), (np.roll(SIMS, 7, axis=0), True)):
        run = run_from_matrix(sims, QUERIES, VIDEOS, "m", depth=5)
        found = sense_of(run, diagonal(), n_docs=N)
        assert (found.warning != "") is is_near
        assert ("median below the lists" in found.words) is is_near


def test_lists_of_more_than_half_of_the_docs_are_not_near_chance_by_their_length() -> None:
    several = check_qrels(
        pd.DataFrame(
            [(query, VIDEOS[(n + step) % N], 1) for n, query in enumerate(QUERIES) for step in range(12)],
            columns=["query_id", "doc_id", "relevance"],
        )
    )
    places = (np.arange(N)[None, :] - np.arange(N)[:, None]) % N < 12
    for sims, is_near in ((NOISE + 1.5 * places, False), (NOISE, True)):
        run = run_from_matrix(sims.astype(np.float32), QUERIES, VIDEOS, "m", depth=32)
        assert (sense_of(run, several, n_docs=N).warning != "") is is_near


def test_few_positives_tell_nothing_and_no_shared_query_is_said() -> None:
    few = Qrels(diagonal()[:19])
    run = run_from_matrix(-SIMS, QUERIES, VIDEOS, "m", qrels=few)
    assert sense_of(run, few, n_docs=N).warning == ""
    other = check_qrels(pd.DataFrame({"query_id": ["x"], "doc_id": ["v1"], "relevance": 1}))
    found = sense_of(run, other, n_docs=N)
    assert found.words == "none of the 1 queries with a positive is in the run"
    assert "share no query" in found.warning


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Add:
    """A workspace with a collection from a list of captions, and matrices in the list's order."""
    rows = [f"{q},msr{v},{v},take {q}" for q, v in zip(QUERIES, VIDEOS, strict=True)]
    (tmp_path / "list.csv").write_text("\n".join(["key,vid_key,video_id,sentence", *rows]) + "\n")
    (tmp_path / "fire.toml").write_text("")
    np.save(tmp_path / "sim.npy", SIMS)
    np.savez(tmp_path / "own.npz", sims=SIMS, query_ids=QUERIES, doc_ids=VIDEOS)
    places = {str(row): np.argsort(-SIMS[row])[:10].tolist() for row in range(N)}
    (tmp_path / "places.json").write_text(json.dumps(places))
    named = {QUERIES[int(row)]: [VIDEOS[doc] for doc in docs] for row, docs in places.items()}
    (tmp_path / "named.json").write_text(json.dumps(named))
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(main, ["add-collection", "list.csv"])
    assert made.exit_code == 0, made.output
    return lambda *arguments: CliRunner().invoke(main, ["add-run", *arguments])


SAID = f"C@1 {100 * (ranks(SIMS) == 1).mean():.1f} (chance 1.7)"


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--query-ids", "list.csv", "--doc-ids", "list.csv"],
        ["--query-ids", "collection/queries.tsv", "--doc-ids", "collection/items.tsv"],
    ],
)
def test_a_matrix_in_the_order_of_the_benchmarks_list_gets_the_right_ids(
    options: list[str], add: Add
) -> None:
    result = add("sim.npy", "--orientation", "queries-rows", *options)
    assert result.exit_code == 0, result.output
    assert SAID in result.stderr
    note = (
        "note: no ids for queries and docs in sim.npy; they are taken to be in the order of "
        "collection/queries.tsv and collection/items.tsv; if the model used another order, give --query-ids "
        "and --doc-ids\n"
    )
    assert result.stderr.count("note: ") == result.stderr.count(note) == (not options)


@pytest.mark.parametrize("command", ["score", "difference"])
def test_a_matrix_without_ids_is_scored_in_the_order_of_the_collection(command: str, add: Add) -> None:
    """Its numbers are those of the same matrix with its ids; where all runs have ids, nothing is said."""
    np.save("half.npy", NOISE + np.eye(N, dtype=np.float32))
    np.savez("other.npz", sims=NOISE + np.eye(N, dtype=np.float32), query_ids=QUERIES, doc_ids=VIDEOS)
    options = ["--qrels", "collection/qrels.txt", "--measure", "R@1"]
    without, own = (
        CliRunner().invoke(main, [command, *(f"{name}={file}" for name, file in runs), *options])
        for runs in (
            (("a", "sim.npy"), ("b", "half.npy")),
            (("a", "own.npz"), ("b", "other.npz")),
        )
    )
    assert without.exit_code == own.exit_code == 0, without.output + own.output
    assert without.stdout == own.stdout
    note = "no ids for queries and docs in sim.npy and half.npy; they are taken to be in the order of"
    assert (without.stderr.count(note), own.stderr.count(note)) == (1, 0)


def test_ids_map_places_of_json(add: Add) -> None:
    result = add("places.json", "--query-ids", "list.csv", "--doc-ids", "list.csv")
    assert SAID in result.stderr
    assert "doc_ids are places from 0" in result.stderr
    assert "share no query" in add("places.json", "--id", "unnamed").stderr
    Path("places.json").write_text('{"0": [3, 60]}')
    result = add("places.json", "--query-ids", "list.csv", "--doc-ids", "list.csv")
    assert (result.exit_code, "hold '60', neither an id of that list nor a place" in result.stderr) == (
        1,
        True,
    )


@pytest.mark.parametrize("option", ["--query-ids", "--doc-ids"])
def test_an_option_that_the_file_makes_useless_is_refused(option: str, add: Add) -> None:
    said = add("named.json", option, "list.csv")
    assert (said.exit_code, "are ids already" in said.stderr) == (1, True)
    Path("turned.txt").write_text("\n".join((QUERIES if "query" in option else VIDEOS)[::-1]))
    said = add("own.npz", option, "turned.txt", "--orientation", "queries-rows")
    assert (said.exit_code, "has its own" in said.stderr) == (1, True)
    assert SAID in add("own.npz", option, "list.csv", "--orientation", "queries-rows").stderr


def test_numbers_that_are_ids_and_places_are_not_guessed(add: Add) -> None:
    """Refused where a file of ids was asked for, also beside a run that needs it; else ids, and said."""
    Path("ids.txt").write_text("\n".join(str(n) for n in reversed(range(N))))
    said = add("places.json", "--doc-ids", "ids.txt")
    told = "places.json: --doc-ids: its doc_ids may be ids of the list of ids or places in it, which only you"
    assert (said.exit_code, told in said.stderr) == (1, True)
    np.save("bare.npy", SIMS)
    Path("queries.txt").write_text("\n".join(map(str, range(N))))
    Path("bare.query_ids.txt").write_text(Path("queries.txt").read_text())
    pool = ["pool", "bare.npy", "places.json", "--out", "pool", "--qrels", "qrels.txt"]
    Path("qrels.txt").write_text("".join(f"{n} 0 {n} 1\n" for n in range(N)))
    Path("fire.toml").write_text('[runs]\ndoc_ids = "ids.txt"\n')
    said = CliRunner().invoke(main, pool)
    assert said.exit_code == 0, said.output
    assert "places in it; taken as ids\n" in said.stderr


def test_a_files_own_ids_come_before_those_of_the_workspace(add: Add) -> None:
    Path("fire.toml").write_text('[runs]\nquery_ids = "turned.txt"\n')
    Path("turned.txt").write_text("\n".join(QUERIES[::-1]))
    assert SAID in add("own.npz", "--orientation", "queries-rows").stderr


def test_score_reads_a_matrix_with_its_its_own_ids_whatever_lies_beside(add: Add) -> None:
    Path("turned.txt").write_text("\n".join(QUERIES[::-1]))
    run = CliRunner()

    def score(*arguments: str) -> Result:
        return run.invoke(main, ["score", *arguments, "-m", "C@1", "--format", "csv"])

    expected = score("own.npz").stdout
    assert f"{(ranks(SIMS) == 1).mean():.4f}"[:6] in expected
    Path("own.query_ids.txt").write_text(Path("turned.txt").read_text())
    assert expected == score("own.npz").stdout


def test_ids_of_the_workspace_stand_by_for_runs_that_need_them(add: Add) -> None:
    Path("turned.txt").write_text("\n".join(QUERIES[::-1]))
    lines = [f"{q} Q0 {d} 0 {SIMS[n, m]} t\n" for n, q in enumerate(QUERIES) for m, d in enumerate(VIDEOS)]
    Path("t.run").write_text("".join(lines))
    assert add("own.npz", "--id", "native", "--orientation", "queries-rows").exit_code == 0
    run = CliRunner()

    def score(*arguments: str) -> Result:
        return run.invoke(main, ["score", *arguments, "-m", "C@1", "--format", "csv"])

    for name in ("query_ids", "doc_ids"):
        Path(f"sim.{name}.txt").write_text("\n".join(QUERIES if name == "query_ids" else VIDEOS))
    both = score("t.run", "sim.npy")
    value = f"{(ranks(SIMS) == 1).mean():.4f}"[:6]
    assert (both.exit_code, both.stdout.count(value)) == (0, 2), both.output
    Path("fire.toml").write_text('[runs]\nquery_ids = "turned.txt"\n')
    assert value in score("own.npz").stdout
    assert value in score("t.run").stdout
