import pandas as pd

from examples import cases
from fire_toolkit.agreement.table import agreement_summary
from fire_toolkit.reporting.methods import STUDY, MethodFacts, blanks_of, drawn_paragraphs, methods_paragraphs
from fire_toolkit.tables import check_judgments
from fire_toolkit.workspace.config import SETTINGS


def test_what_is_not_known_is_a_blank_with_its_name() -> None:
    paragraphs = methods_paragraphs(MethodFacts())
    titles = ["Pool", "Annotators", "Procedure", "Exclusions", "Agreement", "Labels"]
    assert [title for title, _ in paragraphs] == titles
    own = ["judgments", "guideline", "overlap", "exclusions", "agreement", "rule", "disputes", "policy"]
    assert blanks_of(paragraphs) == ["pool", *STUDY, *own]


def test_the_workspace_has_a_setting_for_each_thing_that_no_file_knows() -> None:
    assert dict.fromkeys(STUDY, "") == SETTINGS["study"]


COUNTS = {"policy": "union", "new": 9, "confirmed": 8, "rejected": 2}


def test_what_is_known_is_said() -> None:
    against = {"same": 1490, "other": 4, "gained": 5, "lost": 6}
    errors: dict[str, object] = {"wrong_share": 0.014, "wrong_share_low": 0.009, "wrong_share_high": 0.019}
    errors |= {"recall": 0.938, "recall_low": 0.922, "recall_high": 0.954, "basis": "t .92"}
    facts = MethodFacts(
        study={"pay": "14 EUR an hour", "consent": "They agreed in writing."},
        dropped={"skipped": 3, "no_label": 1200},
        n_later=7,
        labels_by={"rule": "fire", "labels": 1500, "disputes": 20, "against_majority": against}
        | {"shared_judgments": 788},
        augmented=COUNTS | {"policy": "override", "queries_without_positive": ["q"], "label_errors": errors},
        asked={"overlap": 5, "adjudication": 214},
        policy="until-confirmed",
    )
    text = dict(methods_paragraphs(facts))
    assert "14 EUR an hour. They agreed in writing. [ethics: not stated]" in text["Annotators"]
    assert text["Exclusions"].startswith("1,203 answers did not count: 3 skipped, 1,200 no label. Agreement ")
    assert (
        "rule fire: 1,500 pairs with a label, 20 in dispute. A plain majority would label 15 pairs"
        in text["Labels"]
    )
    assert "under policy override gives 9 new positives; 8 of the original positives" in text["Labels"]
    said = "788 of the votes that labels rest on were given to another caption of the same text."
    assert said in text["Labels"]
    assert "1 query lost every positive" in text["Labels"]
    assert "Of the new positives an expected 1.4% [0.9, 1.9] are wrong, and of the relevant" in text["Labels"]
    assert "by the policy until-confirmed." in text["Procedure"]
    assert "; later rounds asked for 214 further answers." in text["Procedure"]  # of a pair perhaps two


@cases("parameters", "said")
def test_a_pool_that_was_chosen_is_said_to_be(parameters: dict[str, object], said: str) -> None:
    pool = {"depth": 10, "runs": 3, "pairs": 500, "queries": 50, **parameters}
    assert said in dict(methods_paragraphs(MethodFacts(pool=pool)))["Pool"]


def test_special_characters_are_escaped_for_latex() -> None:
    paragraphs = pd.DataFrame({"title": ["Pay"], "text": ["5% & $3_a {b} #1 a\\b ~ ^ <x> “q”"]})
    assert drawn_paragraphs(paragraphs, "latex").rstrip() == (
        r"\paragraph{Pay} 5\% \& \$3\_a \{b\} \#1 a\textbackslash{}b \textasciitilde{} "
        r"\^{} \ensuremath{<}x\ensuremath{>} ``q''"
    )


def test_labels_that_nobody_gave_unusable_captions_and_what_annotators_saw_are_said() -> None:
    counts = COUNTS | {"shared": 118, "shared_positive": 52}
    unusable = {"n": 58, "n_queries": 1332, "n_labelled": 1320, "unusable": "drop"}
    text = dict(methods_paragraphs(MethodFacts(augmented=counts, unusable=unusable)))["Labels"]
    assert "has the same text went to 118 pairs that nobody judged, 52 of them as positive." in text
    assert text.endswith(
        "found 58 of 1,332 captions unusable as queries, which were dropped from the qrels; "
        "captions without a label (12) count as usable."
    )
    asked = {"overlap": 3}
    seen = dict(methods_paragraphs(MethodFacts(asked=asked)))["Procedure"]
    assert "They saw the caption and the item, but no model or rank" in seen
    composed = MethodFacts(asked=asked, seen=["the caption", "the reference", "the item"])
    said = "They saw the caption, the reference and the item, but no model or rank"
    assert said in dict(methods_paragraphs(composed))["Procedure"]
    alone = dict(methods_paragraphs(MethodFacts(asked=asked, seen=["the caption"])))["Procedure"]
    assert "They saw the caption alone." in alone


def test_statistics_that_are_undefined_for_one_reason_are_named_together() -> None:
    by_one = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "annotator_id": "u", "label": ["1", "0"]})
    facts = MethodFacts(agreement=agreement_summary(check_judgments(by_one)))
    text = dict(methods_paragraphs(facts))["Agreement"]
    said = "Krippendorff's alpha, Agreement and Agreement on positives are undefined: no pair has two "
    assert (text.count("undefined"), text.startswith(said)) == (1, True)
