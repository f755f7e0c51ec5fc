"""`machine run`: a judge behind a chat-completions server."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.cli.common import Range, json_option, n_of, say, say_next, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.media import media_root
from fire_toolkit.cli.meter import Meter
from fire_toolkit.cli.options import reads
from fire_toolkit.cli.readers import queries_alone
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.table_files import read_pool
from fire_toolkit.machines.cache import Cache
from fire_toolkit.machines.chat import KEY_VARIABLE, Chat, checked_endpoint
from fire_toolkit.machines.judge import Judge
from fire_toolkit.machines.prompts import read_prompt
from fire_toolkit.machines.run import Spending, ask_all, asking
from fire_toolkit.machines.table import machine_table, requests_of
from fire_toolkit.tables import MachineJudgments
from fire_toolkit.tables.machine import OK


def file_name(name: str) -> str:
    """Return what a judge called so is named in files: letters, digits, dots and dashes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _price(ctx: click.Context, option: click.Parameter, text: str | None) -> tuple[float, float] | None:
    try:
        tokens_in, tokens_out = (float(part) for part in text.split(",")) if text else (0.0, 0.0)
    except ValueError:
        raise click.BadParameter(f"{text!r}, expected two numbers such as 0.15,0.60") from None
    return (tokens_in, tokens_out) if text else None


@click.command()
@click.option(
    "--endpoint", required=True, metavar="URL", help="The server's API, such as http://127.0.0.1:8000/v1."
)
@click.option("--model", required=True, metavar="NAME", help="The model, as the server calls it.")
@click.option("--judge", "judge_id", metavar="NAME", help="The judge's name. [default: the model's name]")
@click.option(
    "--revision", default="", metavar="TEXT", help="The model's version; part of the judge's identity."
)
@click.option("--backbone", default="", metavar="NAME", help="The model's backbone, such as siglip-so400m.")
@reads("queries", "items", "guideline", pool="The pairs to ask about: a pool, or any table of pairs.")
@click.option(
    "--frames", type=click.IntRange(1, 64), default=8, show_default=True, help="Frames shown of a clip."
)
@click.option(
    "--frame-px",
    type=click.IntRange(64, 4096),
    default=512,
    show_default=True,
    help="Longer side of a frame, in pixels.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 99),
    default=1,
    show_default=True,
    help="Answers asked for each pair; more than one needs a temperature.",
)
@click.option(
    "--temperature", type=Range(0, 2), default=0.0, show_default=True, help="0: always the likeliest answer."
)
@click.option(
    "--longest-answer",
    type=click.IntRange(1, 100_000),
    default=8,
    show_default=True,
    help="Tokens of an answer; models that reason first need more.",
)
@click.option("--logprobs/--no-logprobs", default=True, help="Ask for probabilities, which P(yes) needs.")
@click.option(
    "--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests in flight."
)
@click.option(
    "--timeout", type=Range(min=0.1), default=120.0, show_default=True, help="Seconds to wait for an answer."
)
@click.option(
    "--send-media-to",
    metavar="HOST",
    help="Captions and media may leave this machine for this host; kept in the manifest.",
)
@click.option(
    "--price",
    callback=_price,
    metavar="IN,OUT",
    help="Price of a million tokens: of the question, of the answer.",
)
@click.option(
    "--budget", type=Range(min=0), metavar="MONEY", help="Stop at this cost, earlier runs included."
)
@click.option("--out", metavar="DIR", help="[default: machine/NAME]")
@json_option
def run(given: Given, judge_id: str | None, **options: Any) -> None:
    """Ask a model behind an OpenAI-compatible server (vLLM, llama.cpp, Ollama, a vendor) about each pair.

    It gets the caption as data and the image, or frames of the clip, and must answer one word; anything else
    is a failure with its reason. Answers are kept in machine/NAME as they come: after a kill or an error the
    same command goes on, and asks only what is not stored. A key comes from the environment
    (FIRE_MACHINE_KEY).
    """
    _refuse_odd(options)
    key = os.environ.get(KEY_VARIABLE, "").strip()
    endpoint = checked_endpoint(options["endpoint"], key=key, send_media_to=options["send_media_to"])
    prompt, rules = read_prompt(setting_or_default(given.values["guideline"], "tasks", "guideline"))
    of_judge = ("model", "revision", "temperature", "longest_answer", "frame_px")
    judge = Judge(
        endpoint=endpoint.url,
        prompt_sha256=prompt.sha256,
        wants_logprobs=options["logprobs"],
        n_frames=options["frames"],
        **{name: options[name] for name in of_judge},
    )
    judge_id = judge_id or file_name(options["model"])
    pool = queries_alone(given) if rules.is_of_queries else read_pool(given.use(given.needed("pool")))
    tasks = make_tasks(pool, given.queries, items=given.items_if_any, guideline=rules, overlap=0)
    root, folder = media_root(), given.out(f"machine/{judge_id}")
    requests, faults = requests_of(tasks, root, rules, n_samples=options["samples"])
    spending = Spending(options["price"], options["budget"])
    kept = ("samples", "send_media_to", "budget", "price")
    parameters = asdict(judge) | {"guideline": rules.name, "judge": judge_id}
    parameters |= {name: options[name] for name in kept}
    with Cache(folder, judge) as cache:
        n_lost = cache.n_lost
        if n_lost:
            say(
                f"note: {n_of(n_lost, 'request')} in flight when earlier runs were killed: the server "
                "may have answered, and charged for, answers that are not here; they are asked again"
            )
        try:
            with (
                Chat(endpoint, prompt, timeout_s=options["timeout"]) as chat,
                Meter("answers", len(requests)) as meter,
            ):
                ask = asking(judge, prompt, chat, root, spending)
                of_run = {"spending": spending, "at_once": options["at_once"], "report": meter}
                n_stored, n_left = ask_all(requests, judge, cache, ask, **of_run)
        finally:
            named = {"judge_id": judge_id, "backbone": options["backbone"], "faults": faults}
            table = machine_table(cache.rows(), requests, judge, **named)
            n_ok = int((table["status"] == OK).sum())
            counts = {"answers": n_ok, "failed": len(table) - n_ok, "in_flight_when_killed": n_lost}
            contents = {"machine.csv": table}
            given.write(folder / "machine.csv", contents, "machine run", parameters, counts)
    counts |= {"stored_before": n_stored, "not_asked": n_left}
    _summarise(given, table, spending, counts, folder, judge_id)
    if n_ok and table["score"].isna().all() and judge.wants_logprobs:
        say("note: the server gives no probabilities of tokens: there are labels, and no P(yes)")
    if (versions := table["revision"].nunique()) > 1:
        say(f"note: the server named {versions} versions of itself (column revision): answers may differ")
    say_next(f"machine check {judge_id}", "--labels LABELS")


