"""Commands run in this process, the tables that they print and write, and a workspace to campaign in."""

import contextlib
import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.campaign.store import Store
from fire_toolkit.cli import main

Fire = Callable[..., Result]  # `run`, in the folder that a fixture makes
Pair = tuple[str, str]
Make = Callable[[], object]
Copied = Callable[[Make, Path], Path]  # the fixture `copied`
StandIn = Callable[..., Path]  # the fixture `stand_in`


def run(*arguments: object, code: int = 0, stdin: bytes = b"") -> Result:
    """Run a command and expect exit code 0 (or `code`), no traceback, no placeholder in `next`."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    unfilled = [line for line in result.stderr.splitlines() if line.startswith("next: ") and "{" in line]
    assert not unfilled
    return result


def rows(table: Path | str | Result, delimiter: str = ",") -> list[dict[str, str]]:
    """Return the rows of a table in a file, in a text, or on the stdout of a command."""
    text = table.stdout if isinstance(table, Result) else table
    if isinstance(text, Path):
        text = text.read_bytes().decode()  # as it is, with the line ends inside of cells
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))


def write_run(path: Path, ranked: Mapping[str, Iterable[str]]) -> None:
    """Write the docs of each query, best first, as a run of the file's name in TREC's form."""
    placed = [(query, *place) for query, docs in ranked.items() for place in enumerate(docs, start=1)]
    lines = [f"{query} Q0 {doc} {rank} {-rank} {path.stem}\n" for query, rank, doc in placed]
    path.write_text("".join(lines))


def write_table(
    path: Path, table: Sequence[dict[str, str]], *, delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    """Write the rows of a table as a spreadsheet does."""
    with path.open("w", newline="", encoding=encoding) as stream:
        writer = csv.DictWriter(stream, list(table[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(table)


def by_pair(table: Path | str | Result, column: str = "") -> dict[Pair, Any]:
    """Return the rows of a table, or one column of them, by query and doc."""
    return {(row["query_id"], row["doc_id"]): row[column] if column else row for row in rows(table)}


def pairs_in(table: Path | str | Result) -> set[Pair]:
    """Return the pairs in the rows of a table."""
    return set(by_pair(table))


def as_json(*arguments: object) -> Any:
    """Run a command, and return what it prints as JSON."""
    return json.loads(run(*arguments, "--format", "json").stdout)


def manifest_of(path: Path | str) -> Any:
    """Return the manifest of a stage's folder, or the one beside a file."""
    at = Path(path)
    beside = at / "manifest.json" if at.is_dir() else at.with_name(f"{at.name}.manifest.json")
    return json.loads(beside.read_text())


def named(told: Result) -> str:
    """Return the command that a command says is next; empty where it names none."""
    lines = [line for line in told.stderr.splitlines() if line.startswith("next: fire-toolkit ")]
    return lines[-1].removeprefix("next: fire-toolkit ") if lines else ""


def states() -> dict[str, tuple[str, str]]:
    """Return the state of each stage of the workspace here, and the reason, by `status`."""
    return {row["stage"]: (row["state"], row["reason"]) for row in as_json("status")}


def given(root: Path, number: int = 1) -> list[dict[str, str]]:
    """Return who has what in a round of a campaign now, as rows; none of a round that has not begun."""
    there = Rounds(root)
    table = there[list(there.carriers).index(number)].assignments if number in there.carriers else None
    return [] if table is None else table.astype("str").to_dict("records")  # type: ignore[return-value]


def answer_on_page(root: Path, row: Mapping[str, str], label: str, n: int, number: int = 1) -> None:
    """Answer a task (annotator_id, pair_id) of round `number` on our own page, as the n-th of all."""
    record = {
        "kind": "answer",
        "annotator": row["annotator_id"],
        "round": number,
        "label": label,
        "flags": [],
    }
    record |= {"comment": "", "seconds": 1.0, "page": "1", "position": 1, "n": n, "pair": row["pair_id"]}
    with Store(root / "campaign.sqlite") as store:
        store.add_page_records(record | {"at": f"2026-11-01T10:00:{n:02d}.000000Z"})


def has_answers(root: Path) -> bool:
    """Whether the record of a workspace has any answer."""
    with Store(root / "campaign.sqlite") as store:
        return store.has_answers()


def alter(root: Path, statement: str, *values: object) -> None:
    """Change the record of a workspace as no command does, and as if it had always been so.

    `answers` alone: forget all answers.
    """
    with contextlib.closing(sqlite3.connect(root / "campaign.sqlite")) as db, db:
        if statement == "answers":
            db.executescript("delete from versions; delete from batches")
        else:
            db.execute(statement, values)
            db.execute("drop table if exists sealed")


def begin_workspace(root: Path, n_pairs: int, *, n_known: int | None = None) -> Path:
    """Make a workspace whose pool is q0 v0, q1 v1, ..., with captions and items of `n_known` pairs."""
    run("init", root)
    numbers = range(n_known or n_pairs)
    (root / "pool").mkdir()
    pairs = "".join(f"q{n},v{n}\n" for n in range(n_pairs))
    (root / "pool/pool.csv").write_text("query_id,doc_id\n" + pairs)
    queries = "".join(f"q{n}\ta dog runs {n}\n" for n in numbers)
    (root / "collection/queries.tsv").write_text("query_id\ttext\n" + queries)
    items = "".join(f"v{n}\thttp://media.test/v{n}.mp4\n" for n in numbers)
    (root / "collection/items.tsv").write_text("doc_id\tmedia_url\n" + items)
    return root


def begin_small_workspace(folder: Path) -> Path:
    """Make a workspace `work` of the small files in the folder: its runs, qrels and queries."""
    run("init", folder / "work")
    for place, names in {"runs": ("clip.run", "ssb.run"), "collection": ("qrels.txt", "queries.tsv")}.items():
        for name in names:
            (folder / name).rename(folder / "work" / place / name)
    return folder / "work"
