"""TIFA's question–answer JSON and its results, and answers as a table or as JSON records.

A result of `tifa_score_benchmark` is an object whose `question_details` have, by text and question, the
question with the model's answer `multiple_choice_vqa`. Each text has one item, without an id.
"""

from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.collections.source import Entry
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
    return [_question(entry) for entry in _entries(path)[1]]


def _question(entry: Entry) -> Question:
    choices = tuple(entry.texts("choices")) if entry.values("choices") else ()
    kind = entry.value("element_type?")
    kind = kind if isinstance(kind, str) else ""
    return Question(entry.id("id|query_id"), entry.text("question"), choices, entry.text("answer"), kind)


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
    rows = [[entry.value(name) for name in names] for entry in ([] if is_result else entries)]
    for entry in entries if is_result else ():
        asked = _question(entry)
        rows.append([asked.query_id, asked.query_id, asked.question, entry.text("multiple_choice_vqa")])
    return check_answers(pd.DataFrame(rows, columns=names, dtype=object), where=str(path))


def _entries(path: str | Path) -> tuple[bool, list[Entry]]:
    """Return whether a file is a result of TIFA's benchmark, and its entries."""
    found = parse_json(read_text(path), str(path))
    details = found.get("question_details") if isinstance(found, dict) else None
    is_result = isinstance(details, dict)
    if not is_result and not isinstance(found, list):
        raise FormatError(f"{path}: a JSON {type(found).__name__}, expected a list of entries")
    groups = details.items() if isinstance(details, dict) else ()
    placed = [
        (f"question_details[{text!r}][{question!r}]", entry)
        for text, group in groups
        for question, entry in (group if isinstance(group, dict) else {"": group}).items()
    ]
    placed = placed if is_result else [(f"[{n}]", entry) for n, entry in enumerate(found)]
    return is_result, [Entry.of(entry, f"{path}: {place}") for place, entry in placed]
