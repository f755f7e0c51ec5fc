"""Bad input gives one clear line and its exit code, and leaves nothing half-written."""

import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from command import Fire

import fire_toolkit


def error_line(result: Result) -> str:
    lines = [line for line in result.stderr.splitlines() if line.lower().startswith("error: ")]
    assert len(lines) == 1, result.output
    return lines[0]


BOTH = "clip.run ssb.run --qrels qrels.txt"
POOL = f"pool {BOTH} --out out"
NEXT_ROUND = "next-round --judgments judgments.csv --labels labels --out plan"
RELEASE = Path(__file__).parents[1] / "golden/fire-release/release.json"
# What is typed in the folder of small files, and what is said of it; first what ends with 1, then with 2.
CANNOT = {
    "pool none.run --out out": "none.run: no such file",
    "pool clip.run --out qrels.txt": "qrels.txt: is a file, expected a folder",
    "score clip.run --qrels qrels.txt --out .": ".: is a folder",
    "pool clip.run --out /proc/nowhere/pool": "/proc/nowhere: cannot be written",
    "pool clip.run --depth 0 --out out": "error: depth 0, expected 1 or more",
    "compare clip.run ssb.run --rbo-p 1.0": "expected a number strictly between 0 and 1",
    "score clip.run --qrels qrels.txt -m nDGC@10": "no measure 'nDGC@10'; did you mean nDCG@10?",
    "score -m --help": "no measure '--help'",
    "measures NDGC@10": "did you mean nDCG@10?",
    "add-run a --allow x --out r": "--allow x: expected some of nan, inf",
    "snippet lavi": "did you mean 'lavis'?",
    "guideline nope": "nope: no guideline of that name",
    "status": "no fire.toml in this folder or above it",
    "gallery": "a gallery is made from a workspace",
    "report methods": "no fire.toml in this folder or above it, so nothing is known of the study",
    "score clip.run --qrels qrels.txt --ties expected -m MedR": "no closed form for MedR; leave them out",
    "score clip.run --qrels qrels.txt --queries queries.tsv --by kin": "no column 'kin'; found query_id",
    f"reuse {BOTH} --augmented a --pool-sources p --family late": "'late'; expected NAME=RUN,RUN",
    f"plan {BOTH} --budget 2h": "a budget in hours needs the seconds that a judgment takes; give --seconds",
    f"plan {BOTH} --budget nan": "--budget nan: expected judgments, as in 5000, or hours, as in 80h",
    f"plan {BOTH} --budget much": "--budget much: expected judgments, as in 5000, or hours, as in 80h",
    f"plan {BOTH} --draw-pilot 50 --all": "--draw-pilot does not read --all",
    f"plan {BOTH} -m MedR": "MedR: plan takes measures that are means over queries",
    "audit --queries queries.tsv --qrels qrels.txt --media m --out a": "name them with --items",
    "demo --out .": ".: already exists and is no demo",
    f"import {RELEASE} --out a": "no fire.toml in this folder or above it",
    "release check nowhere": "nowhere: no such folder; expected a release",
    "agree judgments.csv --measure kappa": "statistic 'kappa' is unknown",
    "agree judgments.csv --exclude ann": "--exclude needs a --reason",
    "agree judgments.csv --exclude ann --reason ' '": "--exclude needs a --reason",
    "resolve judgments.csv --out out --reason why": "--exclude needs a --reason",
    "agree judgments.csv --exclude a --exclude b --exclude c --reason x --reason y": "one for each",
    "resolve judgments.csv --out out --exclude di --reason x": "no judgment is by di; annotators: ann, bob",
    "next-round --judgments judgments.csv --labels nowhere --out plan": "disputes.csv",
    f"{POOL} --deep-queries .1 --deep-depth 10": "depth of the deep queries is 10, expected more",
    f"{POOL} --deep-queries .1 --strategy settle(C@1)": "strategy settle has a design of its own",
    f"{POOL} --strategy strata(1:5:1,4:9:.1)": "4:9:.1 begins at rank 4, expected 6, the rank",
    f"{POOL} --strategy strata(1:20:.5)": "reach to rank 20 and the pool to 10, expected --depth",
    f"{POOL} --strategy strata(1:5:1) --budget 9": "as its rates give, and takes no budget",
}
USAGE = {
    "resolv": "No such command 'resolv'. Did you mean 'resolve'?",
    "push --url http://127.0.0.1:9": "--url is no option here: set FIRE_LABEL_STUDIO_URL",
    "pool --out x": "no run given, and no workspace names any",
    "report html": "no run given, and no workspace names any",
    "pool clip.run": "--out is needed outside a workspace",
    "add-run clip.run": "--out is needed outside a workspace",
    "add-collection queries.tsv": "--out is needed outside a workspace",
    "import x.json": "--out is needed outside a workspace",
    "score clip.run": "--qrels is needed outside a workspace",
    "report table1 clip.run --qrels qrels.txt": "--augmented is needed",
    "push": "fire-toolkit init",
    "pull": "fire-toolkit init",
    "progress": "fire-toolkit init",
    "next-round": "fire-toolkit init",
    "next-round --judgments judgments.csv --out plan": "--labels is needed",
    f"{NEXT_ROUND} --annotator A04": "--annotator is for a campaign, and none has begun here",
    f"{NEXT_ROUND} --random-share .5": "is of stratum random, which is not asked; add --ask random",
    "resolve judgments.csv --out out --share-judgments same-text": "--queries is needed outside a workspace",
    "pool clip.run --depth -1 --out out": "Invalid value for '--depth'",
    "tasks pool --overlap 1.5 --out t.json": "Invalid value for '--overlap'",
    "plan --tell nan": "'--tell': nan is not a number",
    "plan --within nan": "'--within': nan is not a number",
    "pool --deep-queries nan": "'--deep-queries': nan is not a number",
    "tasks pool --overlap NaN": "'--overlap': NaN is not a number",
    "score - --qrels - -m C@1": "`-` is given twice: standard input can be read once",
    "add-run - - --out out": "`-` is given twice: standard input can be read once",
    "add-collection - - --out out": "`-` is given twice: standard input can be read once",
    "add-run a b --id x --out r": "--id names one run",
    "add-run a b --scores distance --similarity dot --out r": "are of two kinds of FILEs",
    "own --labels l --qrels q --pool-sources . --pool-sources b": "given 2 times; pool all runs together",
    "score ssb.run --qrels qrels.txt --ties index": "--ties index needs the collection's docs in their order",
    "score ssb.run --honest --ties average": "--ties does not go with --honest; leave one of them out",
    "score ssb.run --honest --curves": "--curves does not go with --honest; leave one of them out",
    "score ssb.run --by kind --per-query": "--by does not go with --per-query; leave one of them out",
    "score ssb.run --qrels qrels.txt --policy drop": "--policy does nothing without --honest; add it",
    "score ssb.run --qrels qrels.txt --folds 5": "--folds does nothing without --direction; add it",
    "score ssb.run --qrels qrels.txt --back q": "--back does nothing without --direction; add it",
    "score --direction both --qrels qrels.txt": "expected one matrix, or two runs",
    "score --direction both m.npz --back q --augmented a": "--augmented does not go with --back",
    "report table1 --train queries.tsv": "--train does not go with table1; leave one of them out",
    "report table3 --qrels qrels.txt": "--qrels does not go with table3; leave one of them out",
    "report methods -m AP": "-m does not go with methods; leave one of them out",
    "report html --format csv": "--format does not go with html; leave one of them out",
    "report similarity --figure scores": "--figure does not go with similarity; leave one of them out",
    "release": "--version is needed",
    "release --format fire --version 1.0": "--format fire goes with --tables and --out alone",
    "release --tables t": "--tables is for --format fire",
    "release --format fire": "--out is needed: the JSON to write",
}


