"""`agree` beyond its default: what counts, how certain it is, and whom it is of."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command import as_json, rows, run
from small_judgments import krippendorff_alpha

import fire_toolkit as fire
from examples import cases
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_judgments

CONTRACT = ["group", "statistic", "level", "value", "n_units", "n_pairable", "n_annotators", "note"]
Answer = tuple[str, str, str, str]  # query, doc, annotator, label
HEADER = "query_id,doc_id,annotator_id,label\n"


def table(*words: object, file: str = "many.csv") -> list[dict[str, str]]:
    return rows(run("agree", file, *words, "--format", "csv"))


def words_of(*words: object, file: str = "many.csv", code: int = 0) -> str:
    return run("agree", file, *words, code=code).stderr


def write(answers: list[Answer], **columns: Sequence[object]) -> None:
    """Write many.csv from (query, doc, annotator, label) and further columns."""
    lines = [",".join(["query_id", "doc_id", "annotator_id", "label", *columns])]
    for number, answer in enumerate(answers):
        lines.append(",".join([*answer, *(str(values[number]) for values in columns.values())]))
    Path("many.csv").write_text("\n".join(lines) + "\n")


def two_annotators(n: int) -> list[Answer]:
    """Two annotators on `n` pairs, who differ on every eighth and call every second relevant."""
    labels, people = ("irrelevant", "relevant"), ("ann", "bob")
    found = [(pair, who, pair % 2 or (who == "bob" and pair % 8 == 0)) for pair in range(n) for who in people]
    return [(f"q{pair % 10}", f"d{pair}", who, labels[is_relevant]) for pair, who, is_relevant in found]


@pytest.fixture
def eighty(here: Path) -> list[Answer]:
    """Eighty pairs by two annotators, in many.csv."""
    write(two_annotators(80))
    return two_annotators(80)


@pytest.mark.parametrize(("n_doubled", "is_told"), [(10, False), (40, True)])
def test_rounds_that_are_doubled_unevenly_are_told(here: Path, n_doubled: int, is_told: bool) -> None:
    """Two annotators agree on a first round of 160 pairs, 20 of them doubled, and never on a second of 80."""
    answers = [(f"q{n % 10}", f"d{n}", "ann", "irrelevant") for n in range(240)]
    answers += [(f"q{n % 10}", f"d{n}", "bob", "irrelevant") for n in range(20)]
    answers += [(f"q{n % 10}", f"d{n}", "bob", "relevant") for n in range(160, 160 + n_doubled)]
    write(answers, round=[1 + (int(doc[1:]) >= 160) for _, doc, *_ in answers])
    words = "round 2 has 33% of the pairs and 67% of those judged twice, on which agreement rests"
    assert (words in words_of()) == is_told
    for by in (("--by", "round"), ("--all-rounds",)):
        assert "judged twice, on which" not in words_of(*by)


@pytest.mark.usefixtures("folder")
def test_every_statistic_can_be_asked_for() -> None:
    found = table("--measure", "all", file="judgments.csv")
    assert list(STATISTICS) == [row["statistic"] for row in found]
    assert list(found[0]) == CONTRACT
    assert all(row["value"] != "nan" or row["note"] for row in found)
    named = table("-m", "gwet_ac1", "-m", "alpha", file="judgments.csv")
    assert [row["statistic"] for row in named] == ["gwet_ac1", "alpha"]


@pytest.mark.usefixtures("eighty")
def test_intervals_stand_after_the_columns_of_the_contract() -> None:
    plain = table(*(word for name in DEFAULTS for word in ("-m", name)))
    found = table("--intervals")
    added = ["low", "high", "below_667", "below_800", "n_resampled", "interval_note"]
    assert list(found[0]) == CONTRACT + added
    assert plain == [{name: row[name] for name in CONTRACT} for row in found]
    assert all(float(row["low"]) < float(row["value"]) < float(row["high"]) for row in found)
    assert 0 < float(found[0]["below_800"]) < 1
    assert table("--cluster", "query_id")[0]["n_resampled"] == "10"
    strata = "".join(f"q{pair % 10},d{pair},{'ab'[pair % 3 == 0]}\n" for pair in range(80))
    Path("strata.csv").write_text("query_id,doc_id,stratum\n" + strata)
    by_stratum = table("--join", "strata.csv", "--intervals", "--cluster", "stratum")
    assert by_stratum[0]["n_resampled"] == "2"
    for name in ("table", "latex", "tsv"):
        assert run("agree", "many.csv", "--intervals", "--format", name).stdout.strip()
    assert as_json("agree", "many.csv", "--intervals")


def test_agree_prints_a_table_and_says_each_note_once(here: Path) -> None:
    write([*two_annotators(80), ("q0", "d0", "cy", "ambiguous"), ("q1", "d1", "cy", "ambiguous")])
    found = run("agree", "many.csv", "--intervals", "--by", "annotator_id")
    header, _, *lines = found.stdout.splitlines()
    assert header.split()[:5] == ["annotator_id", "measure", "level", "value", "95%"]
    assert len(lines) == 12
    assert found.stderr.count("note: cy alpha, cy percent_agreement, cy positive_agreement: ") == 1
    assert "rests on: 162 judgments of 80 pairs by 3 annotators; intervals by pair" in found.stderr
    assert "note" not in found.stdout


def test_a_table_for_a_paper_has_words_for_statistics_and_notes_as_comments(here: Path) -> None:
    write([*two_annotators(80), ("q0", "d0", "cy", "ambiguous")])
    text = run("agree", "many.csv", "--format", "latex").stdout
    comments = [line for line in text.splitlines() if line.startswith("%")]
    assert any(line.startswith("% rests on: 161 judgments of 80 pairs by 3 annotators;") for line in comments)
    assert any(line.startswith("% note: 1 answer without a vote left out") for line in comments)
    body = "".join(line + "\n" for line in text.splitlines() if not line.startswith("%"))
    assert body.startswith("\\begin{tabular}")
    for words in ("Krippendorff's alpha", "Agreement on positives", "95\\%", "[0."):
        assert words in body
    assert "_" not in body


def test_by_default_agreement_stands_with_its_intervals_and_what_it_rests_on(here: Path) -> None:
    write([*two_annotators(80), ("q9", "single", "ann", "relevant")])
    found = run("agree", "many.csv")
    header, _, *lines = found.stdout.splitlines()
    assert header.split() == ["measure", "value", "95%"]
    assert [line.split()[0] for line in lines] == list(DEFAULTS)
    assert max(map(len, found.stdout.splitlines())) <= 80
    assert (
        "rests on: 161 judgments of 81 pairs by 2 annotators; votes: 81 pairs, 1 with 1, 80 with 2; "
        "intervals by query; design effect of queries on alpha " in found.stderr
    )
    assert "unreliable" not in found.stderr


def test_few_positives_among_the_doubled_pairs_are_said_beside_the_interval(here: Path) -> None:
    """50 doubled pairs, 2% of them relevant, people right in 94%; samples like most others."""
    draw = np.random.default_rng(0)
    votes = (np.arange(50) == 7)[:, None] ^ (draw.random((50, 2)) < 0.06)
    labels = np.where(votes, "relevant", "irrelevant")
    write([(f"q{n}", f"d{n}", who, labels[n, place]) for n in range(50) for place, who in enumerate("ab")])
    note = f"note: alpha: {votes.sum() / 2:.1f} positives among 50 pairs judged twice: with fewer than 10 the"
    found = run("agree", "many.csv")
    assert note in found.stderr
    assert "*" not in found.stdout
    assert f"% {note}" in run("agree", "many.csv", "--format", "latex").stdout


def test_python_and_the_command_give_one_alpha_by_default(here: Path) -> None:
    draw = np.random.default_rng(3)
    guideline = read_guideline("graded-relevance-v1")
    labels = [name for name, grade in guideline.grades.items() if grade is not None]
    first = draw.integers(len(labels), size=60)
    second = np.clip(first + draw.integers(-1, 2, size=60), 0, len(labels) - 1)
    votes = {"ann": first, "bob": second}
    write([(f"q{n % 12}", f"d{n}", who, labels[votes[who][n]]) for n in range(60) for who in votes])
    alpha = table("--guideline", guideline.name)[0]
    assert alpha["level"] == "ordinal"
    judgments = read_judgments("many.csv")
    found = krippendorff_alpha(judgments, grades=guideline.grades).value
    assert found == pytest.approx(float(alpha["value"]), abs=1e-12)
    assert abs(found - krippendorff_alpha(judgments, grades=guideline.grades, level="nominal").value) > 0.05
    Path("fire.toml").write_text('[agree]\nlevel = "interval"\n[tasks]\nguideline = "graded-relevance-v1"\n')
    of_workspace = table()[0]["value"]
    assert float(of_workspace) != pytest.approx(found, abs=1e-3)
    of_report = rows(run("report", "table2", "--judgments", "many.csv", "--format", "csv"))[0]
    assert of_report["alpha"] == of_workspace
    by_number = judgments.replace({"label": {name: str(n) for n, name in enumerate(labels)}})
    as_table = fire.report("table2", judgments=by_number).table
    assert as_table["alpha"].iloc[0] == fire.agree(by_number).table["value"].iloc[0]


def test_only_first_answers_count_unless_all_rounds_are_asked_for(here: Path) -> None:
    write([*two_annotators(8), ("q0", "d0", "cat", "relevant")], round=[1] * 16 + [2])
    assert table()[0]["n_annotators"] == "2"
    assert "1 answer of later rounds or unasked for left out" in words_of()
    assert table("--all-rounds")[0]["n_annotators"] == "3"
    assert "warning: 1 answer of later rounds" in words_of("--all-rounds")


@pytest.mark.parametrize(("third", "is_said"), [(range(12), True), (range(9), False), (range(11, 24), False)])
def test_third_votes_where_two_differ_are_said(here: Path, third: range, is_said: bool) -> None:
    """The first 12 of 40 pairs are split; who asks a third vote there alone has another alpha."""
    votes = [(f"q{n}", "d", who, "no" if n < 12 and who == "b" else "yes") for n in range(40) for who in "ab"]
    write([*votes, *((f"q{n}", "d", "c", "yes") for n in third)])
    said = "all 12 pairs with 3 votes have votes that differ, 0% of the others"
    assert (said in words_of("--measure", "alpha")) == is_said


def test_pairs_weigh_the_inverse_of_their_inclusion_probability(eighty: list[Answer]) -> None:
    write(eighty, inclusion_probability=[0.1 if doc in ("d0", "d8") else 1.0 for _, doc, *_ in eighty])
    # 10 of 80 pairs disagree; two of these stand for ten each: (80 - 10) of 80 + 18 agree
    assert float(table("--measure", "percent_agreement")[0]["value"]) == pytest.approx(70 / 98)
    assert "note: pairs weigh the inverse of their inclusion_probability" in words_of()
    write(eighty, inclusion_probability=[2.0] * 160)
    assert "inclusion_probability is 2.0 (80 of 80" in words_of(code=1)


def test_agreement_by_the_model_that_pooled_a_pair_and_by_caption_length(folder: Path) -> None:
    run("pool", "clip.run", "ssb.run", "--qrels", "qrels.txt", "--out", "pool")

    def by(file: str, column: str) -> dict[str, str]:
        found = table("--join", file, "--by", column, file="judgments.csv")
        return {row["group"]: row["n_units"] for row in found if row["statistic"] == "alpha"}

    assert set(by("pool/pool_sources.csv", "run_id")) == {"clip", "ssb"}
    assert by("pool/pool.csv", "is_original") == {"False": "2", "True": "2"}
    assert set(by("queries.tsv", "text_words")) == {"1-5"}
    (folder / "sources.csv").write_text("query_id,doc_id,run_id\n1,a,clip\n1,a,ssb\n")
    assert "group by one of run_id" in words_of("--join", "sources.csv", file="judgments.csv", code=1)


def test_a_relevance_of_no_label_and_a_round_that_is_no_number_are_said(here: Path) -> None:
    write(two_annotators(4))
    Path("known.txt").write_text("q0 0 d0 2\n")
    told = run("resolve", "many.csv", "--controls", "known.txt", "--out", "out", code=1).stderr
    assert "relevance 2 is the grade of no label" in told
    write(two_annotators(2), round=["pilot"] * 4)
    assert "judgments: round is not a number (4 of 4; row 1: 'pilot', " in (told := words_of(code=1))
    assert "is missing" not in told


@cases("answers", "code", "words")
def test_odd_judgments_have_their_word(here: Path, answers: str, code: int, words: str) -> None:
    (here / "odd.csv").write_text(HEADER + answers)
    assert words in run("agree", "odd.csv", "--intervals", "--format", "csv", code=code).output


def test_judgments_by_another_guideline_are_refused(here: Path) -> None:
    (here / "many.csv").write_text(HEADER + "1,a,ann,yes\n1,a,bob,no\n")
    plain = table()
    assert [row["value"] == "nan" for row in plain] == [False, False, True, True]
    assert "labels have no grades" in plain[3]["note"]
    told = words_of("--guideline", "caption-relevance-v1", code=1)
    assert "caption-relevance-v1" in told
    assert "'no'" in told or "'yes'" in told


def test_guidelines_are_told_apart(here: Path) -> None:
    answers = [*two_annotators(10), ("q1", "d1", "cy", "irrelevant")]
    write(answers, round=[1] * 20 + [2], guideline=["caption-relevance-v1"] * 20 + ["rules-v2"])
    assert "note: judged by 2 guidelines (caption-relevance-v1, rules-v2)" in words_of("--all-rounds")
    groups = {row["group"] for row in table("--all-rounds", "--by", "guideline")}
    assert groups == {"caption-relevance-v1", "rules-v2"}
    write(two_annotators(10), guideline=["rules-v1"] * 20)
    told = words_of("--guideline", "caption-relevance-v1")
    assert "note: judged by guideline rules-v1, graded by caption-relevance-v1" in told
