"""Damage the files of a workspace and read them: nothing but a FireError of one line may come out.

Usage: python benchmarks/fuzz.py [--mutations N] [--seed S] [--only NAME]

Every reader of a workspace is there: settings, manifests, collections, qrels, runs of every format, pools,
tasks, exports, judgments, labels, the ledger, records of a campaign, guidelines, ids. A process of its own
reads, under a limit of memory; it is ended when one file takes ten seconds of CPU time, or two minutes by the
clock. All mutations are made however long they take, and follow from the seed. What fails is printed with
its reader and kept in the folder --keep; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
PREDICTIONS = ROOT / "tests" / "formats" / "golden"
MEMORY = 6 << 30
SLOWEST_CPU_S, SLOWEST_S = 10.0, 120.0
RARE = {"parquet": 0.5}  # how often, beside others: it takes longer

TOKENS = [
    *(
        b"1" * 25,
        b"-" + b"9" * 400,
        b"1" * 5000,
        b"1e999",
        b"-1e-999",
        b"nan",
        b"inf",
        b"1_0",
        b"0x1f",
        b"-1",
    ),
    *(b"[" * 3000, b"{" * 300, b'{"a":' * 2000, b"]" * 50, b'""', b'"', b"'", b"\\ud800", b"\\u0000", b"\0"),
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\xd9\xa1",
        b"\r",
        b"\r\n",
        b"\n",
        b"\t",
        b",",
        b" ",
        b"",
    ),
    *(b"null", b"true", b"[]", b"{}", b"NaN", b"Infinity", b"-0", b"2**63", b"9223372036854775808"),
    *(b"../../x", b"/etc/passwd", b"~", b"*", b"#", b"=", b"[[a]]", b"[a.b]", b"1979-05-27", b"99999-99-99"),
]


@dataclass(frozen=True)
class Target:
    """A reader and the file it reads: `call` is given the folder with that file, under `path`, in it."""

    name: str
    path: str
    content: bytes
    call: Callable[[Path], object]
    beside: tuple[tuple[str, bytes], ...] = ()


def targets() -> list[Target]:
    """Return every reader with a file of its own."""
    return [*tables(), *records(), *texts(), *predictions(), *collections(), *exports(), *ledgers()]


def of(name: str, content: bytes | str, read: Callable[..., object], *more: Any, path: str = "") -> Target:
    raw = content.encode() if isinstance(content, str) else content
    place = path or name
    return Target(name, place, raw, lambda folder: read(folder / place, *more))


ELSEWHERE = "".join(
    json.dumps(
        {
            **{"meta": {"q": f"q{n}"}, "d": "007", "options": ["Yes"], "accept": ["Yes"], "answer": "accept"},
            **{"_task_hash": n, "_annotator_id": "set-ann", "_timestamp": 1707211049 + n},
        }
    )
    + "\n"
    for n in range(3)
)
PROJECT = json.dumps(
    [
        {
            "id": 5,
            "data": {"caption_id": "q1", "video_id": 7},
            "annotations": [
                {
                    **{"id": 9, "completed_by": {"id": 3, "email": "a@b.org"}, "was_cancelled": False},
                    **{"created_at": "2026-11-20T12:02:46.815491Z", "lead_time": 7.1, "unique_id": "b09f"},
                    "result": [{"from_name": "match", "type": "choices", "value": {"choices": ["Yes"]}}],
                }
            ],
            **{"drafts": [], "predictions": [33]},
        }
    ]
)
EVIDENCE = (
    "query_id,doc_id,relevance,original_relevance,label_relevance,source,label,method,n_judgments,n_agree,is_disputed\n"
    "q,d,1,1,1,confirmed,yes,fire,2,2,False\nq,e,,,,unjudged,,,,,True\n"
)
DESIGN = "query_id,doc_id,design_class,place,cells\nq,d,until-confirmed,1,0a\nq,e,,,\nr,d,recheck,1,\n"
PAIRS = (
    "query_id,doc_id,label,relevance,annotator_id,created_at,duration_s,n_judgments,posterior\n"
    + "".join(f"q{n},d{n},yes,{n},ann,2026-01-0{n}T00:00:00Z,1.5,2,.5\n" for n in range(1, 5))
)
MASK = (
    b"\x93NUMPY\x01\x00\x46\x00"
    + b"{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}".ljust(69)
    + b"\n\1\0\1"
)
SHEET = (
    "query_id,doc_id,label,annotator_id,comment,flags,created_at,duration_s\n"
    "q1,d1,relevant,ann,a dog,,2026-01-01T00:00:00Z,1.5\nq2,d2,irrelevant,ann,,caption_unclear,,\n"
)
POOL = (
    "query_id,doc_id,best_rank,n_runs,is_control,round,stratum,inclusion_probability,design,seed\n"
    "q1,d1,1,2,False,1,,1.0,certain,0\nq2,d2,,,True,1,s,0.5,srs,0\n"
)


def tables() -> list[Target]:
    """The tables of a workspace that are CSV, TSV or TREC text."""
    from fire_toolkit.formats.collections.qrels import read_qrels
    from fire_toolkit.formats.releases import read_original_qrels
    from fire_toolkit.formats.runs.trec import read_trec_qrels, read_trec_run
    from fire_toolkit.formats.tables import table_files as files
    from fire_toolkit.formats.tables.delimited import read_delimited
    from fire_toolkit.formats.tables.table_files import read_design, read_evidence, read_machine_scores
    from fire_toolkit.tables import check_disputes

    qrels = "q1 0 d1 a 1\nq1 0 d2 a -1\nq2 0 d1 b 3\n"
    run = "".join(f"q{n % 2} Q0 d{n} {n} {9 - n / 7!r} m\n" for n in range(6))
    beir = "query-id\tcorpus-id\tscore\nq\td\t1\n"
    return [
        of("queries.tsv", 'query_id\ttext\treference\nq\ta "dog"\tr\nr\ta cat\t\n', files.read_queries),
        of("items.tsv", "doc_id\tmedia_url\tstart_s\tend_s\nd\tx.mp4\t0.5\t2\n", files.read_items),
        of("shown.tsv", "query_id\ttext\tmedia_url\nq\ta dog\tx.mp4\n", files.read_shown),
        of("pool.csv", POOL, files.read_pool),
        of("pool_sources.csv", "query_id,doc_id,run_id,rank\nq,d,m,1\nq,d,n,2\n", files.read_pool_sources),
        of(
            "query_design.csv",
            "query_id,depth,is_sampled,inclusion_probability,seed\nq,10,False,.5,0\nr,50,True,.5,0\n",
            files.read_query_design,
        ),
        of("pool_sources.csv, runs", "query_id,doc_id,run_id,rank\nq,d,m,1\n", files.read_pooled_runs),
        of("judgments.csv", PAIRS, files.read_judgments),
        of("judged.csv", PAIRS, files.judged_pairs),
        of("labels.csv", PAIRS, files.read_labels),
        of("evidence.csv", EVIDENCE, read_evidence),
        of("design.csv", DESIGN, read_design),
        of(
            "query_labels.csv",
            "query_id,label,is_usable,n_votes,n_agree,flags\nq,usable,True,2,2,\nr,unusable,False,2,1,unclear\n",
            files.read_query_labels,
        ),
        of(
            "machine.csv",
            "judge_id,query_id,doc_id,score,status,reason\nj,q,d,.5,ok,\nj,r,d,,failed,HTTP 500\n",
            files.read_machine_judgments,
        ),
        of(
            "scores.csv",
            "qid,video,p_yes,label\nq,a,.5,\nq,b,nan,relevant\n",
            lambda path: read_machine_scores(path, "j"),
        ),
        of(
            "disputes.csv",
            "query_id,doc_id,reason,n_yes,n_no\nq,d,no_majority,1,1\n",
            lambda path: check_disputes(read_delimited(path)),
        ),
        of("qrels.txt", qrels, read_trec_qrels),
        of("qrels.any", beir, read_original_qrels),
        of("qrels.five", qrels, read_qrels),
        of("x.run", run, read_trec_run),
    ]


def records() -> list[Target]:
    """Settings, manifests, tasks, and the records of a campaign."""

    from fire_toolkit.campaign.task_files import read_task_files
    from fire_toolkit.elsewhere.answers import read_elsewhere
    from fire_toolkit.elsewhere.tables import read_submissions
    from fire_toolkit.folder.sheets import read_sheet
    from fire_toolkit.formats.tables.guideline_files import read_guideline
    from fire_toolkit.workspace.config import config_text, read_workspace
    from fire_toolkit.workspace.manifests import Manifest, checked, finish_interrupted, manifest_at
    from fire_toolkit.workspace.stages import stage_states

    sha = hashlib.sha256(b"x").hexdigest()
    manifest = Manifest("pool", "0", {"depth": 3}, {"runs/a": sha}, {"pool.csv": sha}, {"pairs": 1})
    made = json.dumps(vars(manifest), indent=1)
    tasks = [{"data": {"caption": "a dog", "video": "x.mp4", "pair_id": "q|d"}, "meta": {"round": 1}}]
    guideline = ROOT / "guidelines" / "caption-relevance-v1"
    names = ("guideline.md", "labels.toml", "label_config.xml")
    parts = tuple((f"g/{name}", (guideline / name).read_bytes()) for name in names)
    toml = ("fire.toml", config_text().encode())

    def states(folder: Path) -> object:
        return stage_states(read_workspace(folder))

    def read_project(path: Path) -> object:
        pair = {"query": "data.caption_id", "doc": "video_id"}
        return read_elsewhere(path, pair)

    def checked_pool(folder: Path) -> None:
        checked(folder / "pool" / "pool.csv")

    return [
        Target("fire.toml", *toml, states),
        of("manifest.json", made, manifest_at),
        Target("manifest of a stage", "pool/manifest.json", made.encode(), states, (toml,)),
        Target(
            "a verified file", "pool/manifest.json", made.encode(), checked_pool, (("pool/pool.csv", b"x"),)
        ),
        Target("commit record", ".fire-commit-1.json", b'{".a.1.tmp": "a"}', finish_interrupted),
        of("tasks.json", json.dumps(tasks), read_task_files, read_guideline("caption-relevance-v1")),
        of(
            "sheet.csv",
            SHEET,
            partial(read_sheet, seen_at="2026-01-01T00:00:00Z"),
            read_guideline("caption-relevance-v1"),
        ),
        of("table.jsonl", ELSEWHERE, read_elsewhere, {"query": "meta.q", "doc": "d"}),
        of("submissions.csv", "Participant id,Status\na,APPROVED\nb,RETURNED\n", read_submissions),
        of("export.json", PROJECT, read_project),
        *(Target(path, path, raw, lambda folder: read_guideline(folder / "g"), parts) for path, raw in parts),
    ]


def texts() -> list[Target]:
    """Ids, masks, TIFA's files and FIRE's release."""
    import pandas as pd

    from fire_toolkit.formats.runs.axis_ids import read_ids
    from fire_toolkit.formats.runs.reader import read_mask
    from fire_toolkit.formats.tables.fire_release import read_about, read_fire_release
    from fire_toolkit.formats.tables.tifa import read_answers, read_questions
    from fire_toolkit.tables import check_queries

    question = [{"id": "q", "question": "is it?", "choices": ["yes", "no"], "answer": "yes"}]
    answers = [{"query_id": "q", "doc_id": "d", "question": "is it?", "answer": "yes"}]
    release = (GOLDEN / "fire-release" / "release.json").read_bytes()
    known = check_queries(pd.DataFrame({"query_id": ["q", "r"], "text": ["a dog runs over grass", "a cat"]}))
    ids = (
        b"a\nb\n",
        b'["a", 7]',
        b"query_id,text\na,x\n",
        b"(lp0\nVa\np1\na.",
        b"\x80\x04]\x94(\x8c\x01a\x94e.",
    )
    return [
        of("questions.json", json.dumps(question), read_questions),
        of("answers.json", json.dumps(answers), read_answers),
        of("answers.csv", "query_id,doc_id,question,answer\nq,d,is it?,yes\n", read_answers),
        of("release.json", release, read_fire_release, known),
        of("about.json", '{"version": "1", "datasets": []}', read_about),
        *(of(f"ids {n}", content, read_ids, "query_id", path="ids") for n, content in enumerate(ids)),
        of("mask", MASK, read_mask),
    ]


def predictions() -> list[Target]:
    """Runs of every format, as all commands read them; `read_table` and `read_parquet` are behind these."""
    from fire_toolkit.formats.runs.ingest import Request, ingest
    from fire_toolkit.formats.runs.read import read_run
    from fire_toolkit.formats.runs.score_anomalies import ALLOWANCES

    queries, docs = ["007", "q:1|x", "frage-ü"], ["NA", "d10", "d9", "null"]
    request = Request(query_ids=queries, doc_ids=docs, allow=frozenset(ALLOWANCES), similarity="dot", depth=2)
    ids = (("m.query_ids.txt", "\n".join(queries).encode()), ("m.doc_ids.txt", "\n".join(docs).encode()))

    def scored(folder: Path) -> object:
        return read_run(folder / "m")

    found = []
    for path in sorted(PREDICTIONS.iterdir()):
        kind = "parquet" if path.suffix == ".parquet" else "run"
        found.append(of(f"{kind} {path.name}", path.read_bytes(), ingest, request, path="m"))
        found.append(Target(f"{kind} {path.name}, scored", "m", path.read_bytes(), scored, ids))
    asked = replace(request, candidates="similarity")
    found += [of(f"{kind} of a search", raw, ingest, asked, path="m") for kind, raw in searched()]

    def ranked(folder: Path) -> object:
        return ingest(folder / "m", request, other=folder / "d.npy")

    docs, *kinds = vectors()
    return [
        *found,
        *(Target(f"{kind} of vectors", "m", raw, ranked, (("d.npy", docs[1]),)) for kind, raw in kinds),
    ]


def vectors() -> list[tuple[str, bytes]]:
    """Vectors, which `read_vectors` and `read_parquet_vectors` take, as an array, Parquet, safetensors."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rows = np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32)
    docs, array, table = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(docs, rows)
    np.save(array, rows[:3])
    parquet.write_table(pa.table({"v": list(rows[:3])}), table)
    about = {"v": {"dtype": "F32", "shape": [3, 3], "data_offsets": [0, 36]}}
    header = json.dumps(about).encode()
    tensors = len(header).to_bytes(8, "little") + header + rows[:3].tobytes()
    kinds = [("array", array.getvalue()), ("parquet", table.getvalue()), ("run", tensors)]
    return [("docs", docs.getvalue()), *kinds]


