"""Estimates and bounds beside a score: queries judged deep, pairs drawn, and docs that no run lists."""

import json
import re
from math import log2
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Fire, write_run
from reports import section_of

ORIGINAL = ("--qrels", "o.txt")
N = 80


@pytest.fixture
def deep(fire: Fire, folder: Path) -> Path:
    """Two docs a query, the first judged for all, the second for every other query, and their qrels."""
    queries, numbers = [f"q{number:02}" for number in range(N)], np.arange(N)
    first = pd.DataFrame({"query_id": queries, "doc_id": "a", "stratum": "shallow", "relevance": 0})
    second = first.assign(doc_id="b", stratum="deep", relevance=(numbers % 3 < 2).astype(int))[::2]
    pairs = pd.concat([first.assign(relevance=(numbers % 4 < 2).astype(int)), second])
    drawn = {"shallow": 1.0, "deep": 0.5}
    pairs = pairs.assign(label="x", inclusion_probability=pairs["stratum"].map(drawn), run_id="m", rank=1)
    design = pd.DataFrame({"query_id": queries, "depth": [2, 1] * 40, "is_sampled": [True, False] * 40})
    (folder / "pool").mkdir()
    (folder / "labels").mkdir()
    for place, table, columns in (
        ("pool/pool", pairs, ["stratum", "inclusion_probability"]),
        ("pool/pool_sources", pairs, ["run_id", "rank"]),
        ("labels/labels", pairs, ["label", "relevance"]),
    ):
        table[["query_id", "doc_id", *columns]].to_csv(folder / f"{place}.csv", index=False)
    design = design.assign(inclusion_probability=0.5, seed=0)
    design.to_csv(folder / "pool/query_design.csv", index=False)
    (folder / "o.txt").write_text("".join(f"{query} 0 c 1\n" for query in queries) + "q00 0 a 1\n")
    write_run(folder / "m.run", dict.fromkeys(queries, "ab"))
    fire("augment", "--labels", "labels", *ORIGINAL, "--out", "qrels/qrels.txt")
    return folder


def test_score_honest_shows_and_keeps_the_estimate_beside_the_score(fire: Fire, deep: Path) -> None:
    fire("augment", "--labels", "labels", "--pool", "pool", *ORIGINAL, "--out", "deep/qrels.txt")
    files = (*ORIGINAL, "--augmented", "deep/qrels.txt")
    honest = ("score", "m.run", "--honest", *files, "-m", "R@1")
    shown = fire(*honest)
    assert shown.stdout.splitlines()[0].split()[-3:] == ["est.", "never", "judged"]
    assert "note: est.: of the depth-2 union; 40 of 80 queries judged deep" in shown.stderr
    printed = fire(*honest, "-m", "C@1", "--format", "latex").stdout
    assert "% note: est. of R@1: of the depth-2 union; 40 of 80 queries judged deep" in printed
    row = json.loads(fire(*honest, "--format", "json").stdout)[0]
    assert row["estimate_method"] == "two-phase difference"
    assert row["estimate_low"] < row["estimate"] < row["estimate_high"] < row["augmented"]
    assert f"{100 * row['estimate']:.1f} (" in shown.stdout
    assert f"{100 * row['augmented']:.1f} (" in shown.stdout
    write_run(deep / "n.run", {f"q{number:02}": "ba" for number in range(N)})
    both = ("difference", "m.run", "n.run", *ORIGINAL, "--augmented", "deep/qrels.txt", "-m", "R@1")
    shown = fire(*both, "--format", "latex").stdout
    assert "est. a - b" in shown.splitlines()[2]
    assert "% note: est. a - b: from the queries judged deep" in shown


