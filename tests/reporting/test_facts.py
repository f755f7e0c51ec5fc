"""What the report says of labels, models and annotators, beside a few lines that count it anew."""

from collections import Counter

import numpy as np
import pandas as pd

from fire_toolkit.reporting import voted
from fire_toolkit.reporting.page import headline, swaps
from fire_toolkit.results import Found
from fire_toolkit.tables import check_judgments, check_labels, check_pool_sources, check_qrels, check_queries


def _table(names: str, text: str) -> pd.DataFrame:
    return pd.DataFrame([row.split() for row in text.split(", ")], columns=names.split())


ORIGINAL = check_qrels(_table("query_id doc_id relevance", "q a 1, q b 1, r a 1, r c 0"))
RELEVANT = _table("query_id doc_id relevance", "q a 1, q b 0, q c 1, r a 1, r b 2, r c 0")
LABELS = check_labels(RELEVANT.assign(label="x", method="fire", n_judgments=1, n_agree=1))
DISPUTES = _table("query_id doc_id", "r d")
RANKED = "q a one 1, q b one 2, q c one 3, r b one 1, r d one 2, q c two 1, r b three 1"
SOURCES = check_pool_sources(_table("query_id doc_id run_id rank", RANKED))


def test_flipped_are_new_positives_rejected_originals_and_disputes() -> None:
    found = voted.flipped_pairs(ORIGINAL, LABELS, DISPUTES)
    expected = {"q c new positive", "r b new positive", "q b rejected original", "r d dispute"}
    assert {" ".join(row) for row in found.to_numpy()} == expected


def test_flips_are_counted_by_run_and_by_length() -> None:
    flipped = voted.flipped_pairs(ORIGINAL, LABELS, DISPUTES)
    table = voted.flips_by_run(flipped, SOURCES, "gallery/index.html").set_index(["group", "flip"])
    assert table["n_pairs"].to_dict() == {
        ("one", "new positive"): 2, ("one", "rejected original"): 1, ("one", "dispute"): 1,
        ("two", "new positive"): 1, ("two", "rejected original"): 0, ("two", "dispute"): 0,
        ("three", "new positive"): 1, ("three", "rejected original"): 0, ("three", "dispute"): 0,
    }  # fmt: skip
    assert table["share"]["one", "new positive"] == 2 / 5
    assert table["href"]["two", "dispute"] == "gallery/index.html#?only=disputes"
    assert voted.flips_by_run(flipped, SOURCES)["href"].isna().all()
    texts = {"query_id": ["q", "r", "s"], "text": ["a cat", "a much longer text", "?"]}
    queries = check_queries(pd.DataFrame(texts))
    judged = pd.concat([LABELS[["query_id"]], DISPUTES[["query_id"]]])
    by_length = voted.flips_by_length(flipped, judged, queries, n_groups=2)
    counts = by_length.groupby("group", sort=False)["n_pairs"].sum()
    assert counts.tolist() == [2, 2]
    assert counts.index.tolist() == ["5 characters", "18 characters"]


def test_every_new_positive_belongs_to_one_set_of_runs() -> None:
    rng = np.random.default_rng(0)
    pairs = [(f"q{rng.integers(9)}", f"d{n}") for n in range(80)]
    labels = check_labels(pd.DataFrame(pairs, columns=["query_id", "doc_id"]).assign(
        relevance=rng.integers(0, 2, 80), label="x", method="fire", n_judgments=1, n_agree=1))  # fmt: skip
    sources = check_pool_sources(pd.DataFrame(
        [(*pair, run, 1) for pair in pairs for run in "abc" if rng.random() < 0.5],
        columns=["query_id", "doc_id", "run_id", "rank"]))  # fmt: skip
    original = check_qrels(labels[["query_id", "doc_id", "relevance"]].iloc[:5].assign(relevance=1))
    found = voted.sets_of_runs(voted.flipped_pairs(original, labels, None), sources)
    new = {tuple(pair) for pair in labels.loc[labels["relevance"] >= 1, ["query_id", "doc_id"]].to_numpy()}
    new -= {tuple(pair) for pair in original[["query_id", "doc_id"]].to_numpy()}
    by_pair = sources.groupby(["query_id", "doc_id"])["run_id"].agg(lambda runs: "".join(sorted(runs)))
    wanted = Counter(by_pair[[pair in new for pair in by_pair.index]])
    shown = {
        "".join(sorted(own.loc[own["is_in"], "run_id"])): int(own["n_pairs"].iloc[0])
        for _, own in found.groupby("set")
    }
    assert shown == dict(wanted)
    assert found.drop_duplicates("set")["n_pairs"].is_monotonic_decreasing


