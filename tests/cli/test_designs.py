"""Samples and settled qrels from `pool` to `score`: what is carried on, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import Fire, rows

POOL = ("pool", "clip.run", "ssb.run", "--qrels", "qrels.txt", "--out", "pool")
LABELS = "query_id,doc_id,label,relevance,n_agree\n"
AUGMENT = (
    "augment",
    "--qrels",
    "qrels.txt",
    "--labels",
    "labels.csv",
    "--pool",
    "pool",
    "--out",
    "out/qrels.txt",
)
SETTLE = ("--depth", 2, "--strategy", "settle(C@2)")


def test_deep_queries_go_on_to_the_qrels(fire: Fire, folder: Path) -> None:
    fire(*POOL, "--depth", 1, "--deep-queries", ".5", "--deep-depth", 3, "--seed", 7)
    design = (folder / "pool/query_design.csv").read_text()  # two queries, never below 40: both
    assert design.splitlines() == [
        "query_id,depth,is_sampled,inclusion_probability,seed",
        *("1,3,True,1.0,7", "2,3,True,1.0,7"),
    ]
    strata = {(row["query_id"], row["doc_id"]): row["stratum"] for row in rows(folder / "pool/pool.csv")}
    assert strata == {
        **{("1", "a"): "shallow", ("1", "c"): "shallow", ("2", "b"): "shallow"},
        **{("1", "007"): "deep", ("1", "b"): "deep", ("2", "NA"): "deep", ("2", "a"): "deep"},
    }
    (folder / "labels.csv").write_text(LABELS + "1,b,yes,1,1\n1,c,no,0,1\n")
    fire(*AUGMENT)
    told = fire(*AUGMENT).stderr
    assert "warning: 3 pairs of the sample without a label (2 of them of queries judged deep), 0 in" in told
    (folder / "disputes.csv").write_text("query_id,doc_id,reason\n1,007,tie\n")
    assert "judged deep), 1 in dispute: estimates take them as not relevant" in fire(*AUGMENT).stderr
    assert (folder / "out/query_design.csv").read_text() == design
    assert (
        folder / "out/qrels.txt"
    ).read_text() == "1 0 a shallow 1\n1 0 b deep 1\n1 0 c shallow 0\n2 0 a deep 1\n"
    assert [row["inclusion_probability"] for row in rows(folder / "out/qrels.csv")] == ["1.0"] * 4
    scores = [fire("score", "clip.run", "--qrels", "qrels.txt", "--augmented", name, "--format", "csv").stdout
              for name in ("out/qrels.txt", "out/qrels.csv")]  # fmt: skip
    assert scores[0] == scores[1]
    told = fire(*POOL, "--depth", 1, "--deep-queries", ".5", "--seed", 8, "--previous", "pool", code=1)
    assert "drawn with seed 7, this one with 8; a sample of two designs" in told.stderr


def test_a_sample_that_was_handed_out_is_not_pooled_over(fire: Fire, folder: Path) -> None:
    drawn = ("--depth", 3, "--strategy", "strata(1:1:1,2:3:.5)")
    fire(*POOL, *drawn)
    before = {path.name: path.read_bytes() for path in (folder / "pool").iterdir()}
    told = fire(*POOL, "--depth", 3, "--previous", "pool", code=1).stderr
    assert "pool/pool.csv: a sample that was handed out, and the pool that would take its place" in told
    assert "depth = 3, strategy = 'strata(1:1:1,2:3:.5)'" in told
    assert {path.name: path.read_bytes() for path in (folder / "pool").iterdir()} == before
    fire(*POOL, *drawn, "--previous", "pool")
    fire(*POOL, "--depth", 3)  # nobody was asked: the design may change


def test_the_estimate_of_a_sample_stays_one_of_the_sample_where_votes_correct_it(
    fire: Fire, folder: Path
) -> None:
    """P@2 from all of rank 1 and a fifth of rank 2: undrawn pairs are no negatives."""
    n = 500
    queries, rng = [f"q{number:03}" for number in range(n)], np.random.default_rng(3)
    run = "".join(f"{q} Q0 {q}a 1 2 m\n{q} Q0 {q}b 2 1 m\n" for q in queries)
    (folder / "m.run").write_text(run)
    (folder / "o.txt").write_text("".join(f"{q} 0 {q}o 1\n" for q in queries))
    fire(
        "pool",
        "m.run",
        "--qrels",
        "o.txt",
        "--depth",
        2,
        "--strategy",
        "strata(1:1:1,2:2:.2)",
        "--out",
        "pool",
    )
    lines = ["query_id,doc_id,label,relevance,n_agree,design_class,design_votes"]
    for number, row in enumerate(rows(folder / "pool/pool.csv")):
        rate = 0.95 if number % 5 < 2 else 0.03  # of a positive vote: two in five pairs are relevant
        votes = "".join(str(int(vote)) for vote in rng.random(3) < rate)
        votes = votes if votes[0] != votes[1] else votes[:2]
        label = int(votes.count("1") > 1)
        lines.append(f"{row['query_id']},{row['doc_id']},x,{label},2,doubled,{votes}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    labelled = ("--labels", "labels.csv", "--pool", "pool", "--out", "out/qrels.txt")
    fire("augment", "--qrels", "o.txt", *labelled)
    files = ("--qrels", "o.txt", "--augmented", "out/qrels.txt")
    honest = ("score", "--honest", "m.run", *files)
    found = fire(*honest, "-m", "P@2", "-m", "C@2", "--format", "json")
    precision, hit = json.loads(found.stdout)
    assert precision["estimate_method"] == "corrected if errors are independent"
    labels = {(row["query_id"], row["doc_id"]): int(row["relevance"]) for row in rows(folder / "labels.csv")}
    by_sample = sum(label * (5 if doc.endswith("b") else 1) for (_, doc), label in labels.items()) / (2 * n)
    assert precision["augmented"] < by_sample - 0.1
    assert precision["estimate"] == pytest.approx(by_sample, abs=0.05)
    assert hit["estimate_method"].startswith("refused: ")
    told = fire(*honest, "-m", "P@2", "-m", "C@2").stderr
    assert "P@2: corrected for errors of votes, of which one finds" in told
    assert "P@2: estimated by the sample, and corrected" in told
    assert "C@2: not corrected: it reads pairs that were drawn by chance" in told


def test_undrawn_pairs_are_pooled_and_not_judged(fire: Fire, folder: Path) -> None:
    fire(*POOL, "--depth", 3, "--strategy", "strata(1:1:1,2:3:.5)", "--seed", 0)
    drawn = {(row["query_id"], row["doc_id"]) for row in rows(folder / "pool/pool.csv")}
    left = rows(folder / "pool/undrawn.csv")
    assert {(row["stratum"], row["inclusion_probability"]) for row in left} == {("2:3:0.5", "0.5")}
    sampled = {("1", "b"), ("1", "007"), ("2", "NA")}
    undrawn = {(row["query_id"], row["doc_id"]) for row in left}
    assert undrawn | (drawn & sampled) == sampled
    assert drawn - sampled == {("1", "a"), ("1", "c"), ("2", "a"), ("2", "b")}
    (folder / "labels.csv").write_text(LABELS + "1,c,no,0,1\n")
    fire(*AUGMENT)
    lines = [line.split() for line in (folder / "out/qrels.txt").read_text().splitlines()]
    assert {(line[0], line[2]) for line in lines if line[-1] == "-1"} == (undrawn | drawn) - {
        *(("1", "a"), ("1", "c"), ("2", "a")),
    }
    assert {line[3] for line in lines} == {"original", "1:1:1", "2:3:0.5"}
    one = left[0]
    (folder / "labels.csv").write_text(LABELS + f"{one['query_id']},{one['doc_id']},no,0,1\n")
    told = fire(*AUGMENT, code=1)
    assert "labels: 1 pairs were not drawn by the pool's sample" in told.stderr
    for name in ("out/qrels.txt", "out/qrels.csv"):  # nothing half-written
        assert (folder / name).read_text().count("\n") >= len(lines)


def test_settled_qrels_are_for_their_runs(fire: Fire, folder: Path) -> None:
    told = fire(*POOL, *SETTLE)
    assert "queries stopped: 2 waiting" in told.stderr
    (folder / "labels.csv").write_text(LABELS + "1,c,yes,1,2\n2,b,no,0,1\n")
    fire(*POOL, *SETTLE, "--previous", "pool", "--judged", "labels.csv", "--labels", "labels.csv")
    given = ("--qrels", "qrels.txt", "--augmented", "out/qrels.txt")
    fire(*AUGMENT)
    told = fire("score", "clip.run", "ssb.run", *given, "-m", "C@2").stderr
    assert "note: 1 query not settled yet, so C@2 can still rise: pool again" in told
    (folder / "labels.csv").write_text(LABELS + "1,c,yes,1,2\n2,b,no,0,1\n2,NA,no,0,1\n")
    told = fire(*POOL, *SETTLE, "--previous", "pool", "--judged", "labels.csv", "--labels", "labels.csv")
    assert "queries stopped: 2 settled" in told.stderr
    fire(*AUGMENT)
    settled = json.loads((folder / "out/qrels.txt.manifest.json").read_text())["parameters"]["settled"]
    assert (settled["measure"], list(settled["runs"]), settled["open_queries"]) == ("C@2", ["clip", "ssb"], 0)
    (folder / "late.run").write_text("1 Q0 b 1 9 late\n2 Q0 c 1 9 late\n")
    assert "note" not in fire("score", "clip.run", "ssb.run", *given, "-m", "C@2").stderr
    assert (
        "further answers could change P@2"
        in fire("score", "clip.run", *given, "-m", "C@2", "-m", "P@2").stderr
    )
    for command in ("score", "coverage"):
        told = fire(command, "late.run", *given)
        assert "warning: late: the augmented qrels are settled for C@2 of clip, ssb" in told.stderr
    several = ("--qrels", "qrels.txt", "--qrels", "new=out/qrels.txt", "-m", "C@2")
    for command in (("difference", "clip.run", "late.run", *given, "-m", "C@2"),
                    ("orders", "clip.run", "late.run", *several)):  # fmt: skip
        assert "warning: late: the augmented qrels are settled for C@2" in fire(*command).stderr
    (folder / "clip.run").write_text("1 Q0 b 1 9 clip\n2 Q0 c 1 9 clip\n")  # another run of that name
    assert "warning: clip: the augmented" in fire("score", "clip.run", *given).stderr


def test_settled_labels_are_not_corrected_for_errors(fire: Fire, folder: Path) -> None:
    """By the pool's manifest, whatever its strategy is called; the same labels of a whole pool are."""
    (folder / "labels.csv").write_text(LABELS + "1,b,yes,1,2\n")
    files = ("--qrels", "qrels.txt", "--augmented", "out/qrels.txt")
    honest = ("score", "--honest", "clip.run", "ssb.run", *files, "-m", "C@2")
    fire(*POOL, *SETTLE, "--judged", "labels.csv", "--labels", "labels.csv"), fire(*AUGMENT)
    told = fire(*honest).stderr
    assert "C@2: not corrected for errors of votes: the labels are settled for these runs" in told
    votes = "query_id,doc_id,label,relevance,n_agree,design_class,design_votes\n"
    votes += "1,b,yes,1,2,doubled,11\n1,c,yes,1,1,single,1\n2,b,no,0,1,single,0\n2,NA,no,0,2,doubled,00\n"
    (folder / "labels.csv").write_text(votes)
    words = "the labels are settled for these runs"
    fire(*POOL, "--depth", 2), fire(*AUGMENT)
    assert words not in fire(*honest).stderr
    fire(*POOL, *SETTLE, "--judged", "labels.csv", "--labels", "labels.csv"), fire(*AUGMENT)
    assert words in fire(*honest).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--deep-queries", ".1", "--deep-depth", 10),
            "depth of the deep queries is 10, expected more than",
        ),
        (("--deep-queries", ".1", "--strategy", "settle(C@1)"), "strategy settle has a design of its own"),
        (("--depth", 0), "depth 0, expected 1 or more"),
        (("--strategy", "strata(1:5:1,4:9:.1)"), "4:9:.1 begins at rank 4, expected 6, the rank after"),
        (
            ("--strategy", "strata(1:20:.5)"),
            "reach to rank 20 and the pool to 10, expected --depth 20",
        ),
        (("--strategy", "strata(1:5:1)", "--budget", 9), "as its rates give, and takes no budget"),
    ],
)
def test_an_impossible_design_is_one_line_and_writes_nothing(
    fire: Fire, folder: Path, options: tuple[object, ...], message: str
) -> None:
    told = fire(*POOL, *options, code=1)
    assert message in told.stderr
    assert told.stderr.count("\n") == 1
    assert not (folder / "pool").exists()