def searched() -> list[tuple[str, bytes]]:
    """Candidates of a vector search, which `read_candidates` takes, as an archive and as Parquet."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    ids, scores = np.array([[3, 0, -1], [1, 2, 0], [0, 1, 3]]), np.array([[3.0, 2, 0], [3, 3, 1], [2, 1, 0]])
    archive, table = io.BytesIO(), io.BytesIO()
    np.savez(archive, I=ids, D=scores)
    parquet.write_table(pa.table({"ids": list(ids), "scores": list(scores)}), table)
    return [("run", archive.getvalue()), ("parquet", table.getvalue())]


def collections() -> list[Target]:
    """The files of benchmarks, each as one damaged file in the folder of the collection."""
    from fire_toolkit.formats.collections.registry import read_collection

    found = []
    for folder in sorted((GOLDEN / "collections").iterdir()):
        files = [path for path in sorted((folder / "input").rglob("*")) if path.is_file()]
        given = tuple((str(path.relative_to(folder)), path.read_bytes()) for path in files)
        split = "validation" if folder.name == "youcook2" else None

        def read(place: Path, split: str | None = split) -> object:
            return read_collection([place / "input"], split=split)

        found += [Target(f"collection {folder.name}", name, raw, read, given) for name, raw in given]
    return found


def exports() -> list[Target]:
    """Label Studio's exports; `read_text` has what is wrong with their bytes."""

    from fire_toolkit.campaign.votes import judgments_from_export
    from fire_toolkit.files import read_bytes
    from fire_toolkit.formats.tables.guideline_files import read_guideline

    guideline = read_guideline("caption-relevance-v1")

    def read(path: Path) -> object:
        return judgments_from_export([(str(path), read_bytes(path))], guideline=guideline)

    folder = GOLDEN / "import-every-kind"
    return [of(f"export {path.name}", path.read_bytes(), read) for path in sorted(folder.glob("*.json"))]