def test_score_says_below_the_table_by_how_much_a_measure_is_off(fire: Fire, deep: Path) -> None:
    both = ("score", "m.run", *ORIGINAL, "--augmented", "qrels/qrels.txt")
    unknown = "R@1: relevant docs that nobody judged push it up, wrong new positives push it down"
    for words in (both, (*both, "--honest")):
        told = fire(*words, "-m", "R@1", "-m", "C@1").stderr
        assert f"note: {unknown}" in told
        assert "which weighs more is not known" in told
        assert "too high" not in told
        assert "too low" not in told
    assert "% note: R@1: relevant docs" in fire(*both, "-m", "R@1", "--format", "latex").stdout
    for safe in (fire(*both, "-m", "C@1"), fire("score", "m.run", *ORIGINAL, "-m", "R@1")):
        assert "never pooled" not in safe.stderr + safe.stdout
    fire("augment", "--labels", "labels", "--pool", "pool", *ORIGINAL, "--out", "qrels/qrels.txt")
    known = fire(*both, "-m", "R@1", "--format", "markdown").stdout
    assert "\nNote: R@1: at least about 31% of positives (" in known
    assert "by these labels R@1 is too high by an estimated" in known
    (deep / "q.csv").write_text("query_id,text\n" + "".join(f"q{number:02},a cat\n" for number in range(N)))
    fire("report", "html", *both[1:], "--queries", "q.csv", "--out", "report.html")
    (cells,) = re.findall(r'<th scope="row">m</th>(<td.*?)</tr>', (deep / "report.html").read_text())[:1]
    marks = ["†" in cell for cell in cells.split("</td>")[:-1]]
    assert marks == [False, False, False, True, True, False]  # C@1, C@5, C@10, AP, nDCG@10, MedR
    (deep / "qrels/evidence.csv").unlink()
    refused = fire(*both, "-m", "R@1", code=1)
    assert "error: qrels/evidence.csv: no such file, and scores read it beside qrels" in refused.stderr


def test_an_original_that_a_policy_drops_is_no_pair_without_a_label(fire: Fire, deep: Path) -> None:
    (deep / "o.txt").write_text((deep / "o.txt").read_text() + "q02 0 a 1\nq06 0 a 1\n")  # both rejected
    found = []
    for policy in ("override", "drop"):
        files = (*ORIGINAL, "--out", f"{policy}/qrels.txt", "--policy", policy)
        fire("augment", "--labels", "labels", "--pool", "pool", *files)
        told = ("--augmented", f"{policy}/qrels.txt", "-m", "R@1", "-m", "C@1", "--format", "json")
        rows = json.loads(fire("score", "m.run", "--honest", *ORIGINAL, *told).stdout)
        found.append([(row["augmented"], row["estimate"], row["estimate_method"]) for row in rows])
    assert found[0] == found[1]


RUNS = ("a.run", "b.run")
BOTH = (*ORIGINAL, "--augmented", "out/qrels.txt", "--format", "json")


def write_two_runs(folder: Path) -> None:
    """Write two runs of 60 queries, whose original positive is first in a and third in b."""
    for name, step in (("a", 1), ("b", 3)):
        docs = [f"d{(rank * step + (step - 1)) % 14}" for rank in range(10)]
        write_run(folder / f"{name}.run", dict.fromkeys([f"q{query:02}" for query in range(60)], docs))
    (folder / "o.txt").write_text("".join(f"q{query:02} 0 d0 1\n" for query in range(60)))


def judge(fire: Fire, stratum: str, n_positive: int) -> int:
    """Augment by labels of the whole pool, the first so many of a stratum relevant; return its size."""
    pool = pd.read_csv("pool/pool.csv", dtype=str)
    drawn = np.flatnonzero(pool["stratum"] == stratum)
    relevance = np.isin(np.arange(len(pool)), drawn[:n_positive]).astype(int)
    labels = pool[["query_id", "doc_id"]].assign(label="x", relevance=relevance)
    labels.to_csv("labels.csv", index=False)
    fire("augment", "--labels", "labels.csv", "--pool", "pool", *ORIGINAL, "--out", "out/qrels.txt")
    return len(drawn)


def test_queries_judged_deep_give_an_estimate_even_where_no_score_changes(fire: Fire, folder: Path) -> None:
    write_two_runs(folder)
    deep = ("--deep-queries", 0.7, "--deep-depth", 10)
    fire("pool", *RUNS, *ORIGINAL, "--depth", 2, *deep, "--out", "pool")
    for n_positive in (0, 1, 8, 200):
        assert judge(fire, "deep", n_positive) > 200
        told = fire("score", "--honest", *RUNS, *BOTH, "-m", "R@10", "-m", "AP", "-m", "C@10")
        rows = {(row["run_id"], row["measure"]): row for row in json.loads(told.stdout)}
        for row in (rows["a", "R@10"], rows["a", "AP"], rows["b", "AP"]):
            assert row["estimate_method"] == "two-phase difference"
            assert row["estimate_low"] < row["estimate_high"]
        assert rows["a", "C@10"]["estimate_method"].startswith("refused: the first positive decides it")