def test_a_policy_verifies_every_positive_that_was_drawn(
    fire: Fire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fire("init", "w")
    for name, at in (("clip.run", "runs"), ("ssb.run", "runs"), ("qrels.txt", "collection")):
        (folder / "w" / at / name).write_text((folder / name).read_text())
    (folder / "w/collection/queries.tsv").write_text((folder / "queries.tsv").read_text())
    monkeypatch.chdir(folder / "w")
    fire("pool", "--depth", 3, "--strategy", "strata(1:1:1,2:3:.9)")
    fire("tasks", "--annotator", "A,B", "--overlap", 0, "--policy", "until-confirmed")
    classes = {
        (row["query_id"], row["doc_id"]): row["design_class"] for row in rows(Path("campaign/design.csv"))
    }
    drawn = {
        (row["query_id"], row["doc_id"]) for row in rows(Path("pool/pool.csv")) if row["stratum"][0] == "2"
    }
    assert drawn
    assert {pair for pair, name in classes.items() if name == "verify"} == drawn


def test_fourth_votes_between_grades_raise_no_alarm(fire: Fire, folder: Path) -> None:
    rng = np.random.default_rng(0)
    rate = np.where(rng.random(600) < 0.4, 0.95, 0.03)
    drawn = (rng.random((600, 3)) < rate[:, None]).astype(int)
    votes = ["".join(map(str, each if each[0] != each[1] else each[:2])) for each in drawn]
    votes = [f"{given}0" if given in ("101", "011") else given for given in votes]
    (folder / "o.txt").write_text("".join(f"q{n % 50} 0 o 1\n" for n in range(50)))
    for grade, is_raised in ((1, True), (2, False)):
        lines = [f"q{n % 50},d{n},x,{grade * (given.count('1') > 1)},2,doubled,{given}"
                 for n, given in enumerate(votes)]  # fmt: skip
        header = "query_id,doc_id,label,relevance,n_agree,design_class,design_votes"
        (folder / "labels.csv").write_text("\n".join([header, *lines]) + "\n")
        told = fire(
            "augment", "--qrels", "o.txt", "--labels", "labels.csv", "--out", f"out{grade}.txt"
        ).stderr
        assert "of the new positives an expected" in told
        assert ("hard for everybody" in told) == is_raised
