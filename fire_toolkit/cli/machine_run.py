"""`machine run`: a judge behind a chat-completions server."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.cli.asking import queries_alone
from fire_toolkit.cli.common import Range, json_option, n_of, say, say_next, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.media import media_root, root_option
from fire_toolkit.cli.meter import Meter
from fire_toolkit.cli.options import reads
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.table_files import read_pool
from fire_toolkit.machines.cache import Cache
from fire_toolkit.machines.chat import KEY_VARIABLE, Chat, Endpoint, checked_endpoint
from fire_toolkit.machines.judge import Judge, Request
from fire_toolkit.machines.pictures import Album, Pictures
from fire_toolkit.machines.prompt_files import read_prompt
from fire_toolkit.machines.prompts import Prompt, messages
from fire_toolkit.machines.run import Budget, Price, Spent, Tally, ask_all, asking
from fire_toolkit.machines.table import machine_table, media_of, requests_of
from fire_toolkit.tables import MachineJudgments
from fire_toolkit.tables.machine import OK


def file_name(name: str) -> str:
    """Return what a judge called so is named in files: letters, digits, dots and dashes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _price(ctx: click.Context, option: click.Parameter, text: str | None) -> Price | None:
    if text is None:
        return None
    try:
        tokens_in, tokens_out = (float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}, expected two numbers such as 0.15,0.60") from None
    return Price(tokens_in, tokens_out)


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
    "--prompt", metavar="FILE", help="How the question is asked. [default: machine.toml of the guideline]"
)
@root_option
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
@click.option(
    "--budget-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop at this many tokens, earlier runs included.",
)
@click.option("--out", metavar="DIR", help="[default: machine/NAME]")
@json_option
def run(given: Given, **options: Any) -> None:
    """Ask a model behind an OpenAI-compatible server (vLLM, llama.cpp, Ollama, a vendor) about each pair.

    It gets the caption as data and the image, or frames of the clip, and must answer one word; anything else
    is a failure with its reason. Answers are kept in machine/NAME as they come: after a kill or an error the
    same command goes on, and asks only what is not stored. A key comes from the environment
    (FIRE_MACHINE_KEY).
    """
    _ask(given, _prepare(given, options), options)