def ledgers() -> list[Target]:
    """The record of a campaign."""
    import pandas as pd

    from fire_toolkit.campaign.ledger import COLUMNS
    from fire_toolkit.campaign.records import Rounds, read_retired, write_rounds
    from fire_toolkit.campaign.rounds import first_round
    from fire_toolkit.campaign.store import Store
    from fire_toolkit.campaign.tasks import make_tasks
    from fire_toolkit.formats.tables.guideline_files import read_guideline
    from fire_toolkit.tables import check_pool, check_queries

    def read_record(folder: Path) -> None:
        with Store(folder / "campaign.sqlite") as store:
            store.check()
        for read in (read_retired, lambda place: list(Rounds(place))):
            read(folder)

    pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": list("abcd")}))
    queries = check_queries(pd.DataFrame({"query_id": ["q"], "text": ["a dog"]}))
    tasks = make_tasks(pool, queries, guideline=read_guideline("caption-relevance-v1"), overlap=0.5)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "campaign.sqlite"
        with Store(path) as store:
            row = dict.fromkeys(COLUMNS, "x") | {"answer": '{"id": 1, "result": []}'}
            store.add_answers({**row, "annotation": f"a{number}"} for number in range(20))
        write_rounds(Path(place), first_round(1, tasks, {"A01": 1.0, "A02": 1.0}))
        content = path.read_bytes()
    return [Target("record", "campaign.sqlite", content, read_record)]


