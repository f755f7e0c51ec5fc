"""`pool --strategy machine` to `score --honest`: the sample travels, and a shared backbone is said."""

from pathlib import Path

import numpy as np
import pytest
from brought import put
from command import as_json, manifest_of, named, pairs_in, run

SCORE = ("score", "--honest", "-m", "P@4")


@pytest.fixture
def judged(here: Path) -> Path:
    """A workspace whose pool was drawn by a judge's score, with labels of all of its pairs."""
    run("init", ".")
    rng, queries = np.random.default_rng(2), [f"q{n}" for n in range(60)]
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + "".join(f"{q}\ta cat\n" for q in queries))
    Path("collection/qrels.txt").write_text("".join(f"{q} 0 d0 1\n" for q in queries))
    pairs = [(query, f"d{n}") for query in queries for n in range(8)]
    for name in ("a", "b"):
        lines = [f"{query} Q0 {doc} 1 {rng.random():.6f} {name}\n" for query, doc in pairs]
        Path(f"runs/{name}.run").write_text("".join(lines))
    positive = {pair: rng.random() < 0.5 for pair in pairs}
    said = [f"j,{q},{doc},{0.8 if positive[q, doc] else 0.3},clip\n" for q, doc in pairs]
    put("machine/j/machine.csv", "judge_id,query_id,doc_id,score,backbone\n" + "".join(said))
    Path("fire.toml").write_text('[runs.a]\nbackbone = "bm25"\n[runs.b]\nbackbone = "CLIP"\n')
    run("pool", "--depth", "4", "--strategy", "machine(judge=j, random=170)", "--budget", "210")
    known = [f"{q},{doc},x,{int(positive[q, doc])}\n" for q, doc in sorted(pairs_in(Path("pool/pool.csv")))]
    put("labels/labels.csv", "query_id,doc_id,label,relevance\n" + "".join(known))
    return here


def test_the_sample_stands_beside_the_qrels_and_a_shared_backbone_is_said(judged: Path) -> None:
    sample = (judged / "pool/machine_sample.csv").read_bytes()
    run("augment")
    assert (judged / "augmented/machine_sample.csv").read_bytes() == sample
    # strata of the sample are no strata of the qrels: other labels stand among them
    assert {len(line.split()) for line in (judged / "augmented/qrels.txt").read_text().splitlines()} == {4}
    shown = run(*SCORE)
    assert "judge j may share errors with b (judge j and run b share the backbone clip)" in shown.stderr
    (judged / "fire.toml").write_text('[runs.A]\n[runs.b]\nbackbone = "Vicuna, CLIP"\n')
    told = run(*SCORE).stderr
    assert "with a, b (the backbone of run a is not named)" in told
    assert "warning: fire.toml: no run is called A; found a, b" in told
    assert "no run is called" not in run(*SCORE, "runs/b.run").stderr
    answers = judged / "machine/j/machine.csv"
    answers.write_text(answers.read_text().replace(",backbone\n", "\n").replace(",clip\n", "\n"))
    assert "out of date: augment (machine/j/machine.csv has changed)" in run(*SCORE).stderr
    run("augment")
    assert "with a, b (the backbone of judge j is not named)" in run(*SCORE).stderr
    assert {row["estimate_method"] for row in as_json(*SCORE)} == {"prediction-powered, judge j"}
    assert "note: P@4: no estimate: a judge's sample tells each" in run("difference", "-m", "P@4").stderr


def test_an_unknown_judge_is_named(judged: Path) -> None:
    pool = ("pool", "--strategy", "machine(judge=k)", "--per-query", "2")
    other = run(*pool, code=1)
    assert "k: no such judge; known are j" in other.stderr
    put(judged / "machine/l/machine.csv", (judged / "machine/j/machine.csv").read_bytes())
    for words in (["next-round", "--ask", "doubts"], ["machine", "check"]):
        told = run(*words, code=1).stderr
        assert "name one of the judges (for `next-round` with --judge): j, l" in told, words
    (judged / "machine/j").rename(judged / "machine/k")
    named = run(*pool, code=1)
    assert "no answer of a judge 'k', found 'j'" in named.stderr


def test_an_import_counts_what_is_known_of_nothing_here(judged: Path) -> None:
    """Queries that the collection lacks and labels that the guideline lacks; this collection has no items."""
    scores = judged / "s.csv"
    scores.write_text("query_id,doc_id,label\nq0,d0,yes\nq0,d1,relevant\nq99,d0,irrelevant\nq98,d9,no\n")
    said = run("machine", "import", scores).stderr
    for odd in ("2 with a query_id that is not known here (such as 'q98')", "2 with a label that is not"):
        assert f"; {odd}" in said
    (judged / "collection/items.tsv").write_text("doc_id\tmedia_url\nd0\td0.png\nd1\td1.png\n")
    assert "1 with a doc_id that is not known here (such as 'd9')" in run("machine", "import", scores).stderr
    inputs = manifest_of(judged / "machine/s/machine.csv")["inputs"]
    assert not [name for name in inputs if "collection" in name]  # what is counted is not written
    known = "query_id,doc_id,label,score\nq0,d0,relevant,.9\nq1,d0,,.3\n"
    scores.write_text(known)
    assert "such as" not in run("machine", "import", scores).stderr


def test_a_check_is_named_where_there_are_labels_to_check_by(judged: Path) -> None:
    Path("said.csv").write_text("query_id,doc_id,score\nq1,d1,.5\n")
    assert named(run("machine", "import", "said.csv")) == "machine check said"
    Path("labels/labels.csv").unlink()  # without which there is nothing to check
    assert named(run("machine", "import", "said.csv")) == "tasks"
