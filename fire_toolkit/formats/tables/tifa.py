"""TIFA's question–answer JSON and its results, and answers as a table or as JSON records.

A result of `tifa_score_benchmark` is an object whose `question_details` have, by text and question, the
question with the model's answer `multiple_choice_vqa`. Each text has one item, without an id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.scoring.tifa import ANSWERS, Answers, Question, check_answers
from fire_toolkit.syntax import parse_json


def read_questions(path: str | Path) -> list[Question]:
    """Return the questions of a TIFA file: `[{id, question, choices, answer, element_type, ...}]`.

    id is the text's id (query_id); element_type may be missing, and other keys are ignored. A result of
    TIFA's benchmark has its questions too; a question that a text has twice is there once.

    Raises:
        FormatError: no such JSON; an entry without one of the keys, or with a value of another type.
    """
    details = _details(path)
    if details is not None:
        return [_question(entry, f"{path}: {where}") for where, entry in details]
    return [_question(entry, f"{path}: [{n}]") for n, entry in enumerate(_records(path))]


def _question(entry: Any, where: str) -> Question:
    choices = entry.get("choices") if isinstance(entry, dict) else None
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise FormatError(
            f"{where}: no list of choices, expected an entry with id, question, choices, answer"
        )
    query_id = entry.get("id", entry.get("query_id"))
    if isinstance(query_id, int) and not isinstance(query_id, bool):
        query_id = str(query_id)
    texts = {"id": query_id, "question": entry.get("question"), "answer": entry.get("answer")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise FormatError(f"{where}: {name} is {value!r}, expected text")
    kind = entry.get("element_type")
    return Question(
        str(query_id),
        entry["question"],
        tuple(choices),
        entry["answer"],
        kind if isinstance(kind, str) else "",
    )


def read_answers(path: str | Path) -> Answers:
    """Return a model's answers: CSV, TSV, or a JSON list of records with query_id, doc_id, question, answer.

    Or a result of TIFA's benchmark; there the item of a text gets the text's id as its doc_id.

    Raises:
        FormatError: a column or key is absent.
        TableError: a question of a pair is answered twice, or an id is invalid.
    """
    text = read_text(path).lstrip()
    details = _details(path) if text.startswith("{") else None
    if details is not None:
        found = [_answered(entry, f"{path}: {where}") for where, entry in details]
        return check_answers(pd.DataFrame(found, columns=list(ANSWERS.names), dtype=object), where=str(path))
    if not text.startswith("["):
        return check_answers(read_delimited(path, required=list(ANSWERS.names)), where=str(path))
    rows = []
    for n, entry in enumerate(_records(path)):
        absent = [name for name in ANSWERS.names if not isinstance(entry, dict) or name not in entry]
        if absent:
            raise FormatError(f"{path}: [{n}]: no {', '.join(absent)}; expected {', '.join(ANSWERS.names)}")
        rows.append([entry[name] for name in ANSWERS.names])
    return check_answers(pd.DataFrame(rows, columns=list(ANSWERS.names), dtype=object), where=str(path))


def _details(path: str | Path) -> list[tuple[str, Any]] | None:
    """Return each question of a result of TIFA's benchmark with its place; None for other files."""
    found = parse_json(read_text(path), str(path))
    details = found.get("question_details") if isinstance(found, dict) else None
    if not isinstance(details, dict):
        return None
    return [
        (f"question_details[{text_id!r}][{question!r}]", entry)
        for text_id, by_question in details.items()
        for question, entry in (by_question.items() if isinstance(by_question, dict) else [("", by_question)])
    ]


def _answered(entry: Any, where: str) -> tuple[str, str, str, str]:
    question = _question(entry, where)
    answer = entry.get("multiple_choice_vqa")
    if not isinstance(answer, str):
        raise FormatError(f"{where}: multiple_choice_vqa is {answer!r}, expected the model's answer")
    return question.query_id, question.query_id, question.question, answer


def _records(path: str | Path) -> list[Any]:
    found = parse_json(read_text(path), str(path))
    if not isinstance(found, list):
        raise FormatError(f"{path}: a JSON {type(found).__name__}, expected a list of entries")
    return found
