"""TIFA: how much of a text an item shows, as the share of questions on the text that a model answers right.

Source: Hu et al., TIFA, ICCV 2023. Questions are generated once from each text; a visual question
answering (VQA) model answers them from the item. No model is part of this toolkit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NewType

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.specs import Column, TableSpec

Answers = NewType("Answers", pd.DataFrame)

ANSWERS = TableSpec(
    "answers",
    (
        *(Column(name, "id") for name in PAIR),
        Column("question", "text"),
        Column("answer", "text", missing=True),
    ),
    (*PAIR, "question"),
)


@dataclass(frozen=True)
class Question:
    """A question on a text, the choices, the answer that the text gives, and what kind of thing it is on."""

    query_id: str
    question: str
    choices: tuple[str, ...]
    answer: str
    element_type: str = ""


def check_answers(table: pd.DataFrame, *, where: str = "") -> Answers:
    """Return `table` (query_id, doc_id, question, answer) as Answers, or raise `TableError`."""
    return Answers(check_table(ANSWERS, table, where=where))


def answer_questions(
    questions: Sequence[Question],
    pairs: pd.DataFrame,
    media_urls: Mapping[str, str],
    answerer: Callable[[str, str, Sequence[str]], str],
) -> Answers:
    """Return the model's answer to every question of every pair (query_id, doc_id), each asked once.

    A pair whose text has no question is left out. media_urls: doc id → where the item is. answerer: a VQA
    model, from that, the question and its choices to the choice that the item shows.

    Raises:
        JoinError: a doc without a media_url.
    """
    unknown = sorted(set(pairs["doc_id"]) - set(media_urls))
    if unknown:
        raise JoinError(f"{len(unknown):,} docs have no media_url ({unknown[0]}); expected every doc's")
    asked = {(each.query_id, each.question): each for each in questions}
    rows = [
        (query_id, doc_id, each.question, answerer(media_urls[doc_id], each.question, each.choices))
        for query_id, doc_id in pairs[PAIR].drop_duplicates().itertuples(index=False)
        for each in asked.values()
        if each.query_id == query_id
    ]
    return check_answers(pd.DataFrame(rows, columns=list(ANSWERS.names), dtype=object))


def judge_answers(questions: Sequence[Question], answers: Answers) -> pd.DataFrame:
    """Return a row for each question of each pair that has answers: whether the answer is the expected.

    Case and white space at the ends do not count. A question that stands twice counts twice.

    Returns:
        Columns query_id, doc_id, question, element_type, is_right; by query, doc, then as `questions`.

    Raises:
        JoinError: an answer to no question of its text; a question that a pair leaves without an answer.
    """
    names = ["query_id", "question", "element_type", "answer"]
    asked = pd.DataFrame([[getattr(each, name) for name in names] for each in questions], columns=names)
    known = pd.MultiIndex.from_frame(asked[["query_id", "question"]])
    stray = answers[~pd.MultiIndex.from_frame(answers[["query_id", "question"]]).isin(known)]
    if len(stray):
        raise JoinError(
            f"answers: {len(stray):,} to questions that the text does not have (query "
            f"{stray['query_id'].iloc[0]}: {stray['question'].iloc[0]!r}); expected the questions' own words"
        )
    rows = (
        answers[PAIR]
        .drop_duplicates()
        .merge(asked, on="query_id")
        .merge(answers, on=[*PAIR, "question"], how="left", suffixes=("", "_given"), indicator=True)
    )
    open_ones = rows[rows["_merge"] == "left_only"]
    if len(open_ones):
        first = open_ones.iloc[0]
        raise JoinError(
            f"answers: {len(open_ones):,} questions have none (query {first['query_id']}, doc "
            f"{first['doc_id']}: {first['question']!r}); expected an answer to every question of a pair"
        )
    expected, given = (rows[name].str.strip().str.casefold() for name in ("answer", "answer_given"))
    return rows.assign(is_right=given == expected)[[*PAIR, "question", "element_type", "is_right"]]


def score_tifa(judged: pd.DataFrame, by: Sequence[str] = PAIR) -> pd.DataFrame:
    """Return the share of questions answered as expected: the TIFA of each pair, or of each kind of question.

    Args:
        judged: what `judge_answers` returned.
        by: query_id and doc_id, or element_type.

    Returns:
        These columns, by which it is ordered, tifa (in [0, 1]) and n_questions.

    Examples:
        >>> asked = [Question("q", "is it red?", ("yes", "no"), "yes"), Question("q", "how many?", (), "2")]
        >>> table = pd.DataFrame({"query_id": "q", "doc_id": "d", "question": ["is it red?", "how many?"]})
        >>> answers = check_answers(table.assign(answer=["Yes", "3"]))
        >>> score_tifa(judge_answers(asked, answers))
          query_id doc_id  tifa  n_questions
        0        q      d   0.5            2
    """
    right = judged.astype({"is_right": float}).groupby(list(by), as_index=False)["is_right"]
    return right.agg(["mean", "size"]).rename(columns={"mean": "tifa", "size": "n_questions"})


def mean_tifa(scores: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the mean TIFA of the pairs of each query, or of each human label: that, tifa, n_pairs.

    A machine's score stands beside people's labels, and never becomes one.
    """
    means = scores.groupby(by, as_index=False)["tifa"].agg(["mean", "size"])
    return means.rename(columns={"mean": "tifa", "size": "n_pairs"})