def test_runs_that_found_as_many_stand_by_their_ids() -> None:
    found_by = {"query_id": ["p", "q"], "doc_id": "d", "run_id": ["b", "a"], "rank": 1}
    flipped = pd.DataFrame({"query_id": ["p", "q"], "doc_id": "d", "flip": "new positive"})
    sets = voted.sets_of_runs(flipped, check_pool_sources(pd.DataFrame(found_by)))
    assert sets.loc[sets["set"] == 1, "run_id"].tolist() == ["a", "b"]


def test_misses_and_false_alarms_are_shares_of_others_votes() -> None:
    rng = np.random.default_rng(1)
    rows = [
        ("q", f"d{n}", who, str(rng.integers(0, 3)))
        for n in range(150)
        for who in "uvw"
        if rng.random() < 0.7
    ]
    judgments = check_judgments(pd.DataFrame(rows, columns=["query_id", "doc_id", "annotator_id", "label"]))
    grades = {"0": 0, "1": 1, "2": None}
    table, two = voted.annotators_beside_others(judgments, grades=grades)
    table, two = table.set_index("annotator_id"), two.set_index(["a", "b"])
    votes = {(doc, who): label == "1" for _, doc, who, label in rows if label != "2"}
    for who in "uvw":
        beside = [(own, other) for (doc, one), own in votes.items() if one == who
                  for (same, two_), other in votes.items() if same == doc and two_ != who]  # fmt: skip
        of_positive = [own for own, other in beside if other]
        of_negative = [own for own, other in beside if not other]
        assert table["misses"][who] == np.mean([not own for own in of_positive])
        assert table["false_alarms"][who] == np.mean(of_negative)
    shared = [
        (votes[doc, "u"], votes[doc, "w"])
        for doc in {d for d, _ in votes}
        if {(doc, "u"), (doc, "w")} <= set(votes)
    ]
    assert two["n_shared"]["u", "w"] == len(shared)
    assert two["agreement"]["u", "w"] == np.mean([one == other for one, other in shared])


def _said(
    gains: list[float],
    *changes: tuple[str, bool],
    new: int = 2,
    judged: float = 1.0,
    is_corrected: bool = False,
) -> list[str]:
    """Return the headline of models a, b, … with these gains in C@1, and changes of places of a and b."""
    runs = [chr(97 + n) for n in range(len(gains))]
    rows = [(run, name, 3.0) for name in ("MedR", "Judged@10") for run in runs] + list(
        zip(runs, ["C@1"] * len(runs), gains, strict=True)
    )
    changed = [{"measure": name, "run_a": "a", "run_b": "b", "holds": holds} for name, holds in changes]
    scores = pd.DataFrame(rows, columns=["run_id", "measure", "delta"])
    scores = scores.assign(judged=judged, labelled=0.5 if is_corrected else float("nan"))
    outcome = {"new": new, "n_queries": 4, "wrong_share": 0.0}
    return [text.replace("*", "") for text in headline(outcome, scores, changed)]