@pytest.mark.parametrize(
    ("typed", "said", "code"),
    [(*case, code) for code, cases in ((1, CANNOT), (2, USAGE)) for case in cases.items()],
)
def test_what_cannot_be_typed_is_refused(fire: Fire, folder: Path, typed: str, said: str, code: int) -> None:
    before = sorted(folder.iterdir())
    assert said in error_line(fire(*shlex.split(typed), code=code))
    assert sorted(folder.iterdir()) == before


RUN_FILES = {
    "empty": (b"", "run: empty file, expected at least one line"),
    "five fields": (b"1 Q0 a 1 9 m\n1 Q0 b 2 m\n", "run:2: 5 fields, expected 6 (query_id Q0 doc_id"),
    "a space in an id": (b"1 Q0 a b 1 9 m\n", "run:1: 7 fields, expected 6"),
    "NaN": (b"1 Q0 a 1 nan m\n", "run:1: score 'nan', expected a finite number"),
    "infinity": (b"1 Q0 a 1 9 m\n1 Q0 b 2 -inf m\n", "run:2: score '-inf', expected a finite number"),
    "words": (b"1 Q0 a 1 high m\n", "run:1: score 'high' is not a number"),
    "twice": (b"1 Q0 a 1 9 m\n1 Q0 a 2 8 m\n", "run: run_id, query_id, doc_id given twice (1 rows; m 1 a)"),
    "two runs": (b"1 Q0 a 1 9 m\n1 Q0 b 2 8 n\n", "2 run ids in one file (m, n), expected one"),
    "not UTF-8": (b"1 Q0 \xff 1 9 m\n", "run:1: byte 0xff is not UTF-8"),
    "cut gzip": (b"\x1f\x8b\x08\x00abc", "run: damaged gzip file"),
    "NUL": (b"1 Q0 a\x00 1 9 m\n", "run:1: a NUL byte"),
    "another collection": (b"x Q0 a 1 9 m\n", "is it a run for another "),
}


