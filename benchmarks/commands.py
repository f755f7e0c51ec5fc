"""What whole commands cost, from files to files: `python benchmarks/commands.py [--scale 0.1] [--only pool]`.

A workspace of the size of FIRE's MSVD is made up from a seed: 27,763 captions, 670 videos, float32 matrices
of three models, a depth-10 pool of some 784,000 pairs, 902,000 judgments by 60 people. Each command runs as a
process of its own, in the order of the loop. Printed for each: CPU seconds (user and system), the peak of its
memory, and how many times as much CPU it takes as pyarrow (json, numpy) needs to read the files it reads and
to write the tables it writes, on one thread, in this run.

Absolute seconds are of one machine; the ratio is what can be compared. --folder keeps the files, and takes up
what lies there already.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

CAPTIONS, VIDEOS, MODELS, PEOPLE = 27_763, 670, 3, 60
TRAINING_CAPTIONS = 48_774
OVERLAP = 0.15
TREC_QUERIES, TREC_DEPTH = 30_000, 100
TABLE_ROWS = 600_000
ASKED = (
    *("name", "title", "creators", "source", "uses", "limitations", "biases", "personal_information"),
    *("social_impact", "machine_made", "maintenance", "platform"),
)
STUDY = ("recruitment", "qualification", "pay", "consent", "ethics")
WORDS = [
    "a",
    "man",
    "woman",
    "dog",
    "is",
    "plays",
    "runs",
    "with",
    "the",
    "red",
    "ball",
    "guitar",
    "on",
    "in",
]


@dataclass(frozen=True)
class Command:
    """A command: its name, its arguments, what it reads and writes (patterns in the workspace), its goal.

    where: the folder that it runs in, a workspace of its own.
    """

    name: str
    arguments: str
    reads: tuple[str, ...]
    writes: tuple[str, ...] = ()
    goal: float | None = None
    where: str = "."


RUNS = ("runs/*.npy",)
QRELS = ("collection/qrels.txt",)
BOTH = (*QRELS, "augmented/qrels.txt")
TABLES = (*RUNS, *BOTH)
POOL = ("pool/pool.csv",)
SOURCES = ("pool/pool_sources.csv",)
JUDGED = ("judgments/judgments.csv",)
LABELS = ("labels/*.csv",)

COMMANDS = (
    Command("add-run", "add-run matrices/m0.npy --out stored", ("runs/m0.npy", *QRELS), ("stored/*",), 3),
    Command("plan", "plan", (*RUNS, *QRELS), (), 60),
    Command("pool", "pool", (*RUNS, *QRELS), ("pool/*.csv",), 5),
    Command("tasks", f"tasks --overlap {OVERLAP}", (*POOL, "collection/*.tsv"), ("tasks/*.json",), 8),
    Command("import", "import", ("exports/*.json",), ("judgments/*.csv",)),
    Command("agree", "agree", JUDGED, (), 3),
    Command("resolve dawid-skene", "resolve --rule dawid-skene --out ds", JUDGED, ("ds/*.csv",), 6),
    Command("resolve", "resolve", JUDGED, LABELS, 4),
    Command("augment", "augment", (*QRELS, "labels/labels.csv"), ("augmented/*",), 3),
    Command("score", "score", TABLES, ("scores/scores.csv",), 2.5),
    Command("score --honest", "score --honest -m C@1 -m C@10", (*TABLES, *SOURCES), (), 10),
    Command("compare", "compare", RUNS, ("comparison/*.csv",), 3),
    Command("difference", "difference", TABLES, (), 10),
    Command("orders", "orders", TABLES, (), 10),
    Command("reuse", "reuse", (*TABLES, *SOURCES), (), 10),
    Command("coverage", "coverage", (*TABLES, *JUDGED), (), 10),
    Command("own", "own", (*SOURCES, *QRELS, *LABELS), (), 10),
    Command("report table1", "report table1", TABLES, (), 10),
    Command("report table2", "report table2", (*JUDGED, *SOURCES), (), 10),
    Command("report table3", "report table3", RUNS, (), 10),
    Command("report table4", "report table4", (*TABLES, *SOURCES), (), 10),
    Command("report length", "report length", (*TABLES, "collection/queries.tsv"), (), 10),
    Command("report saturation", "report saturation", TABLES, (), 10),
    Command("report similarity", "report similarity --train train.csv",
            (*TABLES, "collection/queries.tsv", "train.csv"), (), 10),
    Command("report html", "report html",
            (*TABLES, *SOURCES, *LABELS, *JUDGED, "collection/queries.tsv"), (), 25),
    Command("gallery", "gallery", (*RUNS, *QRELS, *LABELS, *JUDGED, "collection/queries.tsv"),
            ("gallery/data/*.js",), 10),
    Command("release", "release --version 1.0",
            ("pool/*.csv", "labels/*.csv", *JUDGED, *BOTH, "scores/scores.csv", *RUNS),
            ("releases/1.0/*.csv",), 20),
    Command("next-round", "next-round --budget 5000", (*JUDGED, *LABELS, *QRELS), ("plan/*/pool.csv",), 10),
    Command("status", "status", (), (), 1),
    Command("pool again", "pool --out again", (*RUNS, *QRELS, *POOL, *SOURCES, *JUDGED, "labels/labels.csv"),
            ("again/*.csv",), 5),
    Command("pool of TREC text", "pool r0.run r1.run r2.run --depth 100",
            ("trec/*.run", "trec/collection/qrels.txt"), ("trec/pool/*.csv",), 15, "trec"),
    Command("import of a table", "import answers.csv --label=Yes=relevant --label=No=irrelevant "
            "--columns=annotator=who,query=caption,doc=video,label=fits,time=time,seconds=seconds",
            ("table/answers.csv",), ("table/judgments/*.csv",), 12, "table"),
)  # fmt: skip


def main() -> None:
    """Make what is not there yet, run the commands, print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--scale", type=float, action="append", help="share of the captions; several show what grows how"
    )
    parser.add_argument("--folder", type=Path, help="where the files lie, and stay")
    parser.add_argument("--only", action="append", help="one command (may be repeated)")
    parser.add_argument("--profile", type=Path, help="also write what cProfile saw of the last one")
    chosen = parser.parse_args()
    scales = chosen.scale or [1.0]
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="fire-commands-"))
    try:
        print(
            f"{'command':<20} {'CPU s':>7} {'goal':>5} {'peak MB':>8} {'beside files':>13}  scale", flush=True
        )
        for scale in scales:
            own = folder if len(scales) == 1 else folder / f"scale-{scale:g}"
            measure(own, scale, chosen.only, chosen.profile)
    finally:
        if not chosen.folder:
            shutil.rmtree(folder)


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `work` returns, done in another process: a command's peak counts that of its parent."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as other:
        return other.submit(work, *arguments).result()


