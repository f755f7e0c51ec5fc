"""A workspace of six pairs that can be released: ids such as 007, two annotators, a dispute, a comment."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.keys import pair_id

RUNS = {
    "clip.run": "1 Q0 a 1 9 clip\n1 Q0 b 2 8 clip\n2 Q0 b 1 9 clip\n2 Q0 NA 2 5 clip\n",
    "ssb.run": "1 Q0 c 1 9 ssb\n1 Q0 007 2 8 ssb\n2 Q0 a 1 3 ssb\n2 Q0 b 2 3 ssb\n",
}
ORIGINAL = {("1", "a"): 1, ("2", "a"): 1}
# What each annotator says to each pair; bob and ann differ on (2, NA).
ANSWERS = {
    "ann": {("1", "a"): 0, ("1", "b"): 1, ("1", "c"): 0, ("2", "NA"): 1},
    "bob": {("1", "007"): 1, ("2", "NA"): 0, ("2", "a"): 1, ("2", "b"): 0},
}
# By FIRE's rule and policy union: originals stay 1, the dispute has no label.
CORRECTED = {("1", "a"): 1, ("1", "b"): 1, ("1", "c"): 0, ("1", "007"): 1, ("2", "a"): 1, ("2", "b"): 0}
STATED: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
Run = Callable[..., object]


def set_in(root: Path, **values: Any) -> None:
    """Set keys of fire.toml, each of which stands in one section with a value of that type."""
    path = root / "fire.toml"
    text = path.read_text()
    for name, value in values.items():
        new = json.dumps(value)
        begins = '["]' if isinstance(value, str) else r"\[" if isinstance(value, list) else r"[\d.]"
        text = re.sub(rf"(?m)^{name} = {begins}.*$", lambda _, n=name, v=new: f"{n} = {v}", text)
    path.write_text(text)


def make_workspace(root: Path, run: Run) -> None:
    """Make the workspace `root`, which is to be the current folder, ready to be released."""
    run("init", ".")
    for name, text in RUNS.items():
        (root / "runs" / name).write_text(text)
    qrels = "".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in ORIGINAL.items())
    (root / "collection/qrels.txt").write_text(qrels)
    queries = "query_id\ttext\n1\ta red circle\n2\tbob@example.org moves\n"
    (root / "collection/queries.tsv").write_text(queries)
    items = "".join(
        f"{doc}\thttps://example.org/{doc}.mp4\n" for doc in ["a", "b", "c", "007", "NA", "unpooled"]
    )
    (root / "collection/items.tsv").write_text(f"doc_id\tmedia_url\n{items}")
    set_in(root, overlap=0.0, measures=["C@1", "AP"], creators=["Curie, Marie", "Radium Institute"], **STATED)
    run("pool")
    run("tasks")
    answer(root, ANSWERS)
    for command in ("import", "resolve", "augment", "score"):
        run(command)


def answer(root: Path, answers: dict[str, dict[tuple[str, str], int]]) -> None:
    """Write the export of each annotator, as Label Studio writes it."""
    tasks = json.loads((root / "tasks/tasks.json").read_text())
    data = {task["data"]["pair_id"]: task["data"] for task in tasks}
    for person, (name, labels) in enumerate(answers.items(), start=1):
        exported = []
        for n, (pair, relevant) in enumerate(labels.items(), start=1):
            label = {"choices": ["relevant" if relevant else "irrelevant"]}
            result = [{"from_name": "relevance", "type": "choices", "value": label}]
            if n == 1:
                said = {"text": ["write to mail@example.net"]}
                result.append({"from_name": "comment", "type": "textarea", "value": said})
            moment, who = f"2026-03-0{n}T09:23:5{n}Z", {"id": person, "email": name}
            annotation = {"id": 100 * person + n, "completed_by": who, "result": result, "lead_time": 4.0}
            annotation |= {"created_at": moment, "updated_at": moment, "was_cancelled": False}
            exported.append({"id": n, "data": data[pair_id(*pair)], "annotations": [annotation]})
        (root / f"exports/{name}.json").write_text(json.dumps(exported))
