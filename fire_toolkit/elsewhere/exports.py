"""Label Studio's exports of projects that this toolkit did not make, to answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fire_toolkit.campaign.ledger_rows import pair_of
from fire_toolkit.elsewhere.found import Found, FoundFile
from fire_toolkit.elsewhere.values import text_of_value, texts_of, value_at
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables.checks import is_id

_VALUES = ("choices", "rating", "number", "text", "taxonomy", "datetime")
_SHOWN = 8
LABEL_STUDIO = "Label Studio"  # the tool of such a file

Task = Mapping[str, Any]


def read_elsewhere_export(
    tasks: Sequence[Task], path: str, pair: Mapping[str, str], *, controls: Sequence[str]
) -> FoundFile:
    """Return the answers in Label Studio's JSON export of a project that was not made here.

    Args:
        tasks: what `tasks_of` returned of the file; path: its name.
        pair: `query` and `doc` → where a task has them (`data.caption_id`, or `caption_id`).
        controls: those whose values are labels; others are not read.

    Returns:
        An answer for each annotation, skips too; predictions are nobody's, and drafts were not submitted.

    Raises:
        FormatError: a task without ids, with file and task.
    """
    left_out: Counter[str] = Counter()
    answers: list[Found] = []
    for number, task in enumerate(tasks, start=1):
        try:
            ids = (_id_at(task, pair["query"], "query"), _id_at(task, pair["doc"], "doc"))
            answers += (_answer(each, ids, controls, task) for each in task["annotations"])
        except FireError as error:
            raise FormatError(f"{path}: task {number} (id {task.get('id')}): {error}") from None
        for name in ("drafts", "predictions"):
            left_out[name] += len(task.get(name) or ())
    others = [name for name in controls_of(tasks) if name not in controls]
    roles = {**pair, "label": ", ".join(controls)}
    notes = _notes(tasks)
    unknown = ["the round (all count as round 1)"]
    return FoundFile(path, LABEL_STUDIO, roles, len(tasks), answers, +left_out, others, unknown, notes)


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
        and all(isinstance(each, dict) for each in task["annotations"])
        for task in tasks
    )
    return tasks if is_export else []


def _id_at(task: Task, name: str, role: str) -> str:
    inside = name.removeprefix("data.")
    value = task["data"].get(inside)
    if value is None:
        value = value_at(task["data"], inside) if "." in inside else task.get(inside)
    if isinstance(value, float):
        raise FormatError(f"{name} ({role}) is the number {value}, expected an id: text, or a whole number")
    found = text_of_value(value)
    if not is_id(found):
        fields = ", ".join(f"data.{key}" for key in task["data"])
        raise FormatError(
            f"{name} ({role}) is {found[:40]!r}, expected an id without white space; found {fields}"
        )
    return found


def _answer(record: Task, ids: tuple[str, str], controls: Sequence[str], task: Task) -> Found:
    results = [each for each in record.get("result") or () if isinstance(each, dict)]
    values = [(name, text) for name in controls for text in _texts(results, name)]
    number = record.get("id")
    project = record.get("project", task.get("project"))
    is_skip = bool(record.get("was_cancelled"))
    created_at, updated_at = (_time(record, name) for name in ("created_at", "updated_at"))
    seconds = record.get("lead_time")
    is_known = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 2**53
    return Found(
        *ids,
        _author(record.get("completed_by")),
        () if is_skip else tuple(dict.fromkeys(values)),
        "skipped" if is_skip else "",
        created_at,
        updated_at or created_at,
        float(seconds) if is_known else math.nan,  # type: ignore[arg-type]
        number if isinstance(number, int) else 0,
        key=str(record.get("unique_id") or f"{project}#{number}"),
    )


def _texts(results: Sequence[Task], control: str) -> Iterator[str]:
    """Yield what was answered with a control, ratings and numbers as text."""
    for result in results:
        if result.get("from_name") != control:
            continue
        value = result.get("value")
        found = [value[name] for name in _VALUES if name in value] if isinstance(value, dict) else []
        if not found:
            kind = result.get("type")
            raise FormatError(f"control {control} is of type {kind}, which does not answer a question")
        yield from chain.from_iterable(map(texts_of, found))


def _author(value: object) -> str:
    """Return an account's number, else its e-mail; empty where the account is deleted."""
    if isinstance(value, dict):
        value = value.get("email") if value.get("id") is None else value["id"]
    return text_of_value(value).lower()


def _time(record: Task, name: str) -> str:
    text = text_of_value(record.get(name))
    moment = utc_time(text) if text else ""
    if moment is None:
        raise FormatError(f"{name} is {text[:40]!r}, expected a time as in ISO 8601")
    return moment


def _notes(tasks: Sequence[Task]) -> list[str]:
    annotations = [each for task in tasks for each in task["annotations"]]
    n_deleted = sum(not _author(each.get("completed_by")) for each in annotations)
    n_known = sum(each.get("ground_truth") is True for each in annotations)
    notes = [
        (n_deleted, "are by deleted accounts; each counts as an annotator of its own"),
        (n_known, "are marked as ground truth, and count as answers of their annotators"),
    ]
    return [f"{n:,} annotations {words}" for n, words in notes if n]


def controls_of(tasks: Sequence[Task]) -> dict[str, Counter[str]]:
    """Return the controls that were answered, with how often each value was given."""
    found: dict[str, Counter[str]] = {}
    for task in tasks:
        for annotation in task["annotations"]:
            for result in annotation.get("result") or ():
                value = result.get("value") if isinstance(result, dict) else None
                name = result.get("from_name") if isinstance(result, dict) else None
                if isinstance(name, str) and isinstance(value, dict):
                    texts = [text for key in _VALUES if key in value for text in texts_of(value[key])]
                    found.setdefault(name, Counter()).update(texts)
    return found


def how_to_read(text: str, path: str, labels: Sequence[str]) -> str:
    """Return what to type to read an export whose tasks name no pair; empty if it is not such an export."""
    tasks = tasks_of(text, path)
    if not tasks or any(pair_of(task["data"]) for task in tasks):
        return ""
    fields = list(dict.fromkeys(key for task in tasks for key in task["data"]))
    controls = controls_of(tasks)
    shown = [f"{name} ({', '.join(list(values)[:_SHOWN])})" for name, values in controls.items()]
    ids = [name for name in fields if name.endswith("id")] + fields
    query, doc = (ids[0], next((name for name in ids if name != ids[0]), "FIELD")) if ids else ("FIELD",) * 2
    chosen = max(controls, key=lambda name: sum(controls[name].values())) if controls else "CONTROL"
    value = next(iter(controls.get(chosen, ())), "VALUE")
    return (
        "a Label Studio project that was not made here: its tasks name no pair (pair_id). "
        f"Data fields: {', '.join(fields[: 2 * _SHOWN]) or 'none'}; "
        f"controls: {'; '.join(shown[:_SHOWN]) or 'none'}. Say what is what, for example: "
        f"--columns query=data.{query},doc=data.{doc} --label '{chosen}:{value}={labels[0]}' (and so for "
        f"each value; labels: {', '.join(labels)}; - for no vote); --dry-run shows what is understood"
    )