def measure(folder: Path, scale: float, only: list[str] | None, profile: Path | None) -> None:
    """Run the commands on a share of the captions, and print what they took."""
    apart(make_collection, folder, round(CAPTIONS * scale))
    for command in COMMANDS:
        if only and command.name not in only:
            continue
        apart(make_before, command, folder, scale)
        seconds, megabytes = run(command, folder, profile)
        files = apart(cost_of_files, command, folder)
        ratio = f"{seconds / files:.1f}×" if files else ""
        goal = command.goal or ""
        line = f"{command.name:<20} {seconds:>7.2f} {goal:>5} {megabytes:>8,.0f} {ratio:>13}  {scale:g}"
        print(line, flush=True)


def run(command: Command, folder: Path, profile: Path | None) -> tuple[float, float]:
    """Return the CPU seconds of a command in a process of its own, and the peak of its memory in MB."""
    program = [
        sys.executable,
        *(["-m", "cProfile", "-o", str(profile)] if profile else []),
        "-m",
        "fire_toolkit",
    ]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (folder / "words.txt").open("ab") as words:
        process = subprocess.Popen(
            [*program, *command.arguments.split()],
            cwd=folder / command.where,
            stdout=words,
            stderr=words,
            env=kept,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command.name} failed; see {folder / 'words.txt'}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def cost_of_files(command: Command, folder: Path) -> float:
    """Return the CPU seconds of reading what a command reads, and of writing the tables it writes."""
    seconds = sum(cpu_s(lambda p=path: read(p)) for path in found(folder, command.reads))
    for path in found(folder, command.writes):
        content = read(path)
        seconds += cpu_s(lambda t=content, p=path: write(t, p.suffix))
    return seconds


