"""`resolve` beyond its default: known pairs, adjudicators, rejected originals, either end."""

import json
from pathlib import Path

import pytest
from command import Fire, rows

JUDGMENTS = """query_id,doc_id,annotator_id,label,flags,round
1,a,ann,irrelevant,,1
1,b,ann,relevant,,1
1,b,bob,irrelevant,,1
1,c,ann,relevant,sensitive,1
1,c,bob,relevant,,1
2,a,ann,irrelevant,,1
2,a,bob,relevant,,1
2,a,cat,relevant,,2
2,d,bob,ambiguous,,1
"""


@pytest.fixture
def judged(folder: Path) -> Path:
    (folder / "j.csv").write_text(JUDGMENTS)
    return folder


def test_the_change_against_a_majority_is_in_words_json_and_manifest(fire: Fire, judged: Path) -> None:
    words = ("--rule", "adjudicator", "--adjudicator", "bob", "--out", "out")
    counts = json.loads(fire("resolve", "j.csv", *words, "--format", "json").stdout)
    # bob: b irrelevant, where the majority is tied
    assert counts["against_majority"] == {"same": 3, "other": 0, "gained": 1, "lost": 0}
    manifest = json.loads((judged / "out/manifest.json").read_text())
    assert manifest["counts"]["against_majority"] == counts["against_majority"]
    assert manifest["parameters"]["adjudicators"] == ["bob"]
    assert "1 with a label that it leaves in dispute" in fire("resolve", "j.csv", *words).stderr
    nobody = fire("resolve", "j.csv", "--rule", "adjudicator", "--adjudicator", "eve", "--out", "x", code=1)
    assert "adjudicator 'eve' gave no judgment" in nobody.stderr


def test_without_adjudicators_the_latest_round_has_the_word(fire: Fire, judged: Path) -> None:
    fire("resolve", "j.csv", "--rule", "adjudicator", "--out", "out")
    found = {
        (row["query_id"], row["doc_id"]): (row["label"], row["rounds"])
        for row in rows(judged / "out/labels.csv")
    }
    assert found["2", "a"] == ("relevant", "1;2")
    assert ("1", "b") not in found


def test_rejected_originals_are_a_pool_of_the_next_round(fire: Fire, judged: Path) -> None:
    counts = json.loads(
        fire("resolve", "j.csv", "--qrels", "qrels.txt", "--out", "out", "--format", "json").stdout
    )
    pool = rows(judged / "out/rejected/pool.csv")
    assert [(row["query_id"], row["doc_id"], row["is_original"], row["round"]) for row in pool] == [
        ("1", "a", "True", "3")
    ]
    assert counts["rejected_originals"] == 1
    told = fire("resolve", "j.csv", "--qrels", "qrels.txt", "--out", "out").stderr
    assert "1 original positive labelled not relevant: ask again" in told


def test_dawid_skene_writes_posteriors_and_its_trace(fire: Fire, judged: Path) -> None:
    fire("resolve", "j.csv", "--rule", "dawid-skene", "--out", "out")
    posteriors = rows(judged / "out/posteriors.csv")
    assert list(posteriors[0]) == ["query_id", "doc_id", "p_irrelevant", "p_relevant"]
    confusions = rows(judged / "out/confusions.csv")
    assert list(confusions[0]) == ["annotator_id", "truth", "label", "probability", "n_votes"]
    counts = json.loads((judged / "out/manifest.json").read_text())["counts"]
    assert counts["log_likelihoods"] == sorted(counts["log_likelihoods"])
    assert counts["converged"] is True
    fire("resolve", "j.csv", "--out", "out")
    assert not (judged / "out/posteriors.csv").exists()


def test_a_model_says_how_many_votes_it_has_and_warns_where_most_pairs_have_one(
    fire: Fire, judged: Path
) -> None:
    told = fire("resolve", "j.csv", "--rule", "dawid-skene", "--out", "out").stderr
    assert (
        "votes: 5 pairs, 1 with 0, 1 with 1, 2 with 2, 1 with 3; 3 annotators with 1 to 4 votes each" in told
    )
    assert "have one vote" not in told
    assert "warning: 1 of 3 labels are not a majority's" in told  # a model of 8 votes
    (judged / "single.csv").write_text(JUDGMENTS.replace("1,b,bob", "1,e,bob").replace("1,c,bob", "1,f,bob"))
    told = fire("resolve", "single.csv", "--rule", "dawid-skene", "--out", "out").stderr
    assert "warning: 5 of 6 pairs have one vote" in told
    assert list(rows(judged / "out/labels.csv")[0])[-2:] == ["posterior", "rounds"]
    told = fire("resolve", "single.csv", "--out", "out").stderr
    assert "warning" not in told
    assert "votes each" not in told