def _refuse_odd(options: dict[str, Any]) -> None:
    """Raise a UsageError for options that need another one."""
    if options["samples"] > 1 and not options["temperature"]:
        raise UsageError("--samples above 1 needs a --temperature above 0: at 0 all samples are one answer")
    if options["budget"] is not None and options["price"] is None:
        raise UsageError("--budget needs --price IN,OUT, what a million tokens of each kind cost")


def _summarise(
    given: Given,
    table: MachineJudgments,
    spending: Spending,
    counts: dict[str, Any],
    folder: Path,
    judge_id: str,
) -> None:
    counts = counts | {"cost": round(spending.money, 6), "tokens": spending.tokens}
    words = f"{n_of(counts['answers'], 'answer')} of {judge_id} in {folder}"
    words += f" ({counts['stored_before']:,} were there before); {counts['failed']:,} failed"
    if spending.tokens:
        money = f", cost {spending.money:,.4f}" if spending.price else ""
        words += f"; {spending.tokens:,} tokens{money} so far"
    if counts["not_asked"]:
        words += f"; the budget is spent: {counts['not_asked']:,} not asked"
    given.summarise(counts, words)
    reasons = table.loc[table["status"] != OK, "reason"].value_counts()
    for reason, number in reasons.head(5).items():
        say(f"failed {number:,} times: {reason}")
    if len(reasons) > 5:
        say(f"and {len(reasons) - 5:,} further reasons: see machine.csv")