def found(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of patterns, without manifests."""
    paths = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in paths if not path.name.endswith("manifest.json")]


def cpu_s(work: Callable[[], Any]) -> float:
    """Return the CPU seconds that `work` takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def read(path: Path) -> Any:
    """Return a file's content as the fastest plain reader has it: pyarrow's, numpy's or json's."""
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".js":
        text = path.read_text(encoding="utf-8")
        return json.loads(f"[{text[text.index('(') + 1 : text.rindex(')')]}]")
    if path.suffix == ".json":
        return json.loads(path.read_bytes())
    if path.suffix == ".parquet":
        return pq.read_table(path, use_threads=False)
    options = pa_csv.ReadOptions(use_threads=False, autogenerate_column_names=path.suffix in (".txt", ".run"))
    delimiter = {".csv": ",", ".tsv": "\t"}.get(path.suffix, " ")
    return pa_csv.read_csv(path, options, pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True))


def write(content: Any, suffix: str) -> None:
    """Write a table as CSV or Parquet into memory; JSON as json writes it."""
    if suffix in (".json", ".js"):
        json.dumps(content, ensure_ascii=False)
    elif suffix == ".parquet":
        pq.write_table(content, pa.BufferOutputStream())
    else:
        pa_csv.write_csv(content, pa.BufferOutputStream())


