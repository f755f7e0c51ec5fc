"""Ask machine judges about pairs, bring in their scores, and check them against people's labels.

What a judge says lies in machine/NAME, apart from people's judgments: no annotator sees it, and it enters
neither judgments nor labels.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from fire_toolkit.campaign.asking import refuse_unseen
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.cli.common import metered, n_of, say
from fire_toolkit.cli.frame import framed
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import current_workspace, made_file, own_guideline, say_next, workspace_path
from fire_toolkit.cli.media import media_root
from fire_toolkit.cli.plain import group_of
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.machine_check import machine_check
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_machine_scores, read_pool
from fire_toolkit.machines.chat import KEY_VARIABLE, Chat
from fire_toolkit.machines.judge import file_name, read_judge, read_prompt
from fire_toolkit.machines.run import Spending, ask_all, asking, open_cache
from fire_toolkit.machines.table import machine_table, requests_of, run_in_words
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.tables.further import OK
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import writer_of

_File = Annotated[str | None, Option(metavar="FILE")]


def run(
    judge: Annotated[Path, Option(is_argument=True, metavar="JUDGE.toml")],
    *,
    pool: _File = None,
    queries: _File = None,
    items: _File = None,
    guideline: Annotated[str | None, Option(metavar="NAME")] = None,
    send_media_to: Annotated[str | None, Option(metavar="HOST")] = None,
    budget: Annotated[float | None, Option(metavar="MONEY", least=0)] = None,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    as_json: bool = False,
) -> None:
    """Ask a model behind an OpenAI-compatible server (vLLM, llama.cpp, Ollama, a vendor) about each pair.

    JUDGE.toml names endpoint and model; further keys are in docs/machines.md. The judge gets the caption and
    the image, or frames of the clip, and must answer one word; anything else is a failure with its reason.
    Answers are stored as they come, and the same command continues after a kill or an error. A key is read
    from FIRE_MACHINE_KEY.

    Args:
        judge: The judge.
        pool: The pairs to ask about: a pool, or any table of pairs.
        queries: The queries: query_id, text and, of composed ones, reference.
        items: The items: a table with doc_id and media_url.
        guideline: The guideline judged by, whose prompt is asked. [default: the workspace's]
        send_media_to: Captions and media may leave this machine for this host; kept in the manifest.
        budget: Stop at this cost, earlier runs included.
        out: [default: machine/NAME]
    """
    asked = read_judge(judge)
    if budget is not None and asked.price is None:
        raise UsageError(f"--budget needs price = [IN, OUT] in {judge}, what a million tokens of each cost")
    key = os.environ.get(KEY_VARIABLE, "").strip()
    prompt, rules = read_prompt(own_guideline(guideline))
    chat = Chat(asked.endpoint, prompt, key=key, send_media_to=send_media_to, timeout_s=asked.timeout_s)
    own = replace(asked, endpoint=chat.url, prompt_sha256=prompt.sha256)
    values = {"pool": pool, "queries": queries, "items": items, "guideline": guideline}
    given = Given({**values, "out": out, "as_json": as_json})
    pairs = given.queries_alone if rules.is_of_queries else read_pool(given.use(given.needed("pool")))
    tasks = make_tasks(pairs, given.queries, items=given.items_if_any, guideline=rules, overlap=0)
    refuse_unseen(tasks, given.queries, given.items_if_any, rules)
    media, folder = media_root(), given.out(f"machine/{asked.name}")
    requests, faults = requests_of(tasks, media, rules, n_samples=asked.samples)
    spending = Spending(asked.price, budget)
    parameters = own.settings | {"guideline": rules.name, "judge": asked.name, "samples": asked.samples}
    parameters |= {"send_media_to": send_media_to, "budget": budget, "price": asked.price}
    record = workspace_path(STORE) or Path(folder) / STORE
    with open_cache(record, Path(folder), own) as cache:
        if n_lost := cache.n_lost:
            words = f"{n_of(n_lost, 'request')} in flight when earlier runs were killed"
            say(f"note: {words}, which the server may have charged for; they are asked again")
        try:
            with chat, metered("answers", len(requests)) as meter:
                ask = asking(own, prompt, chat, media, spending)
                n_stored, n_left = ask_all(requests, own, cache, ask, spending=spending, report=meter)
        finally:
            table = machine_table(cache.rows, requests, own, faults=faults)
            n_ok = int((table["status"] == OK).sum())
            counts = {"answers": n_ok, "failed": len(table) - n_ok, "in_flight_when_killed": n_lost}
            given.write(folder / "machine.csv", {"machine.csv": table}, "machine run", parameters, counts)
    counts |= {"stored_before": n_stored, "not_asked": n_left}
    words, *further = run_in_words(table, own, counts, spending, folder)
    given.summarise(counts | {"cost": round(spending.money, 6), "tokens": spending.tokens}, words)
    for line in further:
        say(line)
    _say_check(asked.name)


def import_(
    scores: Annotated[str, Option(is_argument=True, metavar="SCORES.csv")],
    *,
    judge: Annotated[str | None, Option(metavar="NAME")] = None,
    backbone: Annotated[str, Option(metavar="NAME")] = "",
    out: _File = None,
    as_json: bool = False,
) -> None:
    """Read scores or labels that a machine gave elsewhere: CLIPScore, TIFA (`tifa --per pair`), any model.

    SCORES.csv has a column for the query, one for the doc, and a score, a label or both, by their usual
    names. A row with neither is a failure, never a 0.

    Args:
        scores: What the machine said.
        judge: The judge's name. [default: the file's name]
        backbone: The model's backbone, such as clip-vit-b32.
        out: A CSV, or a folder for machine.csv. [default: machine/NAME]
    """
    given = Given({"out": out, "as_json": as_json})
    name = judge or file_name(Path(scores).name.removesuffix(".gz").rpartition(".")[0])
    table = read_machine_scores(given.use(scores), name, backbone=backbone)
    if table.empty:
        raise UsageError(f"{scores}: no row below the header; expected a score or a label of each pair")
    place = given.out(f"machine/{name}/machine.csv")
    place = place if place.suffix in (".csv", ".tsv") and not place.is_dir() else place / "machine.csv"
    if writer_of(place.parent / "machine.csv").stage == "machine run":
        raise UsageError(f"{place.parent}: holds what `machine run` asked; give another name (--judge)")
    is_answer = table["status"] == OK
    counts = {"answers": int(is_answer.sum()), "failed": int((~is_answer).sum())}
    pool = given.path("pool", exists=True) if workspace_path("pool/pool.csv") else None
    if pool is not None:
        pairs = read_pool(given.use(pool))
        counts["pool_pairs_without_answer"] = int((pair_rows(pairs, table[is_answer]) < 0).sum())
    words = f"{n_of(counts['answers'], 'answer')} of {name} in {place}"
    if counts["failed"]:
        words += f"; {counts['failed']:,} rows with neither score nor label are failures"
    if left := counts.get("pool_pairs_without_answer"):
        words += f"; {n_of(left, 'pair')} of the pool without an answer"
    here, ids = Given(), {"queries": "query_id", "items_if_any": "doc_id"}  # no input of what is written
    known = {"label": ["", *read_guideline(own_guideline()).grades]} if workspace_path("") else {}
    is_there = {table: known and here.path(table.removesuffix("_if_any"), exists=True) for table in ids}
    known |= {name: getattr(here, table)[name] for table, name in ids.items() if is_there[table]}
    for column, there in known.items():
        if len(odd := table.loc[~table[column].isin(there), column]):
            words += f"; {len(odd):,} with a {column} that is not known here (such as {odd.iloc[0]!r})"
    about = {"judge": name, "backbone": backbone}
    given.write(place, {place.name: table}, "machine import", about, counts, words)
    _say_check(name)


def _say_check(judge: str) -> None:
    """Name the check of a judge; in a workspace without labels, which it needs, what comes next there."""
    if current_workspace() and made_file("labels/labels.csv") is None:
        say_following()
    else:
        say_next(f"machine check {judge}", "--labels LABELS")


COMMANDS = (run, import_)
machine = group_of(sys.modules[__name__])
machine.add_command(framed(machine_check), "check")
machine.add_command(machine.commands.pop("import"))  # after check, in the order of the work
