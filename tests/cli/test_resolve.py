"""`resolve` beyond its default: known pairs, adjudicators, rejected originals, either end."""

from pathlib import Path

import pytest
from command import as_json, by_pair, manifest_of, pairs_in, rows, run

JUDGMENTS = Path(__file__).with_suffix(".csv").read_text()
RESOLVE = ("resolve", "j.csv", "--out", "out")
LABELS = Path("out/labels.csv")


@pytest.fixture(autouse=True)
def judged(folder: Path) -> Path:
    (folder / "j.csv").write_text(JUDGMENTS)
    return folder


def test_the_change_against_a_majority_is_in_words_json_and_manifest() -> None:
    words = (*RESOLVE, "--rule", "adjudicator", "--adjudicator")
    counts = as_json(*words, "bob")
    # bob: b irrelevant, where the majority is tied
    assert counts["against_majority"] == {"same": 3, "other": 0, "gained": 1, "lost": 0}
    assert manifest_of("out")["counts"]["against_majority"] == counts["against_majority"]
    assert manifest_of("out")["parameters"]["adjudicators"] == ["bob"]
    assert "1 labelled that it leaves in dispute" in run(*words, "bob").stderr
    assert "adjudicator 'eve' gave no judgment" in run(*words, "eve", code=1).stderr


def test_rejected_originals_are_a_pool_of_the_next_round() -> None:
    for qrels in ("qrels.txt", "."):  # a file, or the folder of a release
        assert as_json(*RESOLVE, "--qrels", qrels)["rejected_originals"] == 1
    told = run(*RESOLVE, "--qrels", "qrels.txt").stderr
    assert "1 original positive labelled not relevant: ask again" in told
    ((pair, row),) = by_pair(Path("out/rejected/pool.csv")).items()
    assert (pair, row["is_original"], row["round"]) == (("1", "a"), "True", "3")


def test_dawid_skene_writes_posteriors_and_its_trace() -> None:
    run(*RESOLVE, "--rule", "dawid-skene")
    assert list(rows(Path("out/posteriors.csv"))[0]) == ["query_id", "doc_id", "p_irrelevant", "p_relevant"]
    assert {row["annotator_id"] for row in rows(Path("out/confusions.csv"))} == {"ann", "bob", "cat"}
    counts = manifest_of("out")["counts"]
    assert counts["log_likelihoods"] == sorted(counts["log_likelihoods"])
    assert counts["converged"] is True
    run(*RESOLVE)
    assert not Path("out/posteriors.csv").exists()
    assert "shared_from" not in rows(LABELS)[0]  # nothing was to be shared


def test_a_model_says_how_many_votes_it_has_and_warns_where_most_pairs_have_one() -> None:
    told = run(*RESOLVE, "--rule", "dawid-skene").stderr
    votes = "votes: 5 pairs, 1 with 0, 1 with 1, 2 with 2, 1 with 3; 3 annotators with 1 to 4 votes each"
    assert votes in told
    assert "have one vote" not in told
    assert "warning: 1 of 3 labels are not a majority's" in told  # a model of 8 votes
    Path("single.csv").write_text(JUDGMENTS.replace("1,b,bob", "1,e,bob").replace("1,c,bob", "1,f,bob"))
    single = ("resolve", "single.csv", "--out", "out")
    assert "warning: 5 of 6 pairs have one vote" in run(*single, "--rule", "dawid-skene").stderr
    assert list(rows(LABELS)[0])[-2:] == ["posterior", "rounds"]
    told = run(*single).stderr
    assert "warning" not in told
    assert "votes each" not in told


def test_every_rule_says_how_often_it_is_right_on_controls() -> None:
    # beside these four one of which the only answer is no vote, and one that nobody was asked
    Path("known.txt").write_text("1 0 a 0\n1 0 b 1\n1 0 c 0\n2 0 a 1\n2 0 d 1\n9 0 z 1\n")
    # b is tied; Wilson's interval of 2 of 3 by statsmodels' proportion_confint: .2077 to .9385
    assert (
        "on 4 controls, each unknown to the rule: rule fire is right on 2 of 3 that it labels "
        "(0.667, 95% 0.208 to 0.939); a majority is right on 2 of 3"
    ) in run(*RESOLVE, "--controls", "known.txt").stderr
    counts = as_json(*RESOLVE, "--controls", "known.txt")
    assert (counts["on_controls"]["n_labelled"], counts["on_controls"]["n_right"]) == (3, 2)
    assert counts["pairs_by_votes"] == [1, 1, 2, 1]


