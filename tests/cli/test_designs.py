"""Samples and settled qrels from `pool` to `score`: what is carried on, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import as_json, by_pair, manifest_of, pairs_in, rows, run

QRELS = ("--qrels", "qrels.txt")
POOL = ("pool", "clip.run", "ssb.run", *QRELS, "--out", "pool")
AUGMENT = ("augment", *QRELS, "--labels", "labels.csv", "--pool", "pool", "--out", "out/qrels.txt")
GIVEN = (*QRELS, "--augmented", "out/qrels.txt")
SETTLE = ("--depth", 2, "--strategy", "settle(C@2)")
STRATA = ("--depth", 3, "--strategy", "strata(1:1:1,2:3:.5)")
pytestmark = pytest.mark.usefixtures("folder")


def label(*lines: str) -> None:
    """Write labels; a line has query, doc, label, relevance, n_agree, and the votes if there are any."""
    design = ",design_class,design_votes" if lines[0].count(",") > 4 else ""
    header = f"query_id,doc_id,label,relevance,n_agree{design}"
    Path("labels.csv").write_text("\n".join([header, *lines, ""]))


def test_deep_queries_go_on_to_the_qrels() -> None:
    run(*POOL, "--depth", 1, "--deep-queries", ".5", "--deep-depth", 3, "--seed", 7)
    design = Path("pool/query_design.csv").read_text()  # two queries, never below 40: both
    header = "query_id,depth,is_sampled,inclusion_probability,seed"
    assert design.splitlines() == [header, "1,3,True,1.0,7", "2,3,True,1.0,7"]
    strata = by_pair(Path("pool/pool.csv"), "stratum")
    shallow = {pair for pair, stratum in strata.items() if stratum == "shallow"}
    assert shallow == {("1", "a"), ("1", "c"), ("2", "b")}
    deep = {pair for pair, stratum in strata.items() if stratum == "deep"}
    assert deep == {*strata} - shallow == {("1", "007"), ("1", "b"), ("2", "NA"), ("2", "a")}
    label("1,b,yes,1,1", "1,c,no,0,1")
    told = run(*AUGMENT).stderr
    assert "warning: 3 pairs of the sample without a label (2 of them of queries judged deep), 0 in" in told
    Path("disputes.csv").write_text("query_id,doc_id,reason\n1,007,tie\n")
    assert "judged deep), 1 in dispute: estimates take them as not relevant" in run(*AUGMENT).stderr
    assert Path("out/query_design.csv").read_text() == design
    qrels = Path("out/qrels.txt").read_text()
    assert qrels == "1 0 a shallow 1\n1 0 b deep 1\n1 0 c shallow 0\n2 0 a deep 1\n"
    assert {row["inclusion_probability"] for row in rows(Path("out/qrels.csv"))} == {"1.0"}
    text, table = (as_json("score", "clip.run", *GIVEN[:-1], f"out/qrels.{end}") for end in ("txt", "csv"))
    assert text == table
    told = run(*POOL, "--depth", 1, "--deep-queries", ".5", "--seed", 8, "--previous", "pool", code=1)
    assert "drawn with seed 7, this one with 8; a sample of two designs" in told.stderr


def test_a_sample_that_was_handed_out_is_not_pooled_over() -> None:
    run(*POOL, *STRATA)
    before = {path: path.read_bytes() for path in Path("pool").iterdir()}
    told = run(*POOL, "--depth", 3, "--previous", "pool", code=1).stderr
    assert "pool/pool.csv: this pool is a sample that was handed out; the one that would replace it" in told
    assert "depth = 3, strategy = 'strata(1:1:1,2:3:.5)'" in told
    assert {path: path.read_bytes() for path in Path("pool").iterdir()} == before
    run(*POOL, *STRATA, "--previous", "pool")
    run(*POOL, "--depth", 3)  # nobody was asked: the design may change


def test_the_estimate_of_a_sample_stays_one_of_the_sample_where_votes_correct_it() -> None:
    """P@2 from all of rank 1 and a fifth of rank 2: undrawn pairs are no negatives."""
    queries, rng = [f"q{number:03}" for number in range(500)], np.random.default_rng(3)
    Path("m.run").write_text("".join(f"{q} Q0 {q}a 1 2 m\n{q} Q0 {q}b 2 1 m\n" for q in queries))
    Path("qrels.txt").write_text("".join(f"{q} 0 {q}o 1\n" for q in queries))
    run("pool", "m.run", *QRELS, "--depth", 2, "--strategy", "strata(1:1:1,2:2:.2)", "--out", "pool")
    lines = []
    for number, row in enumerate(rows(Path("pool/pool.csv"))):
        rate = 0.95 if number % 5 < 2 else 0.03  # of a positive vote: two in five pairs are relevant
        votes = "".join(str(int(vote)) for vote in rng.random(3) < rate)
        votes = votes if votes[0] != votes[1] else votes[:2]
        relevance = int(votes.count("1") > 1)
        lines.append(f"{row['query_id']},{row['doc_id']},x,{relevance},2,doubled,{votes}")
    label(*lines)
    run(*AUGMENT)
    found = run("score", "--honest", "m.run", *GIVEN, "-m", "P@2", "-m", "C@2", "--format", "json")
    precision, hit = json.loads(found.stdout)
    assert precision["estimate_method"] == "corrected if errors are independent"
    labels = by_pair(Path("labels.csv"), "relevance")
    by_sample = sum(int(each) * (5 if doc.endswith("b") else 1) for (_, doc), each in labels.items()) / 1000
    assert precision["augmented"] < by_sample - 0.1
    assert precision["estimate"] == pytest.approx(by_sample, abs=0.05)
    assert hit["estimate_method"].startswith("refused: ")
    assert "P@2: corrected for errors of votes, of which one finds" in found.stderr
    assert "P@2: estimated by the sample, and corrected" in found.stderr
    assert "C@2: not corrected: it reads pairs that were drawn by chance" in found.stderr


@pytest.mark.parametrize(("n", "seed"), [(500, 0), (500, 7), (498, 0), (498, 7)])
def test_the_design_and_not_the_draw_decides_whether_a_sample_is_estimated(n: int, seed: int) -> None:
    """A fifth of n pairs: 100 on average are enough, whether more were drawn (seed 7) or fewer."""
    queries = [f"q{number:03}" for number in range(n)]
    Path("m.run").write_text("".join(f"{q} Q0 {q}a 1 2 m\n{q} Q0 {q}b 2 1 m\n" for q in queries))
    Path("qrels.txt").write_text("".join(f"{q} 0 {q}o 1\n" for q in queries))
    strata = ("--strategy", "strata(1:1:1,2:2:.2)", "--seed", seed)
    run("pool", "m.run", *QRELS, "--depth", 2, *strata, "--out", "pool")
    drawn = rows(Path("pool/pool.csv"))
    assert (len(drawn) - n >= 100) == (seed == 7)
    label(*(f"{row['query_id']},{row['doc_id']},no,0,1" for row in drawn))
    run(*AUGMENT)
    found = json.loads(run("score", "--honest", "m.run", *GIVEN, "-m", "P@2", "--format", "json").stdout)[0]
    refused = f"refused: the design draws {n // 5} of the pairs in its top 2 on average"
    assert found["estimate_method"].startswith("Horvitz–Thompson" if n == 500 else refused)


def test_undrawn_pairs_are_pooled_and_not_judged() -> None:
    run(*POOL, *STRATA, "--seed", 0)
    drawn, left = pairs_in(Path("pool/pool.csv")), rows(Path("pool/undrawn.csv"))
    assert {(row["stratum"], row["inclusion_probability"]) for row in left} == {("2:3:0.5", "0.5")}
    sampled = {("1", "b"), ("1", "007"), ("2", "NA")}
    undrawn = pairs_in(Path("pool/undrawn.csv"))
    assert undrawn | (drawn & sampled) == sampled
    assert drawn - sampled == {("1", "a"), ("1", "c"), ("2", "a"), ("2", "b")}
    label("1,c,no,0,1")
    run(*AUGMENT)
    before = Path("out/qrels.txt").read_text(), Path("out/qrels.csv").read_text()
    lines = [line.split() for line in before[0].splitlines()]
    unjudged = {(line[0], line[2]) for line in lines if line[-1] == "-1"}
    assert unjudged == (undrawn | drawn) - {("1", "a"), ("1", "c"), ("2", "a")}
    assert {line[3] for line in lines} == {"original", "1:1:1", "2:3:0.5"}
    label(f"{left[0]['query_id']},{left[0]['doc_id']},no,0,1")
    assert "labels: 1 pairs were not drawn by the pool's sample" in run(*AUGMENT, code=1).stderr
    assert (Path("out/qrels.txt").read_text(), Path("out/qrels.csv").read_text()) == before


def test_settled_qrels_are_for_their_runs() -> None:
    again = (*POOL, *SETTLE, "--previous", "pool", "--judged", "labels.csv", "--labels", "labels.csv")
    assert "queries stopped: 2 waiting" in run(*POOL, *SETTLE).stderr
    label("1,c,yes,1,2", "2,b,no,0,1")
    run(*again)
    run(*AUGMENT)
    told = run("score", "clip.run", "ssb.run", *GIVEN, "-m", "C@2").stderr
    assert "note: 1 query not settled yet, so C@2 can still rise: pool again" in told
    label("1,c,yes,1,2", "2,b,no,0,1", "2,NA,no,0,1")
    assert "queries stopped: 2 settled" in run(*again).stderr
    run(*AUGMENT)
    settled = manifest_of("out/qrels.txt")["parameters"]["settled"]
    assert (settled["measure"], list(settled["runs"]), settled["open_queries"]) == ("C@2", ["clip", "ssb"], 0)
    assert "note" not in run("score", "clip.run", "ssb.run", *GIVEN, "-m", "C@2").stderr
    told = run("score", "clip.run", *GIVEN, "-m", "C@2", "-m", "P@2").stderr
    assert "further answers could change P@2" in told
    Path("late.run").write_text("1 Q0 b 1 9 late\n2 Q0 c 1 9 late\n")
    for command in (
        ("score", "late.run", *GIVEN),
        ("coverage", "late.run", *GIVEN),
        ("difference", "clip.run", "late.run", *GIVEN, "-m", "C@2"),
        ("orders", "clip.run", "late.run", *QRELS, "--qrels", "new=out/qrels.txt", "-m", "C@2"),
    ):
        told = run(*command).stderr
        assert "warning: late: the augmented qrels are settled for C@2 of clip, ssb" in told
    Path("clip.run").write_text("1 Q0 b 1 9 clip\n2 Q0 c 1 9 clip\n")  # another run of that name
    assert "warning: clip: the augmented" in run("score", "clip.run", *GIVEN).stderr


def test_a_first_pool_without_a_pair_has_nothing_to_ask() -> None:
    Path("qrels.txt").write_text("1 0 a 1\n1 0 c 1\n2 0 b 1\n2 0 NA 1\n2 0 a 1\n1 0 b 1\n1 0 007 1\n")
    told = run(*POOL, *SETTLE).stderr
    assert "0 pairs" in told
    assert "queries stopped: 2 settled\nnothing new to ask" in told
    assert "next: " not in told


def test_settled_labels_are_not_corrected_for_errors() -> None:
    """By the pool's manifest, whatever its strategy is called; the same labels of a whole pool are."""
    settled = (*POOL, *SETTLE, "--judged", "labels.csv", "--labels", "labels.csv")
    one = ["1,b,yes,1,2"]
    voted = [
        "1,b,yes,1,2,doubled,11",
        "1,c,yes,1,1,single,1",
        "2,b,no,0,1,single,0",
        "2,NA,no,0,2,doubled,00",
    ]
    words = "C@2: not corrected for errors of votes: the labels are settled for these runs"
    for labels, pool, is_said in (
        (one, settled, True),
        (voted, (*POOL, "--depth", 2), False),
        (voted, settled, True),
    ):
        label(*labels)
        run(*pool)
        run(*AUGMENT)
        honest = run("score", "--honest", "clip.run", "ssb.run", *GIVEN, "-m", "C@2")
        assert (words in honest.stderr) == is_said