def make_collection(folder: Path, n_captions: int) -> None:
    """Make captions, videos, qrels and the models' matrices, unless they lie there."""
    if (folder / "fire.toml").is_file():
        return
    random = np.random.default_rng(0)
    for name in ("collection", "runs", "exports", "matrices"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    queries = [f"vid{n % VIDEOS:04}_{n // VIDEOS}" for n in range(n_captions)]
    videos = [f"vid{n:04}" for n in range(VIDEOS)]
    captions = (" ".join(random.choice(WORDS, 8)) for _ in queries)
    lines = [f"{query}\t{caption}\n" for query, caption in zip(queries, captions, strict=True)]
    (folder / "collection/queries.tsv").write_text("query_id\ttext\n" + "".join(lines))
    urls = [f"{video}\thttp://localhost:8000/{video}.mp4\n" for video in videos]
    (folder / "collection/items.tsv").write_text("doc_id\tmedia_url\n" + "".join(urls))
    (folder / "collection/qrels.txt").write_text("".join(f"{q} 0 {q.split('_')[0]} 1\n" for q in queries))
    shared = random.standard_normal((n_captions, VIDEOS), dtype=np.float32)
    for model in range(MODELS):
        own = random.standard_normal((n_captions, VIDEOS), dtype=np.float32)
        scores = 0.38 * shared + own
        scores[np.arange(n_captions), np.arange(n_captions) % VIDEOS] += 3
        np.save(folder / f"runs/m{model}.npy", scores)
    (folder / "matrices/m0.npy").hardlink_to(folder / "runs/m0.npy")
    (folder / "fire.toml").write_text(
        '[runs]\nfiles = ["runs/*.npy"]\nquery_ids = "collection/queries.tsv"\n'
        'doc_ids = "collection/items.tsv"\n'
    )


def make_before(command: Command, folder: Path, scale: float) -> None:
    """Make what people or other programs would bring before a command."""
    if command.name == "import" and not list(folder.glob("exports/*.json")):
        make_exports(folder)
    if command.name == "report similarity" and not (folder / "train.csv").is_file():
        captions = np.random.default_rng(2).choice(WORDS, (round(TRAINING_CAPTIONS * scale), 8))
        (folder / "train.csv").write_text("text\n" + "".join(f"{' '.join(words)}\n" for words in captions))
    if command.name == "release":
        shutil.rmtree(folder / "releases", ignore_errors=True)
        add_answers(folder / "fire.toml")
    if command.name == "import of a table":
        make_table_workspace(folder / "table", round(TABLE_ROWS * scale))
    if command.name == "pool of TREC text" and not (folder / "trec").exists():
        make_trec_workspace(folder / "trec", round(TREC_QUERIES * scale))


def add_answers(settings: Path) -> None:
    """Write into fire.toml what a release asks for."""
    text = settings.read_text()
    if "[release]" not in text:
        answers = {key: ["Nobody"] if key == "creators" else "made-up" for key in ASKED} | {
            "licence": "CC0-1.0"
        }
        lines = [f"{key} = {json.dumps(answer)}" for key, answer in answers.items()]
        study = [f'{key} = "made-up"' for key in STUDY]
        settings.write_text("\n".join([text, "[release]", *lines, "", "[study]", *study, ""]))


def make_exports(folder: Path) -> None:
    """Answer every task, as Label Studio exports it: a project for each of 60 people."""
    random = np.random.default_rng(1)
    files = sorted(folder.glob("tasks/*.json"))
    tasks = [task for path in files if "manifest" not in path.name for task in json.loads(path.read_bytes())]
    person = random.integers(PEOPLE, size=len(tasks))
    relevant = random.random(len(tasks)) < 0.2
    for number in range(PEOPLE):
        own = (
            entry(place + 1, tasks[place], number, "relevant" if relevant[place] else "irrelevant")
            for place in np.flatnonzero(person == number).tolist()
        )
        (folder / f"exports/project-{number + 1}.json").write_text(json.dumps(list(own)))


def entry(number: int, task: dict[str, Any], person: int, label: str) -> dict[str, Any]:
    """Return a task with one answer, as Label Studio 1.23 exports it."""
    hour = f"{number % 24:02}:{number % 60:02}:{number % 59:02}.{number % 999999:06}"
    moment = f"2026-03-{1 + number % 28:02}T{hour}Z"
    result = {"id": f"r{number}", "type": "choices", "value": {"choices": [label]}, "origin": "manual",
              "to_name": "video", "from_name": "relevance"}  # fmt: skip
    annotation = {"id": number, "completed_by": person + 1, "result": [result], "was_cancelled": False,
                  "ground_truth": False, "created_at": moment, "updated_at": moment, "draft_created_at": None,
                  "lead_time": 2 + number % 7919 / 1000, "prediction": {}, "result_count": 1,
                  "unique_id": f"{number:08x}-0000-4000-8000-{person:012x}", "import_id": None,
                  "last_action": None, "bulk_created": False, "task": number, "project": person + 1,
                  "updated_by": person + 1, "parent_prediction": None, "parent_annotation": None,
                  "last_created_by": None}  # fmt: skip
    return {"id": number, "annotations": [annotation], "file_upload": "tasks.json", "drafts": [],
            "predictions": [], "data": task["data"], "meta": task.get("meta", {}), "created_at": moment,
            "updated_at": moment, "allow_skip": True, "inner_id": number, "total_annotations": 1,
            "cancelled_annotations": 0, "total_predictions": 0, "comment_count": 0,
            "unresolved_comment_count": 0, "last_comment_updated_at": None, "project": person + 1,
            "updated_by": person + 1, "comment_authors": []}  # fmt: skip


def make_trec_workspace(folder: Path, n_queries: int) -> None:
    """Make a workspace with runs and qrels as TREC text: a positive for each query."""
    (folder / "collection").mkdir(parents=True)
    (folder / "fire.toml").touch()
    lines = (f"q{query} 0 d{query * 37 % 100_000:05} 1\n" for query in range(n_queries))
    (folder / "collection/qrels.txt").write_text("".join(lines))
    for model in range(MODELS):
        make_trec(folder / f"r{model}.run", model, n_queries)


def make_table_workspace(folder: Path, n_rows: int) -> None:
    """Make a workspace without a campaign, and a table of another tool with three answers to each pair."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "fire.toml").touch()
    random = np.random.default_rng(3)
    pairs = random.choice(CAPTIONS * VIDEOS, -(-n_rows // 3), replace=False).repeat(3)[:n_rows]
    fits = np.where(random.random(n_rows) < 0.2, "Yes", "No")
    with (folder / "answers.csv").open("w") as stream:
        stream.write("who,caption,video,fits,time,seconds\n")
        for n, (pair, label) in enumerate(zip(pairs.tolist(), fits.tolist(), strict=True)):
            caption, video = divmod(pair, VIDEOS)
            time_s = f"2026-03-{1 + n % 28:02}T{n % 24:02}:{n % 60:02}:{n % 59:02}Z,{2 + n % 7919 / 1000}"
            stream.write(f"A{n % 3}{n * 7919 % 400:03},c{caption},vid{video:04},{label},{time_s}\n")


def make_trec(path: Path, model: int, n_queries: int) -> None:
    """Write a run as TREC text: 100 docs of 100,000 for each query."""
    random = np.random.default_rng(10 + model)
    with path.open("w") as stream:
        for query in range(n_queries):
            docs = (query * 37 + random.permutation(150)[:TREC_DEPTH]) % 100_000
            scores = np.sort(random.random(TREC_DEPTH))[::-1]
            stream.writelines(trec_lines(query, docs, scores, model))


def trec_lines(query: int, docs: Any, scores: Any, model: int) -> Iterator[str]:
    """Yield the lines of one query."""
    for rank, (doc, score) in enumerate(zip(docs.tolist(), scores.tolist(), strict=True), start=1):
        yield f"q{query} Q0 d{doc:05} {rank} {score:.6f} r{model}\n"


if __name__ == "__main__":
    main()
