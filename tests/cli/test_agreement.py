"""`agree` beyond its default: what counts, how certain it is, and whom it is of."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Fire, rows
from small_judgments import krippendorff_alpha

from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_judgments

AGREE = ("agree", "--format", "csv")
CONTRACT = ["group", "statistic", "level", "value", "n_units", "n_pairable", "n_annotators", "note"]


def write(folder: Path, answers: list[tuple[str, str, str, str]], **columns: Sequence[object]) -> None:
    """Write many.csv from (query, doc, annotator, label) and further columns."""
    lines = [",".join(["query_id", "doc_id", "annotator_id", "label", *columns])]
    for number, answer in enumerate(answers):
        lines.append(",".join([*answer, *(str(values[number]) for values in columns.values())]))
    (folder / "many.csv").write_text("\n".join(lines) + "\n")


def two_annotators(n: int) -> list[tuple[str, str, str, str]]:
    """Two annotators on `n` pairs, who differ on every eighth and call every second relevant."""
    answers = []
    for pair in range(n):
        one = "relevant" if pair % 2 else "irrelevant"
        other = one if pair % 8 else "relevant"
        query = f"q{pair % 10}"
        answers += [(query, f"d{pair}", "ann", one), (query, f"d{pair}", "bob", other)]
    return answers


def test_every_statistic_can_be_asked_for(fire: Fire) -> None:
    table = rows(fire(*AGREE, "judgments.csv", "--measure", "all").stdout)
    assert list(STATISTICS) == [row["statistic"] for row in table]
    assert list(table[0]) == CONTRACT
    assert all(row["value"] != "nan" or row["note"] for row in table)
    named = rows(fire(*AGREE, "judgments.csv", "-m", "gwet_ac1", "-m", "alpha").stdout)
    assert [row["statistic"] for row in named] == ["gwet_ac1", "alpha"]
    unknown = fire(*AGREE, "judgments.csv", "--measure", "kappa", code=1)
    assert "statistic 'kappa' is unknown" in unknown.stderr


def test_intervals_stand_after_the_columns_of_the_contract(fire: Fire, folder: Path) -> None:
    write(folder, two_annotators(80))
    plain = rows(fire(*AGREE, "many.csv", *(word for name in DEFAULTS for word in ("-m", name))).stdout)
    table = rows(fire(*AGREE, "many.csv", "--intervals").stdout)
    added = ["low", "high", "below_667", "below_800", "n_resampled", "interval_note"]
    assert list(table[0]) == CONTRACT + added
    assert plain == [{name: row[name] for name in CONTRACT} for row in table]
    assert all(float(row["low"]) < float(row["value"]) < float(row["high"]) for row in table)
    assert 0 < float(table[0]["below_800"]) < 1
    clustered = rows(fire(*AGREE, "many.csv", "--cluster", "query_id").stdout)
    assert clustered[0]["n_resampled"] == "10"


def test_agree_prints_a_table_and_says_each_note_once(fire: Fire, folder: Path) -> None:
    answers = [*two_annotators(80), ("q0", "d0", "cy", "ambiguous"), ("q1", "d1", "cy", "ambiguous")]
    write(folder, answers)
    found = fire("agree", "many.csv", "--intervals", "--by", "annotator_id")
    header, _, *lines = found.stdout.splitlines()
    assert header.split()[:5] == ["annotator_id", "measure", "level", "value", "95%"]
    assert len(lines) == 12
    assert found.stderr.count("note: cy alpha, cy percent_agreement, cy positive_agreement: ") == 1
    assert "rests on: 162 judgments of 80 pairs by 3 annotators; intervals by pair" in found.stderr
    assert "note" not in found.stdout
    paper = fire("agree", "many.csv", "--format", "latex")
    assert "\n% rests on: 162 judgments of 80 pairs by 3 annotators; votes: 80 pairs, 80 wi" in paper.stdout


def test_by_default_agreement_stands_with_its_intervals_and_what_it_rests_on(
    fire: Fire, folder: Path
) -> None:
    write(folder, [*two_annotators(80), ("q9", "single", "ann", "relevant")])
    found = fire("agree", "many.csv")
    header, _, *lines = found.stdout.splitlines()
    assert header.split() == ["measure", "value", "95%"]
    assert [line.split()[0] for line in lines] == list(DEFAULTS)
    assert max(map(len, found.stdout.splitlines())) <= 80
    assert (
        "rests on: 161 judgments of 81 pairs by 2 annotators; votes: 81 pairs, 1 with 1, 80 with 2; "
        "intervals by caption; design effect of captions on alpha " in found.stderr
    )
    assert "unreliable" not in found.stderr


def test_few_positives_among_the_doubled_pairs_are_said_beside_the_interval(fire: Fire, folder: Path) -> None:
    """50 doubled pairs, 2% of them relevant, people right in 94%; samples like most others."""
    draw = np.random.default_rng(0)
    votes = (np.arange(50) == 7)[:, None] ^ (draw.random((50, 2)) < 0.06)
    given = [(f"q{n}", f"d{n}", who, votes[n, place]) for n in range(50) for place, who in enumerate("ab")]
    write(folder, [(*names, "relevant" if vote else "irrelevant") for *names, vote in given])
    found = fire("agree", "many.csv")
    n_positive = votes.sum() / 2
    needed = math.ceil(10 * 50 / n_positive)
    assert (
        f"note: alpha: {n_positive:.1f} positives among 50 pairs judged twice: with fewer than 10 the "
        f"interval of alpha is unreliable; at this share of positives about {needed} pairs judged twice "
        "hold 10"
    ) in found.stderr
    assert "*" not in found.stdout
    paper = fire("agree", "many.csv", "--format", "latex").stdout
    assert f"% note: alpha: {n_positive:.1f} positives among 50 pairs" in paper


def test_python_and_the_command_give_one_alpha_by_default(fire: Fire, folder: Path) -> None:
    draw = np.random.default_rng(3)
    guideline = read_guideline("graded-relevance-v1")
    labels = [name for name, grade in guideline.grades.items() if grade is not None]
    first = draw.integers(len(labels), size=60)
    second = np.clip(first + draw.integers(-1, 2, size=60), 0, len(labels) - 1)
    answers = [(f"q{n % 12}", f"d{n}", who, labels[votes[n]])
               for n in range(60) for who, votes in (("ann", first), ("bob", second))]  # fmt: skip
    write(folder, answers)
    alpha = rows(fire(*AGREE, "many.csv", "--guideline", guideline.name).stdout)[0]
    assert alpha["level"] == "ordinal"
    judgments = read_judgments(folder / "many.csv").judgments
    found = krippendorff_alpha(judgments, grades=guideline.grades).value
    assert found == pytest.approx(float(alpha["value"]), abs=1e-12)
    assert found == krippendorff_alpha(judgments, grades=guideline.grades, level="ordinal").value
    assert abs(found - krippendorff_alpha(judgments, grades=guideline.grades, level="nominal").value) > 0.05


def test_a_table_for_a_paper_has_words_for_statistics_and_notes_as_comments(fire: Fire, folder: Path) -> None:
    write(folder, [*two_annotators(80), ("q0", "d0", "cy", "ambiguous")])
    text = fire("agree", "many.csv", "--format", "latex").stdout
    assert "Krippendorff's alpha" in text
    assert "Agreement on positives" in text
    assert "\n% note: 1 answer without a vote left out" in text
    body = "".join(line + "\n" for line in text.splitlines() if not line.startswith("%"))
    assert body.startswith("\\begin{tabular}")
    assert "_" not in body
    assert "95\\%" in body
    assert "[0." in body


def test_only_first_answers_count_unless_all_rounds_are_asked_for(fire: Fire, folder: Path) -> None:
    answers = [*two_annotators(8), ("q0", "d0", "cat", "relevant")]
    write(folder, answers, round=[1] * 16 + [2])
    first = fire(*AGREE, "many.csv")
    assert rows(first.stdout)[0]["n_annotators"] == "2"
    assert "1 answer of later rounds or unasked for left out" in first.stderr
    everything = fire(*AGREE, "many.csv", "--all-rounds")
    assert rows(everything.stdout)[0]["n_annotators"] == "3"
    assert "warning: 1 answer of later rounds" in everything.stderr


@pytest.mark.parametrize(("third", "is_said"), [(range(12), True), (range(9), False), (range(11, 24), False)])
def test_third_votes_where_two_differ_are_said_where_no_round_is(
    fire: Fire, folder: Path, third: range, is_said: bool
) -> None:
    """The first 12 of 40 pairs are split; who asks a third vote there alone has another alpha."""
    votes = [(f"q{n}", "d", who, "no" if n < 12 and who == "b" else "yes") for n in range(40) for who in "ab"]
    write(folder, [*votes, *((f"q{n}", "d", "c", "yes") for n in third)])
    told = fire("agree", "many.csv", "--measure", "alpha").stderr
    assert ("all 12 pairs with 3 votes have votes that differ, 0% of the others" in told) == is_said


def test_a_round_that_is_no_number_is_said_to_be_none(fire: Fire, folder: Path) -> None:
    write(folder, two_annotators(2), round=["pilot"] * 4)
    assert "round has values that are not whole numbers" in fire(*AGREE, "many.csv", code=1).stderr


def test_pairs_weigh_the_inverse_of_their_inclusion_probability(fire: Fire, folder: Path) -> None:
    answers = two_annotators(80)
    write(folder, answers, inclusion_probability=[0.1 if a[1] in ("d0", "d8") else 1.0 for a in answers])
    found = fire(*AGREE, "many.csv", "--measure", "percent_agreement")
    # 10 of 80 pairs disagree; two of these stand for ten each: (80 - 10) of 80 + 18 agree
    assert float(rows(found.stdout)[0]["value"]) == pytest.approx(70 / 98)
    assert "note: pairs weigh the inverse of their inclusion_probability" in found.stderr
    write(folder, answers, inclusion_probability=[2.0] * 160)
    assert "inclusion_probability is 2.0 (80 of 80" in fire(*AGREE, "many.csv", code=1).stderr


def test_agreement_by_the_model_that_pooled_a_pair_and_by_caption_length(fire: Fire, folder: Path) -> None:
    fire("pool", "clip.run", "ssb.run", "--qrels", "qrels.txt", "--out", "pool")
    by_run = fire(*AGREE, "judgments.csv", "--join", "pool/pool_sources.csv", "--by", "run_id")
    assert {row["group"] for row in rows(by_run.stdout)} == {"clip", "ssb"}
    by_original = rows(fire(*AGREE, "judgments.csv", "--join", "pool/pool.csv", "--by", "is_original").stdout)
    units = {row["group"]: row["n_units"] for row in by_original if row["statistic"] == "alpha"}
    assert units == {"False": "2", "True": "2"}
    by_length = rows(fire(*AGREE, "judgments.csv", "--join", "queries.tsv", "--by", "text_words").stdout)
    assert {row["group"] for row in by_length} == {"1-5"}
    (folder / "sources.csv").write_text("query_id,doc_id,run_id\n1,a,clip\n1,a,ssb\n")
    several = fire(*AGREE, "judgments.csv", "--join", "sources.csv", code=1)
    assert "group by one of run_id" in several.stderr


def test_a_column_of_a_pool_can_be_the_cluster(fire: Fire, folder: Path) -> None:
    write(folder, two_annotators(80))
    strata = "".join(f"q{pair % 10},d{pair},{'ab'[pair % 3 == 0]}\n" for pair in range(80))
    (folder / "strata.csv").write_text("query_id,doc_id,stratum\n" + strata)
    words = ("--join", "strata.csv", "--intervals", "--cluster", "stratum")
    assert rows(fire(*AGREE, "many.csv", *words).stdout)[0]["n_resampled"] == "2"


def test_a_relevance_that_is_no_labels_grade_is_said(fire: Fire, folder: Path) -> None:
    write(folder, two_annotators(4))
    (folder / "known.txt").write_text("q0 0 d0 2\n")
    told = fire("resolve", "many.csv", "--controls", "known.txt", "--out", "out", code=1)
    assert "relevance 2 is the grade of 0 labels" in told.stderr


def test_every_format_holds_intervals(fire: Fire, folder: Path) -> None:
    write(folder, two_annotators(80))
    for name in ("table", "latex", "tsv"):
        assert fire(*AGREE, "many.csv", "--intervals", "--format", name).stdout.strip()
    assert json.loads(fire(*AGREE, "many.csv", "--intervals", "--format", "json").stdout)


HEADER = "query_id,doc_id,annotator_id,label\n"


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        (
            "1,a,ann,relevant\n1,a,ann,irrelevant\n1,a,bob,irrelevant\n",
            0,
            "1 earlier answers of an annotator to the same pair left out, 1 of them with another label",
        ),
        ("1,a,ann,relevant\n1,a,bob,maybe\n", 1, "'maybe'"),
        ("1,a,,relevant\n1,a,bob,relevant\n", 1, "annotator_id is empty"),
        (
            "1,a,ann,relevant\n1,a,bob,relevant\n",
            0,
            "every judgment on pairs with two judgments says 'relevant'",
        ),
        ("1,a,ann,relevant\n1,b,bob,irrelevant\n", 0, "no pair has two judgments"),
        ("", 0, "no pair has two judgments"),
    ],
)
def test_odd_judgments_have_their_word(fire: Fire, folder: Path, answers: str, code: int, words: str) -> None:
    (folder / "odd.csv").write_text(HEADER + answers)
    assert words in fire(*AGREE, "odd.csv", "--intervals", code=code).output


def test_judgments_by_another_guideline_are_refused(fire: Fire, folder: Path) -> None:
    (folder / "other.csv").write_text(HEADER + "1,a,ann,yes\n1,a,bob,no\n")
    plain = rows(fire(*AGREE, "other.csv").stdout)
    assert [row["value"] == "nan" for row in plain] == [False, False, True, True]
    assert "labels have no grades" in plain[3]["note"]
    told = fire(*AGREE, "other.csv", "--guideline", "caption-relevance-v1", code=1).stderr
    assert "caption-relevance-v1" in told
    assert "'no'" in told or "'yes'" in told


def test_guidelines_are_told_apart(fire: Fire, folder: Path) -> None:
    answers = [*two_annotators(10), ("q1", "d1", "cy", "irrelevant")]
    rules = ["caption-relevance-v1"] * 20 + ["rules-v2"]
    write(folder, answers, round=[1] * 20 + [2], guideline=rules)
    told = fire(*AGREE, "many.csv", "--all-rounds")
    assert "note: judged by 2 guidelines (caption-relevance-v1, rules-v2)" in told.stderr
    groups = rows(fire(*AGREE, "many.csv", "--all-rounds", "--by", "guideline").stdout)
    assert {row["group"] for row in groups} == {"caption-relevance-v1", "rules-v2"}


def test_another_guideline_than_the_one_judged_by_is_said(fire: Fire, folder: Path) -> None:
    write(folder, two_annotators(10), guideline=["rules-v1"] * 20)
    told = fire(*AGREE, "many.csv", "--guideline", "caption-relevance-v1")
    assert "note: judged by guideline rules-v1, graded by caption-relevance-v1" in told.stderr


@pytest.fixture
def uneven(sample: Fire) -> Fire:
    """The sample, with judgments of a second round, of nobody's task, escalated, and drawn unevenly."""
    table = pd.read_csv("judgments.csv", dtype=str, keep_default_na=False)
    draw = np.random.default_rng(0)
    table["kind"] = np.where(draw.random(len(table)) < 0.1, "unassigned", "task")
    table["round"] = np.where(draw.random(len(table)) < 0.2, "10", "2")
    table.loc[draw.random(len(table)) < 0.05, "label"] = "ambiguous"
    pair = table["query_id"] + " " + table["doc_id"]
    table["inclusion_probability"] = np.where(
        pair.map(lambda text: sum(map(ord, text)) % 10 < 5), "0.1", "1.0"
    )
    table.to_csv("judgments.csv", index=False)
    return sample


def test_alpha_alone_is_that_of_the_table(uneven: Fire) -> None:
    judgments = read_judgments(Path("judgments.csv")).judgments
    value = krippendorff_alpha(judgments).value
    assert value == float(rows(uneven(*AGREE, "judgments.csv"))[0]["value"])
    others = [
        krippendorff_alpha(judgments, all_rounds=True).value,
        krippendorff_alpha(judgments, inclusion=None).value,
        krippendorff_alpha(judgments, grades={"relevant": 1, "irrelevant": 0, "ambiguous": 0}).value,
    ]
    assert len({round(each, 6) for each in (value, *others)}) == 4  # each default does something