def test_every_rule_says_how_often_it_is_right_on_controls(fire: Fire, judged: Path) -> None:
    (judged / "known.txt").write_text("1 0 a 0\n1 0 b 1\n1 0 c 0\n2 0 a 1\n")
    told = fire("resolve", "j.csv", "--controls", "known.txt", "--out", "out").stderr
    # b is tied; Wilson's interval of 2 of 3 by statsmodels' proportion_confint: .2077 to .9385
    assert (
        "on 4 controls, each unknown to the rule: rule fire is right on 2 of 3 that it labels "
        "(0.667, 95% 0.208 to 0.939); a majority is right on 2 of 3" in told
    )
    words = ("--rule", "unanimous", "--out", "out", "--format", "json", "--controls", "known.txt")
    counts = json.loads(fire("resolve", "j.csv", *words).stdout)
    expected = {"n_controls": 4, "n_labelled": 2, "n_right": 1, "majority_labelled": 3, "majority_right": 2}
    assert counts["on_controls"] == expected
    assert counts["pairs_by_votes"] == [1, 1, 2, 1]


def test_a_model_learns_from_the_answers_to_controls(fire: Fire, judged: Path) -> None:
    words = ("resolve", "j.csv", "--rule", "dawid-skene", "--out", "out")
    (judged / "known.txt").write_text("9 0 x 1\n9 0 y 1\n9 0 z 0\n")
    header = "query_id,doc_id,annotator_id,label,reason,detail,created_at\n"
    answers = "9,x,ann,relevant,control,,\n9,y,ann,relevant,control,,\n9,z,ann,irrelevant,control,,\n"
    wrong = "9,x,bob,irrelevant,control,,\n9,y,bob,irrelevant,control,,\n"
    (judged / "dropped.csv").write_text(header + answers + wrong)
    fire(*words)
    (before,) = [row for row in rows(judged / "out/posteriors.csv") if row["doc_id"] == "b"]
    fire(*words, "--controls", "known.txt")
    found = rows(judged / "out/posteriors.csv")
    (after,) = [row for row in found if row["doc_id"] == "b"]  # ann knew her controls, bob did not
    assert float(after["p_relevant"]) > max(float(before["p_relevant"]), 0.5)
    assert all(row["query_id"] != "9" for row in found)  # controls are no pairs of the benchmark


def test_disputes_can_count_as_either(fire: Fire, judged: Path) -> None:
    for end, expected in (("unjudged", None), ("0", "irrelevant"), ("1", "relevant")):
        fire("resolve", "j.csv", "--disputes", end, "--out", f"out-{end}")
        labels = {row["doc_id"]: row["label"] for row in rows(judged / f"out-{end}/labels.csv")}
        assert labels.get("b") == expected
        assert "d" not in labels
        assert [row["doc_id"] for row in rows(judged / f"out-{end}/disputes.csv")] == ["b", "d"]


def test_scores_under_two_rules_stand_side_by_side(fire: Fire, judged: Path) -> None:
    for end in ("0", "1"):
        fire("resolve", "j.csv", "--disputes", end, "--out", f"out-{end}")
        fire("augment", "--qrels", "qrels.txt", "--labels", f"out-{end}", "--out", f"qrels-{end}.txt")
    words = (
        "--qrels",
        "qrels-0.txt",
        "--augmented",
        "qrels-1.txt",
        "clip.run",
        "-m",
        "P@3",
        "--format",
        "csv",
    )
    table = [line.split(",") for line in fire("score", *words).stdout.splitlines()[1:]]
    values = {row[1]: float(row[4]) for row in table if row[2] == "all"}
    # clip finds a, b, c for query 1; b is the dispute, and counts as one of three for one of two queries
    assert values["augmented"] - values["original"] == pytest.approx(1 / 6)