def test_the_design_alone_decides_whether_pairs_drawn_give_an_estimate(fire: Fire, folder: Path) -> None:
    """However few are relevant."""
    write_two_runs(folder)
    fire("pool", *RUNS, *ORIGINAL, "--depth", 10, "--strategy", "strata(1:2:1,3:10:.5)", "--out", "pool")
    methods = []
    for n_positive in (0, 3, 9, 60):
        assert judge(fire, "3:10:0.5", n_positive) > 100
        told = fire("score", "--honest", *RUNS, *BOTH, "-m", "P@10", "-m", "P@2", "-m", "C@10")
        rows = {(row["run_id"], row["measure"]): row for row in json.loads(told.stdout)}
        methods.append([row["estimate_method"] for row in rows.values()])
        for row in (rows["a", "P@10"], rows["b", "P@10"]):
            assert row["estimate_method"] == "Horvitz–Thompson"
            assert row["estimate_low"] < row["estimate_high"]
            assert row["estimate_low"] - 1e-9 <= row["estimate"] <= row["estimate_high"]
        if n_positive == 0:  # what was known and nothing more: one positive in ten a query
            known = rows["a", "P@10"]
            assert (known["estimate"], known["estimate_low"]) == pytest.approx((0.1, 0.1))
        differ = fire("difference", *RUNS, *BOTH, "-m", "P@10")
        (row,) = [each for each in json.loads(differ.stdout) if each["qrels"] == "augmented"]
        assert row["estimate_low"] < row["estimate_high"]
        few = "estimates of P@10 rest on fewer than 15 positives that the draw brought; their intervals"
        assert [few in said for said in (told.stderr, differ.stderr)] == [n_positive < 15, True]
        assert "docs without a label count as not relevant; if all were relevant: P@10 +" in differ.stderr
    assert methods[1:] == methods[:-1]
    points = [100 * (rows[run, "P@10"]["estimate"] - rows[run, "P@10"]["augmented"]) for run in "ab"]
    ends = " to ".join(map(str, sorted({round(each) for each in points})))
    plain = fire("score", *RUNS, *BOTH, "-m", "P@10", "-m", "P@2", "-m", "C@10").stderr
    left_out = "docs that the sample left out count as not relevant, which makes it"
    assert f"P@10: {left_out} too low by an estimated {ends} points (`score --honest`)" in plain
    assert f"C@10: {left_out} worse by an unknown amount" in plain
    assert f"P@2: {left_out}" not in plain
    docs = ["d0", *(f"x{number}" for number in range(9))]
    write_run(Path("late.run"), dict.fromkeys([f"q{query:02}" for query in range(60)], docs))
    late = fire("score", "a.run", "late.run", *BOTH, "-m", "P@10").stderr
    assert f"P@10 of a: {left_out} too low by an estimated" in late
    assert f"P@10 of late: {left_out} worse by an unknown amount" in late
    Path("queries.tsv").write_text("query_id\ttext\n" + "".join(f"q{query:02}\tx\n" for query in range(60)))
    beside = ("--pool-sources", "pool", "--queries", "queries.tsv", "--out", "r.html")
    assert fire("report", "html", *RUNS, *BOTH[:4], *beside).stderr.startswith(
        "At least 60 right answers counted"
    )
    shown = section_of(Path("r.html").read_text(), "scores").partition("<details")[0]
    assert f"†</span> C@5, C@10 and MedR: {left_out.removesuffix(' it')} them worse; how far is" in shown
    assert shown.count("†</span><span") == 2 * 5  # beside these AP and nDCG@10, of two runs
    drawn = fire("score", *RUNS, *BOTH, "--curves").stderr
    assert f"P@10: {left_out} too low by an estimated {ends} points" in drawn
    assert f"P@100: {left_out} worse by an unknown amount" in drawn
    qrels = [line.split() for line in Path("out/qrels.txt").read_text().splitlines()]
    n_open = sum(relevance == "-1" for *_, relevance in qrels)
    sizes = f"o.txt 60 pairs, qrels.txt {len(qrels):,} pairs ({n_open:,} of them not judged)"
    alone = fire("score", *RUNS, "--qrels", "out/qrels.txt", "-m", "P@10").stderr
    assert f"{len(qrels):,} pairs in the corrected qrels" in alone
    assert f"({n_open:,} of them not judged)" in alone
    assert sizes in fire("orders", *RUNS, *ORIGINAL, "--qrels", "out/qrels.txt").stderr
    Path("fire.toml").write_text('[collection]\nqrels = "o.txt"\n')
    fire("augment", "--labels", "labels.csv")
    ordered = fire("orders", *RUNS, "-m", "P@10", "-m", "P@2", "-m", "R@10").stderr
    assert f"P@10: {left_out} too low by an estimated {ends} points" in ordered
    assert "R@10: at least about" in ordered
    assert "augmented: docs without a label count as not relevant; if all were relevant: P@10 +" in ordered
    assert f"P@2: {left_out}" not in ordered
    Path("fire.toml").unlink()
    pairs = pd.read_csv("labels.csv", dtype=str)
    in_dispute = pairs[(pairs["relevance"] == "0") & (pairs["doc_id"] != "d0")].index[::40]
    pairs.drop(in_dispute).to_csv("labels.csv", index=False)
    fire("augment", "--labels", "labels.csv", "--pool", "pool", *ORIGINAL, "--out", "out/qrels.txt")
    told = fire("score", "--honest", *RUNS, *BOTH, "-m", "P@10")
    wider = {row["run_id"]: row for row in json.loads(told.stdout)}
    assert f"{len(in_dispute)} pairs that the design asks about have no label yet" in told.stderr
    for run in "ab":
        before = rows[run, "P@10"]
        assert wider[run]["estimate"] == pytest.approx(before["estimate"])
        assert wider[run]["estimate_high"] > before["estimate_high"] + 0.001


