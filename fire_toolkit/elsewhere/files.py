"""Files of other tools as tables, and Label Studio's exports of projects that were not made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.ledger import pairs_of
from fire_toolkit.elsewhere.tools import COUNTS, NOT_YET, SKIPS, line_to_type, own_roles, tool_of
from fire_toolkit.elsewhere.values import text_of_value, texts_of
from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.syntax import parse_json

LABEL_STUDIO = "Label Studio"  # the tool of such an export
_VALUES = ("choices", "rating", "number", "text", "taxonomy", "datetime")
_SHOWN, _FEW = 12, 8

Json = Mapping[str, Any]


def table_of(path: Path) -> pd.DataFrame:
    """Return the columns of a file; its rows are numbered from 1.

    A column of a name that others have too goes by its number (`fits (2)`). The two further headers of
    Qualtrics, questions and their ids, are no rows.

    Raises:
        FormatError: neither a table with a header line, nor JSON Lines, nor a list of objects.
    """
    text = read_text(path)
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        table = read_delimited(path, numbers_repeats=True)
        is_of_qualtrics = len(table) > 1 and str(table.iat[1, 0]).startswith('{"ImportId":')
        table = table.iloc[2 * is_of_qualtrics :]
    else:
        lines = enumerate(text.split("\n"), start=1)
        records = (
            parse_json(text, str(path), as_written=True)
            if start == "["
            else [parse_json(line, str(path), line=n, as_written=True) for n, line in lines if line.strip()]
        )
        bad = next((n for n, record in enumerate(records, start=1) if not isinstance(record, dict)), 0)
        if bad or not records:
            words = f"entry {bad} is not an object" if bad else "no rows"
            raise FormatError(f"{path}: {words}; expected one each")
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
        table = pd.DataFrame(columns, dtype="object")
    return table.set_axis(range(1, len(table) + 1), axis=0)


def read_submissions(path: Path) -> set[str]:
    """Return the participants in Prolific's export of submissions whose work counts.

    No column but Participant id and Status is read. Of a participant with several submissions one that
    was approved, or awaits review, is enough.

    Raises:
        FormatError: no columns Participant id and Status, or a status that is not known.
    """
    columns = ("Participant id", "Status")
    table = read_delimited(path, required=columns, only=columns)
    states = table["Status"].str.strip().str.lower()
    odd = sorted(set(table["Status"][~states.isin([*COUNTS, *NOT_YET, *SKIPS])]))
    if odd:
        raise FormatError(f"{path}: Status is {', '.join(odd[:3])}, expected APPROVED, REJECTED, RETURNED …")
    return set(table["Participant id"][states.isin(COUNTS)].str.strip())


def tasks_of(text: str, path: str) -> list[dict[str, Any]]:
    """Return the tasks of a Label Studio JSON export, each with its annotations; none of another file."""
    try:
        tasks = parse_json(text, path)
    except FormatError:
        return []
    is_export = isinstance(tasks, list) and all(
        isinstance(task, dict)
        and isinstance(task.get("data"), dict)
        and isinstance(task.get("annotations"), list)
        and all(
            isinstance(each, dict) and isinstance(each.get("result") or [], list)
            for each in task["annotations"]
        )
        for task in tasks
    )
    return tasks if is_export else []


def annotations_of(tasks: Sequence[Json], path: str) -> pd.DataFrame:
    """Return a row for each annotation, skips too; predictions are nobody's, and drafts were not submitted.

    Columns: the task's own fields, and what `presets.toml` names of the annotation (`@answers`: control →
    texts, or the kind of what answers no question). Rows are named by their task; attrs: n_tasks; left_out
    (what is no answer, counted); notes; fields (of tasks' data).

    Raises:
        FormatError: a time that is none, with file and task.
    """
    rows = [
        (number, task, each) for number, task in enumerate(tasks, start=1) for each in task["annotations"]
    ]
    places = [f"task {number} (id {task.get('id')})" for number, task, _ in rows]
    annotations = [each for _, _, each in rows]
    authors = [_author(each.get("completed_by")) for each in annotations]
    columns: dict[str, list[Any]] = {
        name: [task.get(name) for _, task, _ in rows]
        for name in dict.fromkeys(n for task in tasks for n in task)
    }
    for role, name in (("@created", "created_at"), ("@time", "updated_at")):
        texts = [text_of_value(each.get(name)) for each in annotations]
        columns[role] = [utc_time(text) if text else "" for text in texts]
        for place, text, time in zip(places, texts, columns[role], strict=True):
            if time is None:
                words = f"{name} is {text[:40]!r}, expected a time as in ISO 8601"
                raise FormatError(f"{path}: {place}: {words}")
    columns |= {
        "@annotator": authors,
        "@answers": [_answers(each) for each in annotations],
        "@seconds": [_seconds(each.get("lead_time")) for each in annotations],
        "@status": ["skipped" if each.get("was_cancelled") else "" for each in annotations],
        "@number": [each["id"] if isinstance(each.get("id"), int) else 0 for each in annotations],
        "@key": [
            str(each.get("unique_id") or f"{each.get('project', task.get('project'))}#{each.get('id')}")
            for _, task, each in rows
        ],
    }
    notes = {
        "are by deleted accounts; each counts as an annotator of its own": authors.count(""),
        "are marked as ground truth, and count as answers of their annotators": sum(
            each.get("ground_truth") is True for each in annotations
        ),
    }
    table = pd.DataFrame(columns, index=pd.Index(places, dtype="object"), dtype="object")
    table.attrs = {
        "n_tasks": len(tasks),
        "left_out": {
            name: sum(len(task.get(name) or ()) for task in tasks) for name in ("drafts", "predictions")
        },
        "notes": [f"{n:,} annotations {words}" for words, n in notes.items() if n],
        "fields": ", ".join(
            f"data.{name}" for name in dict.fromkeys(n for task in tasks for n in task["data"])
        ),
    }
    return table


def _author(value: object) -> str:
    """Return an account's number, else its e-mail; empty where the account is deleted."""
    if isinstance(value, dict):
        value = value.get("email") if value.get("id") is None else value["id"]
    return text_of_value(value).lower()


def _seconds(value: object) -> int | float | None:
    is_known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_known else None  # type: ignore[return-value]


def _answers(annotation: Json) -> dict[str, list[str] | str]:
    """Return what was answered with each control, ratings and numbers as text; of others their kind."""
    found: dict[str, list[str] | str] = {}
    for result in annotation.get("result") or ():
        if isinstance(result, dict) and isinstance(name := result.get("from_name"), str):
            value = result.get("value")
            named = [value[key] for key in _VALUES if key in value] if isinstance(value, dict) else []
            before = found.setdefault(name, [])
            if not isinstance(before, str):
                texts = [text for each in named for text in texts_of(each)]
                found[name] = [*before, *texts] if named else str(result.get("type"))
    return found


def how_to_read(path: Path, error: str, labels: Sequence[str]) -> str:
    """Return what to type for a file that was refused because another tool, or another project, wrote it.

    Empty if it is neither; error: why it was refused; labels: those of the guideline.
    """
    if words := _how_to_read_project(read_text(path), str(path), labels):
        return f"{path}: {words}"
    try:
        names = list(map(str, table_of(path)))
    except FormatError:
        return ""
    tool = tool_of(names)
    line = line_to_type(names, own_roles(tool, names, {}))
    words = (
        f"{tool.name} with judgments made elsewhere ({some_of(names)})? If the guess is right, type {line} "
        "--label VALUE=LABEL; --dry-run shows what is understood"
    )
    if tool.signs:
        return f"{path}: is this {words}"
    return f"{error}. Or is it {words}" if ": not JSON" in error else ""


def _how_to_read_project(text: str, path: str, labels: Sequence[str]) -> str:
    """Return what to type to read an export whose tasks name no pair; empty if it is not such an export."""
    tasks = tasks_of(text, path)
    if not tasks or any(pairs_of(task["data"] for task in tasks)):
        return ""
    controls: dict[str, Counter[str]] = {}
    for answers in annotations_of(tasks, path)["@answers"]:
        for name, values in answers.items():
            controls.setdefault(name, Counter()).update([] if isinstance(values, str) else values)
    fields = list(dict.fromkeys(key for task in tasks for key in task["data"]))
    shown = [f"{name} ({', '.join(list(values)[:_FEW])})" for name, values in controls.items()]
    ids = [*(name for name in fields if name.endswith("id")), *fields, "FIELD", "FIELD"]
    query, doc = ids[0], next((name for name in ids if name != ids[0]), "FIELD")
    chosen = max(controls, key=lambda name: controls[name].total(), default="CONTROL")
    value = next(iter(controls.get(chosen, ())), "VALUE")
    return (
        "a Label Studio project that was not made here: its tasks name no pair (pair_id). "
        f"Data fields: {', '.join(fields[: 2 * _FEW]) or 'none'}; "
        f"controls: {'; '.join(shown[:_FEW]) or 'none'}. Say what is what, for example: "
        f"--columns query=data.{query},doc=data.{doc} --label '{chosen}:{value}={labels[0]}' (and so for "
        f"each value; labels: {', '.join(labels)}; - for no vote); --dry-run shows what is understood"
    )


def some_of(names: Sequence[str]) -> str:
    """Return the first of many names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
