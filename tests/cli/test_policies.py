"""A campaign by hand whose positives are verified by design, and its scores corrected for errors."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import exports
import numpy as np
import pytest
from command import StandIn, as_json, by_pair, manifest_of, rows, run, states, write_run, write_table

from examples import cases
from fire_toolkit.campaign.keys import split_pair_id

QUERIES, DOCS, T, F = 100, 6, 0.9, 0.06
NAMES = [f"q{n}" for n in range(QUERIES)]
ORIGINALS = {(q, f"d{(n + 8) % 9}") for n, q in enumerate(NAMES)}
LABELS, DISPUTES = Path("labels/labels.csv"), Path("labels/disputes.csv")
QRELS = Path("augmented/qrels.txt")


def is_relevant(query: str, doc: str) -> bool:
    return (7 * int(query[1:]) + 3 * int(doc[1:])) % 4 == 0


def write(path: Path, header: str, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in (header, *lines) if line))


def pool_two() -> None:
    run("init", ".")
    write(Path("collection/queries.tsv"), "query_id\ttext", (f"{q}\ta dog {q}" for q in NAMES))
    write(Path("collection/qrels.txt"), "", (f"{q} 0 {doc} 1" for q, doc in sorted(ORIGINALS)))
    for name, step in (("one", 1), ("two", 5)):
        ranked = {q: [f"d{(n + step * place) % 9}" for place in range(DOCS)] for n, q in enumerate(NAMES)}
        write_run(Path(f"runs/{name}.run"), ranked)
    run("pool", "--depth", DOCS)


@pytest.fixture
def begun(stand_in: StandIn) -> Path:
    """A workspace with a pool of two runs of six docs a query, nothing asked yet."""
    return stand_in(pool_two)


def fill_in(say: Callable[[str, str], bool]) -> bool:
    """Fill in and import every sheet that nobody has filled in yet; return whether there was one."""
    n_filled = 0
    for sheet in sorted(Path("tasks").glob("**/tasks.*.csv")):
        name = "round-1" if sheet.parent.name == "tasks" else sheet.parent.name
        done = Path("exports") / f"{name}.{sheet.name.removeprefix('tasks.')}"
        if not done.exists():
            exports.fill_in(sheet, done, lambda *pair: "relevant" if say(*pair) else "irrelevant")
            n_filled += 1
    if n_filled:
        run("import")
    return n_filled > 0


def judge(draw: np.random.Generator) -> bool:
    """Answer what is asked, with errors, and resolve it; return whether anything was asked."""
    is_asked = fill_in(lambda query, doc: draw.random() < (T if is_relevant(query, doc) else F))
    if is_asked:
        run("resolve")
    return is_asked


def go_on(draw: np.random.Generator) -> int:
    """Judge, import, resolve, ask the next round, until nothing is asked; return how many rounds it took."""
    for number in range(20):
        if not judge(draw):
            return number
        run("next-round")
    raise AssertionError("20 rounds, and still pairs to ask")


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["verify-positives", "until-confirmed"])
def test_a_policy_is_kept_by_design_and_corrects_c_at_k(begun: Path, policy: str) -> None:
    told = run("tasks", "--annotator", "A,B,C,D", "--overlap", 0, "--policy", policy)
    assert f"policy {policy}: " in told.stderr
    assert go_on(np.random.default_rng(7)) >= 3
    assert {row["design_class"] for row in rows(LABELS)} <= {"single", "verify"}
    assert "of the new positives an expected" in run("augment").stderr
    counts = manifest_of(QRELS)["counts"]["label_errors"]
    shown = run("score", "--honest", "-m", "C@5", "-m", "AP", "--out", "honest.csv")
    assert "C@5: corrected for errors of votes, of which one" in shown.stderr
    first = "as labelled comes first: nobody checked by fourth votes"
    assert f"{first} whether votes err independently" in shown.stderr
    assert "as labelled 95% as labelled" in " ".join(shown.stdout.splitlines()[0].split())
    assert "corrected if errors are independent" in shown.stdout
    write_run(Path("late.run"), {q: (f"d{n % 9}", "d90", "d91", "d92", "d93") for n, q in enumerate(NAMES)})
    lacking = run("score", "late.run", "--honest", "-m", "C@5", "--out", "late.csv").stderr
    assert "a doc that nobody judged counts as not relevant" in lacking
    honest = {(row["run_id"], row["measure"]): row for row in rows(Path("honest.csv"))}

    # the same by hand: rates of the verified pairs, then the product over each query's top 5
    votes = {pair: (row["design_class"], row["design_votes"]) for pair, row in by_pair(LABELS).items()}
    is_split = counts["bands"] != [""]
    rank = by_pair(Path("pool/pool.csv"), "best_rank").items()
    band = {pair: is_split * ((int(best) > 1) + (int(best) > 3)) for pair, best in rank}

    def rates_of(kept: set[str]) -> list[tuple[float, float]]:
        rates = []
        for place in range(len(counts["bands"])):
            known = [
                v
                for pair, (name, v) in votes.items()
                if name == "verify" and pair not in ORIGINALS and band[pair] == place and pair[0] in kept
            ]
            m1, m2, p3 = (np.mean([v.startswith(start) for v in known]) for start in ("1", "11", "101"))
            s = (m2 - p3 - m1 * m2) / (m2 - m1**2)
            root = np.sqrt(s**2 - 4 * (s * m1 - m2))
            rates.append(((s + root) / 2, (s - root) / 2))
        return rates

    def mean(kept: list[str]) -> float:
        rates, values = rates_of(set(kept)), []
        for query in kept:
            rest = 1.0
            for place in range(5):
                pair = (query, f"d{(int(query[1:]) + place) % 9}")
                name, v = votes[pair]
                t, f = rates[band[pair]]
                of_class = (lambda e: e) if name == "single" else (lambda e: e**2 * (2 - e))
                label = int(v[0]) if name == "single" or v[0] == "0" else int(v[:2] == "11" or v[:3] == "101")
                rest *= 0 if pair in ORIGINALS else 1 - (label - of_class(f)) / (of_class(t) - of_class(f))
            values.append(1 - rest)
        return float(np.mean(values))

    queries = sorted(NAMES)
    t, f = zip(*np.clip(rates_of(set(queries)), 0, 1), strict=True)
    assert (counts["t"], counts["f"]) == (pytest.approx(t, abs=1e-6), pytest.approx(f, abs=1e-6))
    expected = 20 * mean(queries)  # without the bias that leaving out each of 20 groups shows
    for start in range(20):
        expected -= mean([q for q in queries if q not in queries[start::20]]) * 95 / 100
    assert float(honest["one", "C@5"]["estimate"]) == pytest.approx(expected, abs=1e-9)
    assert honest["one", "C@5"]["estimate_method"] == "corrected if errors are independent"
    assert honest["one", "AP"]["estimate_method"] == ""
    run("report", "html")
    page = Path("report.html").read_text()
    assert first in page
    assert "corrected if errors are independent" in page


@pytest.mark.slow
def test_a_policy_begins_with_the_campaign_or_later_and_stays(begun: Path) -> None:
    refused = run("tasks", "--policy", "verify-positives", code=2)
    assert "--policy is for a campaign in a workspace: with --annotator, or `push --policy`" in refused.stderr
    run("tasks", "--annotator", "A,B,C", "--overlap", 0.2)
    assert not Path("campaign/design.csv").exists()
    judge(np.random.default_rng(1))
    table = rows(LABELS)
    assert {row["design_class"] for row in table} == {"single", "doubled"}
    assert {len(row["design_votes"]) for row in table if row["design_class"] == "doubled"} == {2}
    run("augment")
    honest = run("score", "--honest", "-m", "C@1").stderr
    assert "originals left out, have no third vote, so that one vote may find " in honest
    asked = as_json("next-round", "--policy", "verify-positives")
    by_stratum = {row["stratum"]: row["n_asked"] for row in asked["plan"]}
    positives = [row for row in table if row["design_class"] == "single" and row["design_votes"] == "1"]
    assert by_stratum["by_design"] > len(rows(DISPUTES))
    assert by_stratum["dispute"] == 0
    assert len(positives) >= by_stratum["by_design"] - len(rows(DISPUTES))
    told = run("next-round", "--policy", "until-confirmed", code=1).stderr
    assert "the campaign's policy is verify-positives, and votes were asked by it; it cannot be" in told


@cases("text", "told")
def test_a_design_that_is_wrong_is_refused_with_its_line(begun: Path, text: str, told: str) -> None:
    place = ",place" if text.count(",") == 3 else ""
    Path("design.csv").write_text(f"query_id,doc_id,design_class{place}\n{text}\n")
    Path("judgments.csv").write_text("query_id,doc_id,annotator_id,label\nq0,d0,A,relevant\n")
    refused = run("resolve", "judgments.csv", "--design", "design.csv", "--out", "labels", code=1)
    assert told in refused.stderr


@pytest.mark.slow
def test_a_recheck_counts_for_the_label_and_in_no_rate(begun: Path) -> None:
    run("tasks", "--annotator", "A,B,C,D", "--overlap", 0.8)
    draw = np.random.default_rng(7)
    judge(draw)
    run("next-round", "--ask", "dispute")  # the thirds, which the rates need
    judge(draw)
    before = by_pair(LABELS)
    doubted = [
        pair for pair, row in before.items() if row["design_class"] == "single" and pair not in ORIGINALS
    ]
    marks = "".join(f"{query},{doc}\n" for query, doc in doubted[:5])
    Path("recheck.csv").write_text(f"query_id,doc_id\n{marks}q0,nobody-judged\n")
    honest = ("score", "--honest", "-m", "C@5")
    run("augment")
    corrected = run(*honest).stderr
    assert "corrected for errors of votes, of which one" in corrected
    told = run("next-round", "--recheck", "recheck.csv")
    assert "1 pair of recheck.csv left out, which nobody judged (first: q0 nobody-judged)" in told.stderr
    assert "5 pairs to ask again" in told.stderr
    assert "given to A 2, " in told.stderr
    assert {row["design_class"] for row in rows(Path("plan/round-3/pool.csv"))} == {"recheck"}
    assert "all of them wait for an answer" in run("next-round", "--recheck", "recheck.csv").stderr
    judge(draw)
    again = [row for row in rows(Path("judgments/judgments.csv")) if row["kind"] == "recheck"]
    assert {(row["query_id"], row["doc_id"]) for row in again} == set(doubted[:5])
    after = by_pair(LABELS) | by_pair(DISPUTES)
    for pair in doubted[:5]:
        assert after[pair]["design_class"] == "recheck"
        assert after[pair]["design_votes"] == before[pair]["design_votes"]
    run("augment")
    refused = run(*honest).stderr
    assert (
        "not corrected for errors of votes: 5 pairs asked again because somebody doubted the label" in refused
    )
    run("resolve", "--without-rechecks")
    assert {row["design_class"] for row in rows(LABELS)} == {"single", "doubled"}
    run("augment")
    assert run(*honest).stderr == corrected


def test_judgments_made_elsewhere_take_their_classes_from_a_file(begun: Path) -> None:
    Path("design.csv").write_text("query_id,doc_id,design_class\nq0,d0,doubled\nq0,d1,single\n")
    answers = ["q0,d0,A,relevant", "q0,d0,B,irrelevant", "q0,d0,C,relevant", "q0,d1,A,irrelevant"]
    write(Path("judgments.csv"), "query_id,doc_id,annotator_id,label", answers)
    run("resolve", "judgments.csv", "--design", "design.csv", "--out", "labels")
    found = {row["doc_id"]: (row["design_class"], row["design_votes"]) for row in rows(LABELS)}
    assert found == {"d0": ("doubled", "101"), "d1": ("single", "0")}


def test_a_file_adds_the_design_of_pairs_to_that_of_the_campaign(begun: Path) -> None:
    run("tasks", "--annotator", "A,B,C,D", "--overlap", 0.1, "--policy", "verify-positives")
    judge(np.random.default_rng(3))
    own = by_pair(LABELS, "design_class") | by_pair(DISPUTES, "design_class")
    assert {*own.values()} == {"doubled", "verify"}
    named = {next(pair for pair, kind in own.items() if kind == "verify"): "single"}
    elsewhere = {("q0", "d8"): "doubled"}
    lines = (f"{query},{doc},{kind}" for (query, doc), kind in (named | elsewhere).items())
    write(Path("design.csv"), "query_id,doc_id,design_class", lines)
    run("resolve", "--design", "design.csv")
    found = by_pair(LABELS, "design_class") | by_pair(DISPUTES, "design_class")
    assert found == own | named | {pair: kind for pair, kind in elsewhere.items() if pair in own}


def test_an_experts_sheet_among_the_exports_is_no_new_export(begun: Path) -> None:
    run("tasks", "--annotator", "A,B")
    judge(np.random.default_rng(4))
    run("next-round", "--ask", "audit")
    filled = [row | {"label": "relevant"} for row in rows(Path("audit/labels/sheet.csv"))]
    write_table(Path("exports/filled.EX.csv"), filled)
    assert "exports/filled.EX.csv is new" in states()["import"][1]
    run("import", "exports/filled.EX.csv")
    assert states()["import"][0] == "done"


def test_experts_audit_labels_and_scores_are_corrected_by_them(begun: Path) -> None:
    rank = {pair: int(best) for pair, best in by_pair(Path("pool/pool.csv"), "best_rank").items()}
    draw, names = np.random.default_rng(2), ("irrelevant", "relevant")
    label_of = {pair: int(draw.random() < (T if is_relevant(*pair) else F)) for pair in rank}
    answers = [f"{q},{d},A,{names[label]}" for (q, d), label in label_of.items()]
    Path("judgments").mkdir(exist_ok=True)
    write(Path("judgments/judgments.csv"), "query_id,doc_id,annotator_id,label", answers)
    run("resolve")
    run("augment")
    votes = Path("judgments/judgments.csv").read_bytes()
    drawn = run("next-round", "--ask", "audit", "--budget", 9000)
    assert "for experts in audit/labels/sheet.csv" in drawn.stderr
    sheet = rows(Path("audit/labels/sheet.csv"))
    assert set(sheet[0]) & {"relevance", "label"} == {"label"}
    assert {row["label"] for row in sheet} == {""}
    assert "experts may have its sheet" in run("next-round", "--ask", "audit", code=1).stderr
    truth = [names[is_relevant(*split_pair_id(row["pair_id"]))] for row in sheet]
    filled = [f"{r['pair_id']},{r['audit']},{label}" for r, label in zip(sheet, truth, strict=True)]
    uncorrected = as_json("score", "-m", "P@5")
    run("score")
    write(Path("expert.csv"), "pair_id,audit,label", filled[:-1])
    run("import", "expert.csv")
    assert states()["score"] == ("stale", "audit/labels/answers.csv is new")
    run("score")
    assert states()["score"][0] == "done"
    write(Path("expert.csv"), "pair_id,audit,label", filled)
    read = f"{len(sheet)} answers of experts read; {len(sheet)} pairs in audit/labels/answers.csv"
    assert read in run("import", "expert.csv").stderr
    assert {row["annotator_id"] for row in rows(Path("audit/labels/answers.csv"))} == {"expert"}
    assert Path("judgments/judgments.csv").read_bytes() == votes
    Path("other.csv").write_text(Path("expert.csv").read_text().replace(sheet[0]["audit"], "00000000"))
    assert "a sheet of another draw" in run("import", "other.csv", code=1).stderr
    shown = run("score", "-m", "P@5", "-m", "AP", "--format", "json")
    assert f"P@5: corrected by {len(sheet)} answers of experts, who are taken as right" in shown.stderr
    scored = json.loads(shown.stdout)
    found = {row["run_id"]: row["value"] for row in scored if row["qrels"] == "corrected"}
    known = [row for row in scored if row["qrels"] in ("original", "augmented") and row["measure"] == "P@5"]
    assert known == [row for row in uncorrected if row["qrels"] in ("original", "augmented")]
    # every label was audited, so t and f are those of the labels: by hand, band by band
    band = {pair: (best > 1) + (best > 3) for pair, best in rank.items()}
    rates = {}
    for number in range(3):
        own = [pair for pair in rank if pair not in ORIGINALS and band[pair] == number]
        by_truth = [[label_of[p] for p in own if is_relevant(*p) == truth] for truth in (True, False)]
        rates[number] = [float(np.mean(labels)) for labels in by_truth]
    values = []
    for pair in ((f"q{n}", f"d{(n + place) % 9}") for n in range(QUERIES) for place in range(5)):
        t, f = rates[band[pair]]
        values.append(1.0 if pair in ORIGINALS else (label_of[pair] - f) / (t - f))
    assert found["one"] == pytest.approx(np.mean(values), abs=1e-9)
    assert {row["measure"] for row in scored if row["qrels"] == "corrected"} == {"P@5"}
    honest = as_json("score", "--honest", "-m", "P@5")
    assert {row["run_id"]: row["estimate"] for row in honest} == pytest.approx(found)
    assert "as labelled; `score` says what errors" in run("report", "table1", "-m", "P@5").stderr
    assert {row["estimate_method"] for row in honest} == {"corrected for label errors"}
    (query, doc), label = next((pair, label) for pair, label in label_of.items() if pair not in ORIGINALS)
    against = [*answers, f"{query},{doc},B,{names[1 - label]}"]
    write(Path("judgments/judgments.csv"), "query_id,doc_id,annotator_id,label", against)
    run("resolve")
    run("augment")
    told = run("score", "-m", "P@5").stderr
    assert "taken as not relevant: 1 pair in dispute, which the audit leaves out" in told


@pytest.mark.slow
def test_fourth_votes_raise_the_alarm_and_change_no_label_and_no_rate(begun: Path) -> None:
    run("tasks", "--annotator", "A,B,C,D,E", "--overlap", 0, "--policy", "verify-positives")
    go_on(np.random.default_rng(7))
    labels, disputes = (Path(f"labels/{name}.csv").read_text() for name in ("labels", "disputes"))
    run("augment")
    before = manifest_of(QRELS)["counts"]["label_errors"]
    split = {pair for pair, votes in by_pair(LABELS, "design_votes").items() if votes == "101"} - ORIGINALS
    planned = as_json("next-round", "--ask", "fourth_vote")
    asked = {row["stratum"]: (row["n_pairs"], row["n_asked"]) for row in planned["plan"]}
    assert asked.pop("fourth_vote") == (len(split), len(split))
    assert sum(n_asked for _, n_asked in asked.values()) == 0
    fill_in(lambda query, doc: False)
    judged = [row for row in rows(Path("judgments/judgments.csv")) if row["kind"] == "fourth"]
    assert {(row["query_id"], row["doc_id"]) for row in judged} == split
    told = run("resolve")
    assert f"note: {len(split)} fourth votes kept apart" in told.stderr
    assert LABELS.read_text().replace(",1010\n", ",101\n") == labels
    assert DISPUTES.read_text() == disputes
    assert f"of {len(split)} fourth votes on positives by 2 to 1 0 are positive" in run("augment").stderr
    assert manifest_of(QRELS)["counts"]["label_errors"] == before
    told = run("score", "--honest", "-m", "C@5")
    assert "warning: of " in told.stderr
    assert "some pairs are hard for everybody" in told.stderr
    again = as_json("next-round", "--ask", "fourth_vote", "--dry-run")
    assert next(row["n_pairs"] for row in again["plan"] if row["stratum"] == "fourth_vote") == 0
