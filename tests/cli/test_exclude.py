"""Annotators who are left out, with the reason beside the labels and the agreement."""

from pathlib import Path

import pytest
from command import begin_workspace, manifest_of, rows, run
from exports import fill_in


@pytest.fixture(autouse=True)
def root(here: Path) -> Path:
    """Ten pairs that ann and bob judge alike, and cy against them on the first two."""
    run("init", ".")
    lines = ["query_id,doc_id,annotator_id,label"]
    for n in range(10):
        for name in ("ann", "bob", "cy") if n >= 2 else ("ann", "cy"):
            is_relevant = n % 2 == (name == "cy" and n < 2)
            lines.append(f"q{n},d,{name},{'relevant' if is_relevant else 'irrelevant'}")
    Path("judgments").mkdir()
    Path("judgments/judgments.csv").write_text("\n".join(lines) + "\n")
    return here


def test_labels_and_agreement_are_those_of_the_others_and_the_reason_is_kept() -> None:
    run("resolve")
    assert len(rows(Path("labels/disputes.csv"))) == 2
    told = run("resolve", "--exclude", "cy", "--reason", "failed the controls")
    assert "note: 10 judgments of cy left out: failed the controls" in told.stderr
    assert rows(Path("labels/disputes.csv")) == []
    assert manifest_of("labels")["parameters"]["excluded"] == {"cy": "failed the controls"}
    run("resolve")
    assert "excluded" not in manifest_of("labels")["parameters"]
    found = rows(run("agree", "--exclude", "cy", "--reason", "failed", "--format", "csv"))
    alpha = next(row for row in found if row["statistic"] == "alpha")
    assert (float(alpha["value"]), alpha["n_pairable"], alpha["n_annotators"]) == (1.0, "8", "2")
    kept = manifest_of("agreement/agreement.csv")["parameters"]
    assert kept["excluded"] == {"cy": "failed"}
    assert (kept["intervals"], kept.get("cluster"), kept["all_rounds"]) == (True, None, False)


def test_what_comes_after_the_labels_does_without_whom_they_do_without() -> None:
    """A pair that only cy judged has no label, and is asked again as one without an answer."""
    with Path("judgments/judgments.csv").open("a") as file:
        file.write("q10,d,cy,relevant\n")
    run("resolve", "--exclude", "cy", "--reason", "guessed")
    told = run("next-round", "--ask", "dispute", "--out", "again")
    assert "note: 11 judgments of cy left out, as in the labels: guessed" in told.stderr
    assert [(row["query_id"], row["stratum"]) for row in rows(Path("again/pool.csv"))] == [
        ("q10", "unanswered")
    ]
    found = rows(run("report", "table2", "--format", "csv"))[0]
    assert (found["pairs"], float(found["alpha"])) == ("10", 1.0)
    run("resolve")
    assert "left out" not in run("next-round", "--ask", "dispute", "--out", "anew").stderr
    assert len(rows(Path("anew/pool.csv"))) == 2


def test_table_2_counts_by_the_rule_of_the_labels() -> None:
    lines = [f"q{n},d,{who},relevant\n" for n in (10, 11) for who in ("ann", "bob")]
    with Path("judgments/judgments.csv").open("a") as file:
        file.writelines([*lines, "q11,d,cy,irrelevant\n"])
    expected = {"fire": ("6", "4", "2"), "unanimous": ("5", "4", "3")}  # relevant, irrelevant, disputed
    for rule, counts in expected.items():
        run("resolve", "--rule", rule)
        told = run("report", "table2", "--format", "csv")
        row = rows(told)[0]
        assert (row["relevant"], row["irrelevant"], row["disagreement"]) == counts
        assert f"by the rule {rule}" in told.stderr
    given = run("report", "table2", "--judgments", "judgments/judgments.csv", "--format", "csv")
    assert (rows(given)[0]["relevant"], "; rule fire" in given.stderr) == ("6", True)


def test_nobody_is_asked_again_whose_answers_the_labels_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(begin_workspace(tmp_path / "work", 6))
    run("tasks", "--annotator", "ann,bob,cy", "--overlap", 0)
    for name in ("ann", "bob", "cy"):
        sheet = f"tasks.{name}.csv"
        fill_in(Path("tasks", sheet), Path("exports", sheet), lambda query, doc: "relevant")
    run("import")
    run("resolve", "--exclude", "cy", "--reason", "guessed")
    told = run("next-round", "--budget", 6).stderr
    assert "6 pairs to ask again" in told
    assert "given to ann 3, bob 3" in told