def test_a_relevant_doc_that_was_never_pooled_counts(fire: Fire) -> None:
    """Two relevant docs a query, the second at rank 20; judged to depth 5: R@5 was "100.0 to 100.0"."""
    queries = [f"q{number:02}" for number in range(20)]
    docs = [f"d{place:02}" for place in range(1, 21)]
    write_run(Path("m.run"), dict.fromkeys(queries, docs))
    Path("qrels.txt").write_text("".join(f"{q} 0 d01 1\n" for q in queries))
    labels = "".join(f"{q},d{place:02},x,{int(place == 1)}\n" for q in queries for place in range(1, 6))
    Path("labels.csv").write_text("query_id,doc_id,label,relevance\n" + labels)
    benchmark = ("--qrels", "qrels.txt", "--augmented", "augmented.txt")
    fire("augment", *benchmark[:2], "--labels", "labels.csv", "--out", "augmented.txt")
    named = [word for name in ("R@5", "nDCG@5", "AP", "P@5") for word in ("-m", name)]
    result = fire("score", "--honest", "m.run", *benchmark, *named, "--format", "json")
    found = {row["measure"]: row for row in json.loads(result.stdout)}
    Path("truth.txt").write_text("".join(f"{q} 0 d01 1\n{q} 0 d20 1\n" for q in queries))
    told = fire("score", "m.run", "--qrels", "truth.txt", *named, "--format", "json")
    truth = {row["measure"]: row["value"] for row in json.loads(told.stdout)}
    assert (truth["R@5"], truth["nDCG@5"]) == pytest.approx((0.5, 1 / (1 + 1 / log2(3))))
    assert [found[name]["lower"] for name in ("R@5", "AP")] == [None, None]
    assert found["nDCG@5"]["lower"] == pytest.approx(1 / sum(1 / log2(rank + 1) for rank in range(1, 6)))
    for name, value in truth.items():
        assert (found[name]["lower"] or 0) - 1e-12 <= value <= found[name]["upper"] + 1e-12, name
        assert found[name]["judged"] == (1.0 if name != "AP" else 0.25)
    assert found["P@5"]["bounds"] == "exact"
    why = "each relevant doc that nobody judged and the run does not list"
    assert f"R@5, AP: no lower bound; {why}" in result.stderr


def test_a_share_never_judged_that_a_few_drawn_pairs_do_not_tell_is_said_to_be_unknown(
    fire: Fire, folder: Path
) -> None:
    """A hundred pairs drawn by chance are the least; C@10 reads the first positive, R@10 divides by all."""
    write_two_runs(folder)
    fire("pool", *RUNS, *ORIGINAL, "--depth", 10, "--strategy", "strata(1:2:1,3:10:.1)", "--out", "pool")
    assert 0 < judge(fire, "3:10:0.1", 3) < 100
    said = fire("score", *RUNS, *BOTH, "-m", "R@10", "-m", "AP", "-m", "C@10").stderr
    assert "R@10, AP: relevant docs that nobody judged push them up" in said
    assert [line[:10] for line in said.splitlines() if "worse" in line] == ["note: C@10"]
