"""TIFA's question–answer JSON and its results, and answers as a table or as JSON records.

A result of `tifa_score_benchmark` is an object whose `question_details` have, by text and question, the
question with the model's answer `multiple_choice_vqa`. Each text has one item, without an id.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    return [_question(entry, where) for entry, where in _entries(path)[1]]


def _question(entry: Any, where: str) -> Question:
    choices = entry.get("choices") if isinstance(entry, dict) else None
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise FormatError(
            f"{where}: no list of choices, expected an entry with id, question, choices, answer"
        )
    query_id = entry.get("id", entry.get("query_id"))
    query_id = str(query_id) if type(query_id) is int else query_id
    texts = {"id": query_id, "question": entry.get("question"), "answer": entry.get("answer")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise FormatError(f"{where}: {name} is {value!r}, expected text")
    kind = entry.get("element_type")
    kind = kind if isinstance(kind, str) else ""
    return Question(texts["id"], texts["question"], tuple(choices), texts["answer"], kind)


def read_answers(path: str | Path) -> Answers:
    """Return a model's answers: CSV, TSV, or a JSON list of records with query_id, doc_id, question, answer.

    Or a result of TIFA's benchmark; there the item of a text gets the text's id as its doc_id.

    Raises:
        FormatError: a column or key is absent.
        TableError: a question of a pair is answered twice, or an id is invalid.
    """
    names = list(ANSWERS.names)
    if read_text(path).lstrip()[:1] not in ("[", "{"):
        return check_answers(read_delimited(path, required=names), where=str(path))
    is_result, entries = _entries(path)
    rows: list[list[Any]] = []
    for entry, where in entries:
        absent = [name for name in names if not isinstance(entry, dict) or name not in entry]
        if is_result:
            asked, answer = _question(entry, where), entry.get("multiple_choice_vqa")
            if not isinstance(answer, str):
                raise FormatError(f"{where}: multiple_choice_vqa is {answer!r}, expected the model's answer")
            rows.append([asked.query_id, asked.query_id, asked.question, answer])
        elif absent:
            raise FormatError(f"{where}: no {', '.join(absent)}; expected {', '.join(names)}")
        else:
            rows.append([entry[name] for name in names])
    return check_answers(pd.DataFrame(rows, columns=names, dtype=object), where=str(path))


def _entries(path: str | Path) -> tuple[bool, list[tuple[Any, str]]]:
    """Return whether a file is a result of TIFA's benchmark, and its entries, each with its place."""
    found = parse_json(read_text(path), str(path))
    details = found.get("question_details") if isinstance(found, dict) else None
    if isinstance(details, dict):
        return True, [(entry, f"{path}: question_details{where}") for entry, where in _details(details)]
    if not isinstance(found, list):
        raise FormatError(f"{path}: a JSON {type(found).__name__}, expected a list of entries")
    return False, [(entry, f"{path}: [{n}]") for n, entry in enumerate(found)]


def _details(by_text: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    for text_id, by_question in by_text.items():
        entries = by_question if isinstance(by_question, dict) else {"": by_question}
        yield from ((entry, f"[{text_id!r}][{question!r}]") for question, entry in entries.items())