@dataclass(frozen=True)
class _Work:
    """Everything that is decided before the first request is sent."""

    endpoint: Endpoint
    prompt: Prompt
    judge: Judge
    judge_id: str
    backbone: str
    folder: Path
    root: Path
    requests: list[Request]
    faults: dict[tuple[str, str], str]
    budget: Budget
    at_once: int
    timeout_s: float

    def parameters(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return what the manifest keeps."""
        kept = ("samples", "send_media_to", "budget", "budget_tokens")
        price = self.budget.price
        record = {**self.judge.record, "guideline": self.prompt.guideline, "judge": self.judge_id}
        record |= {name: options[name] for name in kept}
        return record | {"price": [price.tokens_in, price.tokens_out] if price else None}


def _prepare(given: Given, options: dict[str, Any]) -> _Work:
    if options["samples"] > 1 and not options["temperature"]:
        raise UsageError("--samples above 1 needs a --temperature above 0: at 0 all samples are one answer")
    key = os.environ.get(KEY_VARIABLE, "").strip()
    endpoint = checked_endpoint(options["endpoint"], key=key, send_media_to=options["send_media_to"])
    name = setting_or_default(given.values["guideline"], "tasks", "guideline")
    prompt, rules = read_prompt(name, file=options["prompt"])
    judge = Judge(
        endpoint.url,
        options["model"],
        options["revision"],
        prompt.sha256,
        options["temperature"],
        options["longest_answer"],
        options["logprobs"],
        options["frames"],
        options["frame_px"],
    )
    judge_id = options["judge_id"] or file_name(options["model"])
    pool = queries_alone(given) if rules.is_of_queries else read_pool(given.use(given.needed("pool")))
    tasks = make_tasks(pool, given.queries, items=given.items_if_any, guideline=rules, overlap=0)
    root = media_root(options["root"])
    hashes, faults = media_of(tasks, root, rules)
    return _Work(
        endpoint,
        prompt,
        judge,
        judge_id,
        options["backbone"],
        given.out(f"machine/{judge_id}"),
        root,
        requests_of(tasks, hashes, n_samples=options["samples"], are_texts=rules.shows_texts),
        faults,
        Budget(options["price"], options["budget"], options["budget_tokens"]),
        options["at_once"],
        options["timeout"],
    )


def _ask(given: Given, work: _Work, options: dict[str, Any]) -> None:
    with Cache(work.folder, work.judge) as cache:
        if cache.n_lost:
            say(
                f"note: {n_of(cache.n_lost, 'request')} in flight when earlier runs were killed: the server "
                "may have answered, and charged for, answers that are not here; they are asked again"
            )
        try:
            tally, spent = _asked(work, cache)
        finally:
            table = machine_table(
                cache.rows,
                work.requests,
                work.judge,
                judge_id=work.judge_id,
                backbone=work.backbone,
                faults=work.faults,
            )
            given.write(
                work.folder / "machine.csv",
                {"machine.csv": table},
                "machine run",
                work.parameters(options),
                _counts(table, cache.n_lost),
            )
    counts = _counts(table, cache.n_lost) | {"stored_before": tally.n_stored, "not_asked": tally.n_left}
    counts |= {"cost": round(spent.money, 6), "tokens": spent.tokens}
    given.summarise(counts, _words(work, counts, tally, spent))
    _say_failures(table)
    if (table["status"] == OK).any() and table["score"].isna().all() and work.judge.wants_logprobs:
        say("note: the server gives no probabilities of tokens: there are labels, and no P(yes)")
    if (versions := table["revision"].nunique()) > 1:
        say(f"note: the server named {versions} versions of itself (column revision): answers may differ")
    say_next(f"machine check {work.judge_id}", "--labels LABELS")


def _asked(work: _Work, cache: Cache) -> tuple[Tally, Spent]:
    album = Album(work.root, n_frames=work.judge.n_frames, frame_px=work.judge.frame_px)

    def content(request: Request) -> tuple[list[dict[str, Any]], str, str]:
        pictures, reference = (album.pictures(url) for url in (request.media_url, request.reference_url))
        sent = messages(
            work.prompt, request.caption, pictures.shown, reference.shown, item_text=request.item_text
        )
        return sent, pictures.frames, Pictures(reference.shown + pictures.shown).sha256

    with (
        Chat(work.endpoint, work.prompt, timeout_s=work.timeout_s) as chat,
        Meter("answers", len(work.requests)) as meter,
    ):
        ask = asking(work.judge, chat.ask, content, work.budget.price)
        return ask_all(
            work.requests, work.judge, cache, ask, budget=work.budget, at_once=work.at_once, report=meter
        )


def _counts(table: MachineJudgments, n_lost: int) -> dict[str, Any]:
    is_ok = table["status"] == OK
    return {"answers": int(is_ok.sum()), "failed": int((~is_ok).sum()), "in_flight_when_killed": n_lost}


def _words(work: _Work, counts: dict[str, Any], tally: Tally, spent: Spent) -> str:
    words = f"{n_of(counts['answers'], 'answer')} of {work.judge_id} in {work.folder}"
    words += f" ({tally.n_stored:,} were there before); {counts['failed']:,} failed"
    if spent.tokens:
        money = f", cost {spent.money:,.4f}" if work.budget.price else ""
        words += f"; {spent.tokens:,} tokens{money} so far"
    if tally.n_left:
        words += f"; {tally.stopped or 'stopped'}: {tally.n_left:,} not asked"
    return words


def _say_failures(table: MachineJudgments) -> None:
    reasons = table.loc[table["status"] != OK, "reason"].value_counts()
    for reason, number in reasons.head(5).items():
        say(f"failed {number:,} times: {reason}")
    if len(reasons) > 5:
        say(f"and {len(reasons) - 5:,} further reasons: see machine.csv")