def test_judgments_are_shared_among_queries_of_the_same_text(fire: Fire, folder: Path) -> None:
    (folder / "same.tsv").write_text("query_id\ttext\n1\ta dog\n2\ta dog\n3\tA dog\n")
    (folder / "j.csv").write_text(
        "query_id,doc_id,annotator_id,label,round\n1,a,ann,relevant,1\n2,a,bob,irrelevant,2\n1,b,ann,relevant,1\n"
    )
    share = ("resolve", "j.csv", "--share-judgments", "same-text", "--queries", "same.tsv", "--out", "out")
    counts = json.loads(fire(*share, "--format", "json").stdout)
    assert (counts["shared_judgments"], counts["shared_conflicts"]) == (3, 0)
    found = [
        (r["query_id"], r["doc_id"], r["label"], r["shared_from"]) for r in rows(folder / "out/labels.csv")
    ]
    assert found == [("1", "b", "relevant", ""), ("2", "b", "relevant", "1")]
    assert [(r["query_id"], r["doc_id"]) for r in rows(folder / "out/disputes.csv")] == [
        ("1", "a"),
        ("2", "a"),
    ]
    manifest = json.loads((folder / "out/manifest.json").read_text())
    assert manifest["parameters"]["share_judgments"] == "same-text"
    assert set(manifest["inputs"]) == {"j.csv", "same.tsv"}
    assert "3 judgments shared among queries of the same text; 0 not" in fire(*share).stderr
    made = fire("augment", "--qrels", "qrels.txt", "--labels", "out", "--out", "new.txt")
    said = "1 label shared by pairs that are alike, 1 of them positive: nobody judged these pairs"
    assert said in made.stderr
    assert "2 0 b 1" in (folder / "new.txt").read_text()
    assert "2,b,,1,1,shared" in (folder / "changes.csv").read_text().splitlines()
    counts = json.loads((folder / "new.txt.manifest.json").read_text())["counts"]
    assert (counts["new"], counts["shared"], counts["shared_positive"]) == (1, 1, 1)
    (folder / "both.run").write_text("1 Q0 b 1 9 both\n2 Q0 b 1 9 both\n")
    assert said in fire("score", "both.run", "--qrels", "qrels.txt", "--augmented", "new.txt").stderr


def test_without_sharing_nothing_is_shared_and_no_column_says_so(fire: Fire, judged: Path) -> None:
    fire("resolve", "j.csv", "--out", "out")
    assert "shared_from" not in rows(judged / "out/labels.csv")[0]
    result = fire("resolve", "j.csv", "--share-judgments", "same-text", "--out", "out", code=2)
    assert "--queries is needed outside a workspace" in result.stderr


def test_answers_of_nobodys_task_are_left_out_and_said_unless_they_are_to_count(
    fire: Fire, folder: Path
) -> None:
    rows_of = "1,a,ann,relevant,task\n1,a,bob,irrelevant,unassigned\n1,b,bob,relevant,unassigned\n"
    (folder / "j.csv").write_text("query_id,doc_id,annotator_id,label,kind\n" + rows_of)
    told = fire("resolve", "j.csv", "--out", "out").stderr
    assert (
        "note: 2 answers not asked of their annotator left out, as `agree` does; 1 pair without another "
        "answer (--count-unassigned counts them)" in told
    )
    assert [(row["doc_id"], row["label"]) for row in rows(folder / "out/labels.csv")] == [("a", "relevant")]
    fire("resolve", "j.csv", "--out", "all", "--count-unassigned")
    assert [row["doc_id"] for row in rows(folder / "all/labels.csv")] == ["b"]  # and a is in dispute


@pytest.mark.parametrize("rule", ["fire", "majority", "unanimous", "dawid-skene"])
def test_no_judgments_give_no_labels_and_no_traceback(fire: Fire, folder: Path, rule: str) -> None:
    (folder / "none.csv").write_text("query_id,doc_id,annotator_id,label\n")
    told = fire("resolve", "none.csv", "--rule", rule, "--qrels", "qrels.txt", "--out", "none")
    assert "0 pairs with a label, 0 in dispute" in told.stderr
    assert rows(folder / "none/labels.csv") == []
    fire("augment", "--qrels", "qrels.txt", "--labels", "none", "--out", "same.txt")


def test_an_error_names_the_judgments_file(fire: Fire, folder: Path) -> None:
    (folder / "nobody.csv").write_text("query_id,doc_id,annotator_id,label\nq,a,,relevant\n")
    assert fire("resolve", "nobody.csv", "--out", "x", code=1).stderr.startswith(
        "error: nobody.csv: annotator_id is empty"
    )