@pytest.mark.usefixtures("workspace")
def test_a_policy_verifies_every_positive_that_was_drawn() -> None:
    run("pool", "--depth", 3, "--strategy", "strata(1:1:1,2:3:.9)")
    run("tasks", "--annotator", "A,B", "--overlap", 0, "--policy", "until-confirmed")
    classes, strata = (by_pair(Path(file), column) for file, column in (
        ("campaign/design.csv", "design_class"), ("pool/pool.csv", "stratum")
    ))  # fmt: skip
    drawn = {pair for pair, stratum in strata.items() if stratum[0] == "2"}
    assert drawn
    assert {pair for pair, name in classes.items() if name == "verify"} == drawn


@pytest.mark.parametrize(("grade", "is_raised"), [(1, True), (2, False)])
def test_fourth_votes_between_grades_raise_no_alarm(grade: int, is_raised: bool) -> None:
    rng = np.random.default_rng(0)
    rate = np.where(rng.random(600) < 0.4, 0.95, 0.03)
    drawn = (rng.random((600, 3)) < rate[:, None]).astype(int)
    votes = ["".join(map(str, each if each[0] != each[1] else each[:2])) for each in drawn]
    votes = [f"{given}0" if given in ("101", "011") else given for given in votes]
    Path("qrels.txt").write_text("".join(f"q{n} 0 o 1\n" for n in range(50)))
    relevances = [grade * (given.count("1") > 1) for given in votes]
    label(*(f"q{n % 50},d{n},x,{relevances[n]},2,doubled,{given}" for n, given in enumerate(votes)))
    told = run("augment", *QRELS, "--labels", "labels.csv", "--out", "out.txt").stderr
    assert "of the new positives an expected" in told
    assert ("hard for everybody" in told) == is_raised
