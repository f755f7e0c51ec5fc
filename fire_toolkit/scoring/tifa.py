"""TIFA: how much of a text an item shows, as the share of questions on the text that a model answers right.

Source: Hu et al., TIFA, ICCV 2023. Questions are generated once from each text; a visual question
answering (VQA) model answers them from the item. No model is part of this toolkit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol

import pandas as pd

from fire_toolkit.errors import JoinError
from fire_toolkit.tables import Labels
from fire_toolkit.tables.checks import Column, TableSpec, check_table
from fire_toolkit.tables.columns import PAIR

Answers = NewType("Answers", pd.DataFrame)
TifaScores = NewType("TifaScores", pd.DataFrame)

_IDS = (Column("query_id", "id"), Column("doc_id", "id"))
ANSWERS = TableSpec(
    "answers",
    (*_IDS, Column("question", "text"), Column("answer", "text", missing=True)),
    ("query_id", "doc_id", "question"),
)


@dataclass(frozen=True)
class Question:
    """A question on a text, the choices, the answer that the text gives, and what kind of thing it is on."""

    query_id: str
    question: str
    choices: tuple[str, ...]
    answer: str
    element_type: str = ""


class QuestionAnswerer(Protocol):
    """A VQA model: anything that can be called so."""

    def __call__(self, media_url: str, question: str, choices: Sequence[str]) -> str:
        """Return the choice that the item shows."""
        ...


def check_answers(table: pd.DataFrame, *, where: str = "") -> Answers:
    """Return `table` (query_id, doc_id, question, answer) as Answers, or raise `TableError`."""
    return Answers(check_table(ANSWERS, table, where=where))


def answer_questions(
    questions: Sequence[Question],
    pairs: pd.DataFrame,
    media_urls: Mapping[str, str],
    answerer: QuestionAnswerer,
) -> Answers:
    """Return the model's answer to every question of every pair, each asked once.

    Args:
        questions: of the texts; a pair whose text has none is left out.
        pairs: columns query_id, doc_id.
        media_urls: doc id → where the item is, which the model is handed.
        answerer: the model.

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


def score_tifa(judged: pd.DataFrame) -> TifaScores:
    """Return the TIFA score of each pair: the share of the text's questions answered as expected.

    Args:
        judged: what `judge_answers` returned.

    Returns:
        Columns query_id, doc_id, tifa (in [0, 1]), n_questions; by query, doc.

    Examples:
        >>> asked = [Question("q", "is it red?", ("yes", "no"), "yes"), Question("q", "how many?", (), "2")]
        >>> table = pd.DataFrame({"query_id": "q", "doc_id": "d", "question": ["is it red?", "how many?"]})
        >>> answers = check_answers(table.assign(answer=["Yes", "3"]))
        >>> score_tifa(judge_answers(asked, answers))
          query_id doc_id  tifa  n_questions
        0        q      d   0.5            2
    """
    return TifaScores(_shares(judged, PAIR))


def tifa_by_query(scores: TifaScores) -> pd.DataFrame:
    """Return the mean TIFA of each query's pairs: columns query_id, tifa, n_pairs."""
    grouped = scores.groupby("query_id", as_index=False)["tifa"]
    return grouped.agg(["mean", "size"]).rename(columns={"mean": "tifa", "size": "n_pairs"})


def tifa_by_type(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right answers of each kind: columns element_type, tifa, n_questions."""
    return _shares(judged, ["element_type"])


def tifa_by_label(scores: TifaScores, labels: Labels) -> pd.DataFrame:
    """Return the mean TIFA of the pairs of each human label: columns label, tifa, n_pairs.

    A machine's score stands beside people's labels, and never becomes one. Pairs without a label are left
    out.
    """
    merged = scores.merge(labels[["query_id", "doc_id", "label"]], on=PAIR)
    grouped = merged.groupby("label", as_index=False)["tifa"]
    return grouped.agg(["mean", "size"]).rename(columns={"mean": "tifa", "size": "n_pairs"})


def _shares(judged: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    grouped = judged.astype({"is_right": float}).groupby(keys, as_index=False)["is_right"]
    return grouped.agg(["mean", "size"]).rename(columns={"mean": "tifa", "size": "n_questions"})