def test_a_model_learns_from_the_answers_to_controls() -> None:
    Path("known.txt").write_text("9 0 x 1\n9 0 y 1\n9 0 z 0\n")
    said = {"ann": ("relevant", "relevant", "irrelevant"), "bob": ("irrelevant", "irrelevant")}
    answers = [f"9,{doc},{who},{label},control,,\n" for who in said for doc, label in zip("xyz", said[who])]  # noqa: B905
    header = "query_id,doc_id,annotator_id,label,reason,detail,created_at\n"
    Path("dropped.csv").write_text(header + "".join(answers))
    found = []
    for more in ((), ("--controls", "known.txt")):
        run(*RESOLVE, "--rule", "dawid-skene", *more)
        found.append(by_pair(Path("out/posteriors.csv"), "p_relevant"))
    before, after = (float(each["1", "b"]) for each in found)
    assert after > max(before, 0.5)  # ann knew her controls, bob did not
    assert all(query != "9" for query, _ in found[1])  # controls are no pairs of the benchmark


def test_scores_under_two_rules_stand_side_by_side() -> None:
    for end in ("0", "1"):
        run(*RESOLVE, "--disputes", end)
        run("augment", "--qrels", "qrels.txt", "--labels", "out", "--out", f"qrels-{end}.txt")
    qrels = ("--qrels", "qrels-0.txt", "--augmented", "qrels-1.txt")
    table = as_json("score", *qrels, "clip.run", "-m", "P@3")
    values = {row["qrels"]: row["value"] for row in table if row["query_id"] == "all"}
    # clip finds a, b, c for query 1; b is the dispute, and counts as one of three for one of two queries
    assert values["augmented"] - values["original"] == pytest.approx(1 / 6)


def test_judgments_are_shared_among_queries_of_the_same_text() -> None:
    Path("same.tsv").write_text("query_id\ttext\n1\ta dog\n2\ta dog\n3\tA dog\n")
    votes = "1,a,ann,relevant,1\n2,a,bob,irrelevant,2\n1,b,ann,relevant,1\n"
    Path("j.csv").write_text("query_id,doc_id,annotator_id,label,round\n" + votes)
    share = (*RESOLVE, "--share-judgments", "same-text", "--queries", "same.tsv")
    counts = as_json(*share)
    assert (counts["shared_judgments"], counts["shared_conflicts"]) == (3, 0)
    assert "3 judgments shared among queries of the same text; 0 not" in run(*share).stderr
    found = [
        tuple(row[name] for name in ("query_id", "doc_id", "label", "shared_from")) for row in rows(LABELS)
    ]
    assert found == [("1", "b", "relevant", ""), ("2", "b", "relevant", "1")]
    assert pairs_in(Path("out/disputes.csv")) == {("1", "a"), ("2", "a")}
    Path("fire.toml").write_text('[collection]\nqueries = "same.tsv"\n')
    again = as_json("next-round", "--judgments", "j.csv", "--labels", "out", "--out", "again")
    assert again["pairs"] == 1  # one vote settles both
    Path("fire.toml").unlink()
    assert manifest_of("out")["parameters"]["share_judgments"] == "same-text"
    assert set(manifest_of("out")["inputs"]) == {"j.csv", "same.tsv"}
    said = "1 label shared by pairs that are alike, 1 of them positive: nobody judged these pairs"
    assert said in run("augment", "--qrels", "qrels.txt", "--labels", "out", "--out", "new.txt").stderr
    assert "2 0 b 1" in Path("new.txt").read_text()
    assert "2,b,,1,1,shared" in Path("changes.csv").read_text().splitlines()
    counts = manifest_of("new.txt")["counts"]
    assert (counts["new"], counts["shared"], counts["shared_positive"]) == (1, 1, 1)
    Path("both.run").write_text("1 Q0 b 1 9 both\n2 Q0 b 1 9 both\n")
    assert said in run("score", "both.run", "--qrels", "qrels.txt", "--augmented", "new.txt").stderr


def test_answers_of_nobodys_task_are_left_out_and_said_unless_they_are_to_count() -> None:
    votes = "1,a,ann,relevant,task\n1,a,bob,irrelevant,unassigned\n1,b,bob,relevant,unassigned\n"
    Path("j.csv").write_text("query_id,doc_id,annotator_id,label,kind\n" + votes)
    assert (
        "note: 2 answers not asked of their annotator left out, as `agree` does; 1 pair without another "
        "answer (--count-unassigned counts them)"
    ) in run(*RESOLVE).stderr
    assert by_pair(LABELS, "label") == {("1", "a"): "relevant"}
    run(*RESOLVE, "--count-unassigned")
    assert pairs_in(LABELS) == {("1", "b")}  # and a is in dispute


@pytest.mark.parametrize("rule", ["fire", "dawid-skene"])
def test_no_judgments_give_no_labels_and_an_error_names_their_file(rule: str) -> None:
    Path("j.csv").write_text("query_id,doc_id,annotator_id,label\n")
    told = run(*RESOLVE, "--rule", rule, "--qrels", "qrels.txt")
    assert "0 pairs with a label, 0 in dispute" in told.stderr
    assert rows(LABELS) == []
    run("augment", "--qrels", "qrels.txt", "--labels", "out", "--out", "same.txt")
    Path("j.csv").write_text("query_id,doc_id,annotator_id,label\nq,a,,relevant\n")
    assert run(*RESOLVE, code=1).stderr.startswith("error: j.csv: annotator_id is empty")
