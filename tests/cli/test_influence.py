"""Agreement, labels and scores without each annotator: the chain of commands, in one table."""

import json

import pandas as pd
import pytest
from command import Fire, rows

RUNS = ("runs/fused.run", "runs/motion-track.run", "runs/shape-contour.run")
MEASURES = ("-m", "C@5", "-m", "C@5:condensed")
INFLUENCE = ("influence", *RUNS, "--judgments", "judgments.csv", "--qrels", "qrels.txt", *MEASURES)


def labels(folder: str) -> dict[tuple[str, str], str]:
    table = pd.read_csv(f"{folder}/labels.csv", dtype=str, keep_default_na=False)
    return {(row.query_id, row.doc_id): row.label for row in table.itertuples()}


def chain(sample: Fire, rule: str, policy: str, *exclude: str) -> dict[tuple[str, str], float]:
    """Resolve, augment and score, as one would by hand; the scores by run and measure."""
    sample("resolve", "judgments.csv", "--rule", rule, *exclude, "--out", "made")
    join = ("--labels", "made", "--policy", policy, "--out", "made/qrels.txt")
    sample("augment", "--qrels", "qrels.txt", *join)
    files = ("--qrels", "qrels.txt", "--augmented", "made/qrels.txt", "--format", "csv")
    found = rows(sample("score", *RUNS, *files, *MEASURES))
    return {(r["run_id"], r["measure"]): float(r["value"]) for r in found if r["qrels"] == "augmented"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "policy"), [("fire", "union"), ("unanimous", "drop"), ("dawid-skene", "override")]
)
def test_each_row_is_what_the_chain_of_commands_gives(sample: Fire, rule: str, policy: str) -> None:
    asked = (*INFLUENCE, "--rule", rule, "--policy", policy, "--format", "csv")
    people, scores = rows(sample(*asked)), rows(sample(*asked, "--show", "scores"))
    whole = chain(sample, rule, policy)
    before = labels("made")
    moved = 0
    for name in sorted({row["annotator_id"] for row in people})[:2]:
        exclude = ("--exclude", name, "--reason", "to see")
        without = chain(sample, rule, policy, *exclude)
        own = [row for row in scores if row["annotator_id"] == name]
        assert {(row["run_id"], row["measure"]) for row in own} == set(whole)
        for row in own:
            key = row["run_id"], row["measure"]
            assert (whole[key], without[key]) == pytest.approx((float(row["all"]), float(row["without"])))
            moved += whole[key] != without[key]
        after = labels("made")
        other = sum(before[pair] != after[pair] for pair in before.keys() & after.keys())
        expected = [other, len(before.keys() - after.keys()), len(after.keys() - before.keys())]
        row = next(row for row in people if row["annotator_id"] == name)
        assert expected == [int(row[f"labels_{what}"]) for what in ("other", "lost", "gained")]
        (alpha, *_) = json.loads(sample("agree", "judgments.csv", *exclude, "--format", "json").stdout)
        assert float(alpha["value"]) == pytest.approx(float(row["alpha"]))
        changes = [abs(float(each["change"])) for each in own if each["measure"] == row["measure"]]
        assert max(changes) == pytest.approx(abs(float(row["change"])))
    assert moved


def test_a_table_is_drawn_and_says_what_it_rests_on(sample: Fire) -> None:
    found = sample(*INFLUENCE)
    assert found.stdout.splitlines()[0].split()[:2] == ["annotator_id", "n_judgments"]
    assert "labels by rule fire, joined under policy union" in found.stderr
    name = found.stdout.splitlines()[2].split()[0]
    told = sample(*INFLUENCE, "--rule", "adjudicator", "--adjudicator", name, "--format", "csv")
    assert f"note: {name} is the only adjudicator and is not left out" in told.stderr
    assert name not in {row["annotator_id"] for row in rows(told)}