def test_three_sentences_say_what_was_found() -> None:
    assert _said([0.218, 0.571], ("C@1", False), ("AP", True)) == [
        "2 right answers counted as wrong, 0.5 a query.",
        "C@1 was understated by 21.8 to 57.1 points, depending on the model.",
        "By C@1, 1 pair of models changes places; this change may be chance.",
    ]
    outcome, no_scores = {"new": 2, "n_queries": 4}, pd.DataFrame({"measure": [], "run_id": []})
    graded = headline(outcome | {"is_graded": True, "wrong_share": 0.004}, no_scores, [])
    assert graded == ["*2 answers of grade 1 or more counted as wrong*, 0.5 a query."]
    (noisy,) = headline(outcome | {"wrong_share": 0.262}, no_scores, [])
    assert noisy.endswith("*, 0.5 a query; an expected 26% of these labels are wrong.")
    (unknown,) = headline(outcome | {"wrong_share": float("nan")}, no_scores, [])
    assert unknown.endswith("*, 0.5 a query; how many of these labels are wrong is not known.")
    assert _said([-0.02, 0.05])[1:] == [
        "C@1 changed by -2.0 to +5.0 points, depending on the model.",
        "By C@1, no two models change places.",
    ]
    assert _said([-0.05, -0.02])[1] == "C@1 was overstated by 2.0 to 5.0 points, depending on the model."
    assert _said([-0.05, 0.0])[1] == "C@1 was overstated by 0.0 to 5.0 points, depending on the model."
    assert _said([-0.0001, 0.115])[1] == "C@1 was understated by 0.0 to 11.5 points, depending on the model."
    least = "C@1 was understated by at least 1.0 to 2.0 points, depending on the model."
    assert _said([0.01, 0.02], judged=0.5, is_corrected=True)[1] == least
    assert _said([0.01, 0.02], judged=0.5)[1] == least.replace("at least ", "")  # wrong votes push it up too
    assert _said([-0.02], judged=0.5)[1] == "C@1 was overstated by 2.0 points."
    assert _said([0.01], new=0) == [
        "No answer that counted as wrong was found to be right.",
        "C@1 was understated by 1.0 points.",
    ]
    assert _said([0.0])[1] == "C@1 did not change."
    assert _said([0, 0], ("C@1", True))[2] == "By C@1, 1 pair of models changes places; this change holds."
    two = "By C@1, 2 pairs of models change places; "
    assert _said([0, 0], ("C@1", True), ("C@1", False))[2] == two + "1 of these changes holds."
    assert _said([0, 0], ("C@1", False), ("C@1", False))[2] == two + "none of these changes holds."
    some = ("AP", False), ("C@5", False), ("C@10", True)
    assert _said([0, 0], *some)[2] == "By C@1, no two models change places; by AP, C@5 and C@10 some do."


def test_a_change_of_places_holds_where_the_intervals_of_the_grid_say_so_on_either_side() -> None:
    """Of a and b the original difference may be 0; of a and c the corrected one counts."""
    swapped = pd.DataFrame(
        [("C@1", "a", "b", True, 0.97), ("C@1", "a", "c", True, 0.99), ("C@1", "b", "c", False, 0.0),
         ("AP", "a", "b", True, 0.96)],
        columns=["measure", "run_a", "run_b", "swapped", "p_swap"],
    ).assign(p_reversed_a=[0.03, 0.01, 0, 0.02], p_reversed_b=0.01)  # fmt: skip
    rows = [
        ("original", "C@1", "a", "b", -0.15, -0.295, 0.003, 0.19),
        ("corrected", "C@1", "a", "b", 0.17, 0.03, 0.3, 0.06),
        ("original", "C@1", "a", "c", -0.2, -0.3, -0.1, 0.01),
        ("augmented", "C@1", "a", "c", 0.1, -0.1, 0.3, 0.2),
        ("corrected", "C@1", "a", "c", 0.2, 0.1, 0.3, 0.2),
        ("original", "AP", "a", "b", -0.2, -0.3, -0.1, 0.01),
        ("augmented", "AP", "a", "b", 0.2, 0.1, 0.3, 0.2),
    ]
    columns = ["qrels", "measure", "run_a", "run_b", "difference", "low", "high", "p_holm"]
    found = swaps(Found({"swaps": swapped}), pd.DataFrame(rows, columns=columns))
    expected = [("C@1", "b", False), ("C@1", "c", True), ("AP", "b", True)]
    assert [(each["measure"], each["run_b"], each["holds"]) for each in found] == expected
    assert [each["holds"] for each in swaps(Found({"swaps": swapped}))] == [False, True, True]