def test_a_bad_qrels_file(fire: Fire, folder: Path) -> None:
    for text, expected in (("1 0 a\n", "q.txt:1: 3 fields, expected 4 or 5"), ("", "q.txt: empty file")):
        (folder / "q.txt").write_text(text)
        assert expected in error_line(fire("score", "clip.run", "--qrels", "q.txt", "-m", "C@1", code=1))


@pytest.mark.parametrize("name", RUN_FILES)
@pytest.mark.parametrize("command", ["pool", "score"])
def test_a_bad_run_file(fire: Fire, folder: Path, name: str, command: str) -> None:
    content, expected = RUN_FILES[name]
    (folder / "run").write_bytes(content)
    options = ("--qrels", "qrels.txt", *(("--out", "out") if command == "pool" else ("-m", "C@1")))
    assert expected in error_line(fire(command, "run", *options, code=1))
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("sims", "ids", "expected"),
    [
        (np.ones((4, 2)), "abc", "shape 4 × 2, but 2 query ids and 3 doc ids; expected queries × docs"),
        (np.ones((2, 3)), "aba", "'a' is given twice"),
        (np.ones((2, 3)), "", "no query ids and doc ids"),
        ([[1, 1, 1], [1, 1, np.nan]], "abc", "row 1, column 2 (query 2, doc c)"),
    ],
)
def test_a_matrix_that_is_no_run(fire: Fire, folder: Path, sims: object, ids: str, expected: str) -> None:
    named = {"query_ids": ["1", "2"], "doc_ids": list(ids)} if ids else {}
    np.savez(folder / "m.npz", sims=sims, **named)
    assert expected in error_line(fire("pool", "m.npz", "--out", "out", code=1))


def test_a_cut_off_matrix(fire: Fire, folder: Path) -> None:
    np.save(folder / "m.npy", np.ones((2, 3)))
    np.savez(folder / "m.npz", sims=np.ones((2, 3)), query_ids=["1", "2"], doc_ids=["a", "b", "c"])
    (folder / "m.query_ids.txt").write_text("1\n2\n")
    (folder / "m.doc_ids.txt").write_text("a\nb\nc\n")
    for name, lost, expected in (("m.npy", 5, "truncated"), ("m.npz", 50, "m.npz: damaged")):
        (folder / name).write_bytes((folder / name).read_bytes()[:-lost])
        assert expected in error_line(fire("pool", name, "--out", "out", code=1))


def test_a_label_that_the_guideline_does_not_know(fire: Fire, folder: Path) -> None:
    judged = (folder / "judgments.csv").read_text()
    (folder / "judgments.csv").write_text(judged.replace("irrelevant", "unrelated"))
    for command in (["resolve", "judgments.csv", "--out", "out"], ["agree", "judgments.csv"]):
        line = error_line(fire(*command, code=1))
        assert "unrelated" in line
        assert "caption-relevance-v1" in line
    assert not (folder / "out").exists()


def test_labels_of_no_guideline_can_be_compared_but_not_resolved(fire: Fire, folder: Path) -> None:
    answers = "1,a,x,cat\n1,a,y,cat\n1,b,x,dog\n1,b,y,dog\n"
    (folder / "j.csv").write_text("query_id,doc_id,annotator_id,label\n" + answers)
    assert ",alpha,nominal,1.0,2,2,2," in fire("agree", "j.csv", "--format", "csv").stdout
    assert "name their guideline" in error_line(fire("resolve", "j.csv", "--out", "out", code=1))


def test_an_id_that_joins_nothing(fire: Fire, folder: Path) -> None:
    (folder / "labels.csv").write_text("query_id,doc_id,label,relevance\nother,a,relevant,1\n")
    files = ("--qrels", "qrels.txt", "--labels", "labels.csv", "--out", "out.txt")
    assert "not in the original qrels (other)" in error_line(fire("augment", *files, code=1))
    fire("pool", "clip.run", "--out", "pool")
    (folder / "queries.tsv").write_text("query_id\ttext\n1\tone\n")
    options = ("--queries", "queries.tsv", "--out", "tasks.json")
    assert "1 of 2" in error_line(fire("tasks", "pool", *options, code=1))
    assert not (folder / "out.txt").exists()
    assert not (folder / "tasks.json").exists()


def test_what_stood_there_is_kept_when_a_command_fails(fire: Fire, folder: Path) -> None:
    fire("pool", "clip.run", "--out", "out")
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    (folder / "clip.run").write_text("1 Q0 a\n")
    fire("pool", "clip.run", "--out", "out", code=1)
    assert before == {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def test_every_range_refuses_nan() -> None:
    own = Path(fire_toolkit.__file__).parent
    assert [path.name for path in own.rglob("*.py") if "type=click.FloatRange" in path.read_text()] == []