def mutated(raw: bytes, dice: random.Random, others: list[bytes]) -> bytes:
    """Return a file with one to four things wrong with it."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        start = dice.randrange(len(raw) + 1)
        end = min(len(raw), start + dice.choice((0, 1, 1, 2, 8, 40)))
        kind = dice.randrange(7)
        if kind == 0:
            raw = raw[:start] + bytes([dice.randrange(256)]) + raw[start + 1 :]
        elif kind == 1:
            raw = raw[:start]
        elif kind == 2:
            raw = raw[:start] + raw[end:]
        elif kind == 3:
            raw = raw[:end] + raw[start:]
        elif kind == 4:
            other = dice.choice(others)
            place = dice.randrange(len(other) + 1)
            raw = raw[:start] + other[place : place + dice.choice((4, 30, 400))] + raw[end:]
        else:
            raw = raw[:start] + dice.choice(TOKENS) + raw[end:]
    return raw


def chosen(number: int, seed: int, found: list[Target]) -> tuple[Target, bytes]:
    """Return the target and the damaged file of a mutation."""
    dice = random.Random(f"{seed} {number}")
    weights = [RARE.get(target.name.split()[0], 1.0) for target in found]
    target = dice.choices(found, weights)[0]
    return target, mutated(target.content, dice, [other.content for other in found])


def put(target: Target, content: bytes, call: Callable[[Path], object]) -> None:
    """Call with a folder of the target's files, one of them damaged; warnings are failures, notes are not."""
    from fire_toolkit.errors import FileNote

    folder = Path(tempfile.mkdtemp())
    try:
        for name, raw in (*target.beside, (target.path, content)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(raw)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", FileNote)
            call(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def attempt(target: Target, content: bytes) -> str:
    """Return what came out that must not; empty where the file was read, or refused with one line."""
    from fire_toolkit.errors import FireError

    try:
        put(target, content, target.call)
    except FireError as error:
        told = str(error)
        is_line = bool(told) and "\n" not in told and len(told) < 4000 and told.isprintable()
        return "" if is_line else f"FireError that is no line to print: {ascii(told)[:300]}"
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return (
            f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {ascii(str(error))[:200]}"
        )
    return ""


def work(first: int, last: int, seed: int, only: str) -> None:
    """Read mutations one after another; say each number before, and what came out after it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found = [target for target in targets() if only in target.name]
    for number in range(first, last):
        print(f"{number}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SLOWEST_CPU_S)  # SIGPROF then ends the process
        target, content = chosen(number, seed, found)
        if said := attempt(target, content):
            print(json.dumps([number, target.name, said]), flush=True)
    print("done", flush=True)


def watch(first: int, last: int, arguments: argparse.Namespace) -> tuple[int, list[list[Any]]]:
    """Return which mutation is next and what failed: one process, ended when it takes too long or dies."""
    command = [sys.executable, __file__, "--work", str(first), str(last), "--seed", str(arguments.seed)]
    failed: list[list[Any]] = []
    number = first
    with subprocess.Popen([*command, "--only", arguments.only], stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdout is not None
        while True:
            ready, _, _ = select.select([child.stdout], [], [], SLOWEST_S)
            line = child.stdout.readline() if ready else b""
            if line.startswith(b"["):
                failed.append(json.loads(line))
            elif line.strip().isdigit():
                number = int(line)
            else:
                child.kill()
                if line == b"done\n":
                    return last, failed
                is_late = not ready or child.wait() == -signal.SIGPROF
                failed.append([number, "", "took too long" if is_late else f"died ({child.wait()})"])
                return number + 1, failed


def main() -> int:
    """Run the mutations; return 1 when one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutations", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose name has this in it")
    parser.add_argument("--keep", type=Path, help="folder for files that fail")
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        first, last = arguments.work
        work(first, last, arguments.seed, arguments.only)
        return 0
    began, number, failed = time.monotonic(), 0, []
    while number < arguments.mutations:
        number, more = watch(number, arguments.mutations, arguments)
        failed += more
    found = [target for target in targets() if arguments.only in target.name]
    for place, _, said in failed:
        target, content = chosen(place, arguments.seed, found)
        print(f"{place}: {target.name}: {said}")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / f"{place}-{target.path.replace(os.sep, '-')}").write_bytes(content)
    kinds = Counter(said.split(":")[0] for _, _, said in failed)
    seconds = time.monotonic() - began
    print(f"{number:,} mutations of {len(found)} files: {len(failed)} failed, {seconds:.0f} s")
    for kind, count in kinds.most_common():
        print(f"  {count:>5}  {kind}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
