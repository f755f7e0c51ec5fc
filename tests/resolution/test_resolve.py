"""What the rules say of votes, an adjudicator's word, controls, and what is told beside labels."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_judgments import judged as judged_rows
from small_judgments import judged_docs as judged
from small_world import make_qrels

from examples import cases, examples
from fire_toolkit import tables
from fire_toolkit.errors import FireError, TableError, UsageError
from fire_toolkit.resolution.other_labels import settle_disputes
from fire_toolkit.resolution.plan import rejected_originals
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import Resolution, resolve
from fire_toolkit.resolution.votes import Verdicts, Votes

GRADED = {"x": 2, "y": 1, "z": 0, "esc": None}


def ready(judgments: tables.Judgments) -> tuple[tables.Judgments, pd.DataFrame]:
    """What every rule needs: judgments of round 1, and a control that annotator a0 knew."""
    control = pd.DataFrame({"query_id": ["q"], "doc_id": ["control"], "label": ["x"]})
    known = control.assign(annotator_id="a0")
    return tables.check_judgments(pd.concat([judgments, known]).assign(round=1)), control


def decided(answers: dict[str, list[str]], rule: str) -> dict[str, str]:
    """doc_id → label, or the reason of the dispute in brackets."""
    labels, disputes = resolve(judged(answers), grades=GRADED, rule=rule)[:2]
    return dict(zip(labels["doc_id"], labels["label"], strict=True)) | {
        doc: f"[{reason}]" for doc, reason in zip(disputes["doc_id"], disputes["reason"], strict=True)
    }


@cases("answers", "fire", "majority", "unanimous")
def test_what_each_rule_says_of_an_answer_sheet(
    answers: str, fire: str, majority: str, unanimous: str
) -> None:
    sheet = {"d": ["esc" if answer == "e" else answer for answer in answers]}
    for rule, expected in (("fire", fire), ("majority", majority), ("unanimous", unanimous)):
        assert decided(sheet, rule) == {"d": expected}, rule


def test_a_label_carries_its_grade_its_votes_and_their_share() -> None:
    labels, disputes = resolve(judged({"d": ["x", "x", "y", "esc"], "e": ["z"]}), grades=GRADED)[:2]
    columns = ["doc_id", "label", "relevance", "method", "n_judgments", "n_agree", "vote_share"]
    rows = [("d", "x", 2, "fire", 3, 2, 2 / 3), ("e", "z", 0, "fire", 1, 1, 1.0)]
    expected = tables.check_labels(pd.DataFrame(rows, columns=columns).assign(query_id="q"))
    pd.testing.assert_frame_equal(expected, labels)
    assert len(disputes) == 0


def test_a_dispute_counts_every_answer_in_the_order_of_the_guideline() -> None:
    answers = {"b": ["y", "x", "esc"], "a": ["esc"]}
    rows = [("a", "escalated", 0, 0, 0, 1), ("b", "no_majority", 1, 1, 0, 1)]
    columns = ["doc_id", "reason", "n_x", "n_y", "n_z", "n_esc"]
    expected = tables.check_disputes(pd.DataFrame(rows, columns=columns).assign(query_id="q"))
    pd.testing.assert_frame_equal(expected, resolve(judged(answers), grades=GRADED)[1])


def test_what_weighs_pairs_in_agreement_is_nothing_to_a_rule() -> None:
    judgments = judged({"a": ["1", "1"], "b": ["0"]})
    weighed = judged({"a": ["1", "1"], "b": ["0"]}, inclusion_probability=[0.5, 0.1, 7.0])
    pd.testing.assert_frame_equal(resolve(judgments).labels, resolve(weighed).labels)


def test_pairs_of_different_queries_are_kept_apart() -> None:
    rows = [("q1", "d", "x"), ("q2", "d", "y"), ("q:1", "d", "z"), ("q", "1:d", "x")]
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "label"]).assign(annotator_id="u")
    labels = resolve(tables.check_judgments(table), grades=GRADED).labels
    found = list(zip(labels["query_id"], labels["doc_id"], labels["relevance"], strict=True))
    assert found == [("q", "1:d", 2), ("q1", "d", 2), ("q2", "d", 1), ("q:1", "d", 0)]


@pytest.mark.parametrize("rule", RULES)
def test_no_judgments_give_no_labels_and_no_disputes(rule: str) -> None:
    judgments = tables.check_judgments(judged({}).assign(round=pd.Series(dtype="int64")))
    labels, disputes = resolve(judgments, grades=GRADED, rule=rule)[:2]
    assert (len(labels), len(disputes)) == (0, 0)
    assert list(disputes.columns) == ["query_id", "doc_id", "reason", "n_x", "n_y", "n_z", "n_esc"]


@pytest.mark.parametrize("rule", RULES)
def test_where_no_label_is_a_vote_every_pair_is_escalated(rule: str) -> None:
    judgments = tables.check_judgments(judged({"d": ["esc", "esc"], "e": ["esc"]}).assign(round=1))
    found = resolve(judgments, grades={"esc": None}, rule=rule)
    assert (len(found.labels), list(found.disputes["reason"])) == (0, ["escalated", "escalated"])
    assert set(found.against_majority.values()) == {0}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=examples(15))
@given(
    answers=st.dictionaries(
        st.sampled_from("abcd"), st.lists(st.sampled_from(list(GRADED)), min_size=1, max_size=5)
    ),
    seed=st.integers(0, 99),
)
def test_every_judged_pair_is_a_label_or_a_dispute_whatever_the_row_order(
    rule: str, answers: dict[str, list[str]], seed: int
) -> None:
    judgments, controls = ready(judged(answers))
    before = judgments.copy()
    labels, disputes = resolve(judgments, grades=GRADED, rule=rule, controls=controls)[:2]
    assert sorted([*labels["doc_id"], *disputes["doc_id"]]) == sorted([*answers, "control"])
    (support,) = set(tables.SUPPORT) & set(labels.columns)
    assert labels[support].between(0, 1).all()
    assert "esc" not in set(labels["label"])
    shuffled = tables.Judgments(judgments.sample(frac=1, random_state=seed))
    again = resolve(shuffled, grades=GRADED, rule=rule, controls=controls)
    pd.testing.assert_frame_equal(labels, again[0])
    pd.testing.assert_frame_equal(disputes, again[1])
    pd.testing.assert_frame_equal(before, judgments)


@pytest.mark.parametrize("rule", RULES)
def test_a_pair_on_which_all_agree_has_their_label_and_an_escalated_one_has_none(rule: str) -> None:
    answers = {f"d{n}": ["xyz"[n % 3]] * 3 for n in range(30)} | {"e": ["esc", "esc"]}
    judgments, controls = ready(judged(answers))
    labels, disputes = resolve(judgments, grades=GRADED, rule=rule, controls=controls)[:2]
    expected = {doc: given[0] for doc, given in answers.items() if doc != "e"} | {"control": "x"}
    assert dict(zip(labels["doc_id"], labels["label"], strict=True)) == expected
    assert list(zip(disputes["doc_id"], disputes["reason"], strict=True)) == [("e", "escalated")]


@cases("answer", "options", "message")
def test_what_is_refused(answer: str, options: dict[str, Any], message: str) -> None:
    if "controls" in options:
        options = options | {"controls": pd.DataFrame(options["controls"]).assign(query_id="q", doc_id="d")}
    with pytest.raises(FireError) as refused:
        resolve(judged({"d": [answer]}), **{"grades": GRADED, **options})
    assert message in str(refused.value)


def test_a_vote_that_a_rule_leaves_open_is_in_dispute_and_not_escalated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def undecided(votes: Votes) -> Verdicts:
        return Verdicts(np.full(len(votes.pairs), -1))

    monkeypatch.setattr(type(RULES), "named", lambda rules, name: undecided)
    disputes = resolve(judged({"d": ["x"], "e": ["esc"]}), grades=GRADED).disputes
    assert list(disputes["reason"]) == ["no_majority", "escalated"]


YES_NO = {"n": 0, "y": 1, "e": None}


def answered(answers: str) -> tables.Judgments:
    """Judgments of the doc d and, so that any adjudicator has one, of the doc other, in round 1."""
    given = [answer.split(":") for answer in answers.split()]
    rows = [("d", name, said[0]) for name, said in given] + [("other", who, "y") for who in ("lead", "chair")]
    return judged_rows(rows, round=[int(said[1:] or 1) for _, said in given] + [1, 1])


def resolved(judgments: tables.Judgments, *adjudicators: str) -> Resolution:
    return resolve(judgments, grades=YES_NO, rule="adjudicator", adjudicators=adjudicators)


@cases("answers", "adjudicators", "expected")
def test_whose_word_counts(answers: str, adjudicators: list[str], expected: str) -> None:
    labels, disputes = resolved(answered(answers), *adjudicators)[:2]
    found = dict(zip(labels["doc_id"], labels["label"], strict=True)) | dict.fromkeys(disputes["doc_id"], "?")
    assert found == {"d": expected, "other": "y"}


def test_votes_are_counted_whoever_overruled_them() -> None:
    label = resolved(answered("u:n v:n lead:y"), "lead").labels.iloc[0]
    assert (label["n_judgments"], label["n_agree"], label["vote_share"]) == (3, 1, pytest.approx(1 / 3))


def test_neither_adjudicators_nor_rounds_is_an_error() -> None:
    judgments = tables.check_judgments(answered("u:y").drop(columns="round"))
    words = "rule adjudicator needs adjudicators, or judgments with a column round"
    with pytest.raises(UsageError, match=words):
        resolved(judgments)


@pytest.mark.parametrize("rounds", [["1", "2"], [1.0, None], [1.5, 2]])
def test_rounds_that_are_no_whole_numbers_are_an_error(rounds: list[object]) -> None:
    judgments = judged_rows([("d", "u", "y"), ("d", "v", "n")]).assign(round=rounds)
    with pytest.raises(TableError, match=r"round is of type .*; expected whole numbers"):
        resolved(tables.check_judgments(pd.DataFrame(judgments)))


def known(**labels: str) -> pd.DataFrame:
    return pd.DataFrame({"query_id": "q", "doc_id": list(labels), "label": list(labels.values())})


def test_fewer_than_two_controls_say_nothing() -> None:
    judgments = judged({"one": "yyn", "two": "nny"})
    assert resolve(judgments, grades=YES_NO).on_controls is None
    full = resolve(judgments, grades=YES_NO, controls=known(one="y", four="n"))
    assert full.on_controls is None


def test_each_control_is_judged_as_by_resolving_without_its_part() -> None:
    draw = np.random.default_rng(6)
    truth = draw.random(120) < 0.3
    error = np.array([0.05, 0.2, 0.4])
    given = truth[:, None] ^ (draw.random((120, 3)) < error)
    answers = {f"d{n:03d}": "".join("ny"[int(v)] for v in row) for n, row in enumerate(given)}
    controls = known(**{f"d{n:03d}": "ny"[int(truth[n])] for n in range(23)})
    expected = 0
    for part in range(5):
        hidden = controls.iloc[part::5]
        told = controls.drop(index=hidden.index)
        full = resolve(judged(answers), grades=YES_NO, rule="dawid-skene", controls=told)
        both = full.labels.merge(hidden, on=["query_id", "doc_id"], suffixes=("", "_known"))
        expected += int((both["label"] == both["label_known"]).sum())
    found = resolve(judged(answers), grades=YES_NO, rule="dawid-skene", controls=controls).on_controls
    assert found is not None
    assert found["n_right"] == expected


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_be_measured(rule: str) -> None:
    judgments = tables.check_judgments(judged({f"d{n}": "yyy" for n in range(6)}).assign(round=1))
    controls = known(**{f"d{n}": "y" for n in range(4)})
    found = resolve(judgments, grades=YES_NO, rule=rule, controls=controls).on_controls
    assert found is not None
    counts = {"n_controls", "n_labelled", "n_right", "majority_right"}
    assert {name: found[name] for name in counts} == dict.fromkeys(counts, 4)


def test_controls_with_the_first_label_count_as_any_other() -> None:
    """The first label has the code 0, and a pair without a known label the code -1."""
    answers = {f"d{n}": "nn" if n % 2 else "ny" for n in range(8)} | {"last": "yy", "tied": "yn"}
    controls = known(**{f"d{n}": "n" for n in range(8)}, tied="n")
    full = resolve(judged(answers), grades=YES_NO, rule="dawid-skene", controls=controls)
    assert full.on_controls is not None
    assert full.on_controls["n_controls"] == 9
    labels = full.labels.set_index("doc_id")["label"]
    # the second annotator is right on half of the controls, so the first decides
    assert [labels[f"d{n}"] for n in range(8)] == ["n"] * 8
    assert labels["tied"] == "n"  # a model keeps what it is told


GRADES = {"no": 0, "yes": 1, "very": 2, "?": None}


def labelled(relevances: dict[str, int]) -> tables.Labels:
    docs = pd.Series(relevances.keys(), dtype="str")
    table = pd.DataFrame({"doc_id": docs, "label": "x", "relevance": list(relevances.values())})
    return tables.check_labels(
        table.assign(query_id="q", label=table["label"].astype("str")).astype({"query_id": "str"})
    )


def test_rejected_originals_are_those_with_a_label_that_is_not_positive() -> None:
    qrels = make_qrels({"q": {"kept": 1, "rejected": 1, "unjudged": 1, "explicit": 0}})
    labels = labelled({"kept": 2, "rejected": 0, "explicit": 0, "new": 1, "other": 0})
    pool = rejected_originals(labels, qrels, round=3)
    assert pool[["doc_id", "is_original", "round"]].to_numpy().tolist() == [["rejected", True, 3]]


def test_a_rule_is_compared_with_a_plain_majority() -> None:
    answers = {"same": ["yes", "yes", "no"], "tie": ["yes", "no"], "one": ["no"]}
    judgments = judged(answers | {"lost": ["yes", "yes", "no", "very"]})
    found = resolve(judgments, grades=GRADES, rule="fire").against_majority
    assert found == {"same": 2, "other": 0, "gained": 0, "lost": 1}
    found = resolve(
        judged({"other": ["yes", "yes", "no"], "gained": ["yes", "very", "no"]}),
        grades=GRADES,
        rule="adjudicator",
        adjudicators=["a2"],
    ).against_majority
    assert found == {"same": 0, "other": 1, "gained": 1, "lost": 0}


def test_disputes_can_be_settled_at_either_end() -> None:
    judgments = judged({"tie": ["yes", "no"], "escalated": ["?"], "one": ["no"]})
    labels, disputes = resolve(judgments, grades=GRADES)[:2]
    for end, label, relevance in (("0", "no", 0), ("1", "yes", 1)):
        settled = settle_disputes(labels, disputes, grades=GRADES, end=end)
        row = settled.set_index("doc_id").loc["tie"]
        assert (row["label"], row["relevance"], row["method"]) == (label, relevance, f"disputes_as_{end}")
        assert (row["n_judgments"], row["n_agree"]) == (2, 1)
        assert np.isnan(row["vote_share"])
        assert list(settled["doc_id"]) == ["one", "tie"]
    with pytest.raises(UsageError, match="no label of the guideline is positive"):
        settle_disputes(labels, disputes.assign(), grades={"no": 0}, end="1")


def test_without_disputes_nothing_is_settled() -> None:
    labels, disputes = resolve(judged({"one": ["no"]}), grades=GRADES)[:2]
    pd.testing.assert_frame_equal(labels, settle_disputes(labels, disputes, grades=GRADES, end="1"))


def test_labels_name_the_rounds_of_their_votes() -> None:
    judgments = judged({"a": ["yes", "no", "yes"], "b": ["no"], "c": ["?", "no"]}, round=[1, 1, 2, 2, 1, 3])
    labels = resolve(judgments, grades=GRADES).labels
    assert dict(zip(labels["doc_id"], labels["rounds"], strict=True)) == {"a": "1;2", "b": "2", "c": "3"}
    plain = resolve(judged({"b": ["no"]}), grades=GRADES).labels
    assert "rounds" not in plain.columns
    resolved = resolve(judgments, grades=GRADES, rule="unanimous")[:2]
    settled = settle_disputes(*resolved, grades=GRADES, end="0")
    assert dict(zip(settled["doc_id"], settled["rounds"], strict=True)) == {"a": "", "b": "2", "c": "3"}


def test_a_model_tells_its_posteriors_and_its_trace() -> None:
    judgments = judged({f"d{n}": ["yes", "yes" if n % 2 else "no"] for n in range(6)} | {"e": ["?"]})
    full = resolve(judgments, grades=GRADES, rule="dawid-skene")
    assert full.posteriors is not None
    assert list(full.posteriors.columns) == ["query_id", "doc_id", "p_no", "p_yes", "p_very"]
    assert full.posteriors[["p_no", "p_yes", "p_very"]].sum(axis=1).to_numpy() == pytest.approx(np.ones(7))
    best = full.posteriors.set_index("doc_id")[["p_no", "p_yes", "p_very"]].max(axis=1)
    assert full.labels["posterior"].to_numpy() == pytest.approx(best[full.labels["doc_id"]].to_numpy())
    assert full.confusions is not None
    said = full.confusions.groupby(["annotator_id", "truth"])["probability"].sum()
    assert said.to_numpy() == pytest.approx(np.ones(2 * 3))
    assert dict(full.confusions.groupby("annotator_id")["n_votes"].first()) == {"a0": 6, "a1": 6}
    assert full.converged
    assert (np.diff(full.trace) > -1e-9).all()


@pytest.mark.parametrize("rule", sorted(set(RULES) - {"dawid-skene", "adjudicator"}))
def test_other_rules_have_none(rule: str) -> None:
    full = resolve(judged({"a": ["yes"]}), grades=GRADES, rule=rule)
    assert (full.posteriors, full.confusions, full.trace) == (None, None, ())
    assert full.converged
