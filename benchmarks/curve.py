"""What commands cost as queries grow in number: `python benchmarks/curve.py [--queries 3000 10000 …]`.

Makes for each number of queries a workspace as `commands.py` does (670 docs, three models, a depth-10 pool),
with a judgment for each pair and a second one for 15% of them, and vectors of the queries and of 20,000 docs.
Each command runs as a process of its own. Printed are CPU seconds (user and system) and the peak of its
memory, as in the tables of docs/scale.md; --figure draws the seconds of the loop as SVG, PNG or PDF.

Absolute seconds are of one machine; the growth is what can be compared.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from commands import (
    CAPTIONS,
    COMMANDS,
    OVERLAP,
    PEOPLE,
    VIDEOS,
    Command,
    apart,
    make_before,
    make_collection,
    run,
)
from pyarrow import Table, csv

DOCS, WIDTH = 20_000, 256
VECTORS = (
    "add-run q.npy d.npy --embeddings --similarity cosine --query-ids collection/queries.tsv "
    "--doc-ids d.txt --id vectors --out stored"
)
DRAWN = ("add-run", "pool", "tasks", "agree", "resolve", "augment", "score", "compare", "difference")
LOOP = [command for command in COMMANDS if command.name not in ("import", "pool of TREC text")]
OF_VECTORS = Command("add-run of vectors", VECTORS, ())


def main() -> None:
    """Make the workspaces, run the commands, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, nargs="+", default=[3000, 10_000, 30_000, 100_000])
    parser.add_argument("--folder", type=Path, help="where the files lie, and stay")
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        rows = [row for n in given.queries for row in measure(folder / str(n), n)]
    print_table(rows, given.queries)
    if given.figure:
        draw(rows, given.figure)


def measure(folder: Path, n_queries: int) -> Iterator[dict[str, object]]:
    """Run the loop on so many queries, and yield what each command took."""
    apart(make_files, folder, n_queries)
    for command in (OF_VECTORS, *LOOP):
        if command.name == "agree":
            apart(make_judgments, folder)
        apart(make_before, command, folder, n_queries / CAPTIONS)
        seconds, megabytes = run(command, folder, None)
        print(f"{n_queries:>9,} {command.name:<20}{seconds:8.2f} s {megabytes:8,.0f} MB", flush=True)
        yield {"command": command.name, "queries": n_queries, "seconds": seconds, "MB": megabytes}


def make_files(folder: Path, n_queries: int) -> None:
    """Make the collection, matrices and vectors."""
    make_collection(folder, n_queries)
    random = np.random.default_rng(3)
    np.save(folder / "q.npy", random.standard_normal((n_queries, WIDTH), dtype=np.float32))
    np.save(folder / "d.npy", random.standard_normal((DOCS, WIDTH), dtype=np.float32))
    docs = [f"vid{place:04}" if place < VIDEOS else f"doc{place}" for place in range(DOCS)]
    (folder / "d.txt").write_text("\n".join(docs))


def make_judgments(folder: Path) -> None:
    """Judge every pair of the pool, and some twice."""
    pairs = pd.read_csv(folder / "pool/pool.csv", usecols=["query_id", "doc_id"], dtype=str)
    random = np.random.default_rng(4)
    again = np.flatnonzero(random.random(len(pairs)) < OVERLAP)
    place = np.append(np.arange(len(pairs)), again)
    person = random.integers(PEOPLE, size=len(pairs))
    own = np.append(person, (person[again] + 1) % PEOPLE)
    judged = pairs.iloc[place].assign(
        annotator_id=[f"A{number:02}" for number in own],
        label=np.where(random.random(len(place)) < 0.2, "relevant", "irrelevant"),
        created_at="2026-03-02T09:00:00Z",
        guideline="caption-relevance-v1",
    )
    (folder / "judgments").mkdir(exist_ok=True)
    csv.write_csv(Table.from_pandas(judged, preserve_index=False), folder / "judgments/judgments.csv")


def print_table(rows: Sequence[dict[str, object]], sizes: Sequence[int]) -> None:
    """Print the table as Markdown."""
    print(f"\n| command | {' | '.join(f'{n:,} queries' for n in sizes)} |\n|---|{'---|' * len(sizes)}")
    for name in dict.fromkeys(row["command"] for row in rows):
        cells = [f"{row['seconds']:.1f} s, {row['MB']:,.0f} MB" for row in rows if row["command"] == name]
        print(f"| `{name}` | {' | '.join(cells)} |")


def draw(rows: Sequence[dict[str, object]], path: Path) -> None:
    """Draw the seconds of each command by the number of queries, both axes logarithmic."""
    from fire_toolkit.report.plots import PALETTE, SCHEMA, Plot
    from fire_toolkit.report.save import save_plot

    names = [OF_VECTORS.name, *DRAWN]
    axis = {"type": "quantitative", "scale": {"type": "log", "nice": False}}
    of_queries = {"values": sorted({row["queries"] for row in rows}), "format": "~s"}
    of_seconds = {"values": [1, 2, 5, 10, 20, 50, 100], "format": "d"}
    header = {"title": None, "labelFontWeight": "bold"}
    spec = {
        "$schema": SCHEMA,
        "data": {"values": [row for row in rows if row["command"] in names]},
        "mark": {"type": "line", "point": {"filled": True}, "color": PALETTE[0]},
        "height": 110,
        "encoding": {
            "facet": {"field": "command", "type": "nominal", "sort": names, "columns": 5, "header": header},
            "x": axis | {"field": "queries", "title": "queries", "axis": of_queries},
            "y": axis | {"field": "seconds", "title": "CPU seconds", "axis": of_seconds},
        },
    }
    save_plot(Plot(spec), path, width=130)


if __name__ == "__main__":
    main()
