"""`progress`: how far everybody is, and how well it goes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from fire_toolkit.agreement.live import LiveQuality, item_seconds, live_quality
from fire_toolkit.campaign.progress import QueueProgress, measure_progress, total_progress
from fire_toolkit.campaign.views import reported_items
from fire_toolkit.campaign.written import judgments_now
from fire_toolkit.cli.campaigns import Begun, begun_campaign, begun_here
from fire_toolkit.cli.common import n_of, named_file, say, say_next, setting_or_default
from fire_toolkit.cli.server_options import private_folder
from fire_toolkit.formats.tables.table_files import read_items
from fire_toolkit.labelstudio.register import read_register
from fire_toolkit.results import drawn_text
from fire_toolkit.workspace.config import BY_GUIDELINE


def progress(*, as_json: bool) -> None:
    """Show a campaign's progress and quality: tasks, pace, agreement, controls, what to look into.

    Counts what the ledger holds: `pull` first. It shows alpha of the first answers so far, and each annotator
    beside the others on the pairs that they share. Alarms are reasons to look: answers faster than the item
    lasts (where `items` say start_s and end_s, or duration_s), one answer to everything, agreement below 70%
    with others on 10 shared pairs or more. Accounts on a server are listed with their states.

    """
    states = {row.pseudonym: row.state for row in read_register(private_folder())}
    if states and begun_here() is None:
        _show_accounts(states, as_json=as_json)
        say_next("push")
    else:
        _show(begun_campaign(), states, as_json=as_json)


def _show(campaign: Begun, states: Mapping[str, str], *, as_json: bool) -> None:
    rules, level = campaign.guideline, str(setting_or_default(None, "agree", "level"))
    with campaign.store() as store:
        queues = measure_progress(store, guideline=rules)
        file = campaign.root / "judgments" / "judgments.csv"
        judgments = judgments_now(store, file, guideline=rules)[0].judgments
        reported = reported_items(store)
    items = named_file("items")
    quality = live_quality(
        judgments,
        grades=rules.grades,
        level=rules.level if level == BY_GUIDELINE else level,
        lengths_s=item_seconds(read_items(items)) if items else None,
    )
    both = [*queues, total_progress(queues)]
    if as_json:
        records = [_record(queue, quality, states) for queue in both]
        records[-1] |= {"reported": reported.to_dict("records")} if len(reported) else {}
        click.echo(json.dumps(records))
        return
    click.echo(drawn_text([_cells(queue) for queue in both], _HEADER, "table"), nl=False)
    people = quality.people[quality.people["n_votes"] > 0]
    if len(people):
        rows = [_beside(row) for row in people.to_dict("records")]
        click.echo("\n" + drawn_text(rows, _BESIDE, "table"), nl=False)
    if states:
        click.echo()
        _show_accounts(states, as_json=False)
    alpha = quality.alpha
    if math.isnan(alpha.value):
        say(f"no alpha yet: {alpha.note}")
    else:
        interval = "" if math.isnan(alpha.low) else f" (95%: {alpha.low:.3f} to {alpha.high:.3f})"
        say(f"alpha so far {alpha.value:.3f}{interval}, of {n_of(quality.n_pairable, 'pair')} judged twice")
        if alpha.note:
            say(f"note: {alpha.note}")
    for name, words in zip(quality.alarms["annotator_id"], quality.alarms["words"], strict=True):
        say(f"look into {name}: {words}")
    for doc, _, n, people in reported.itertuples(index=False, name=None):
        say(f"look at item {doc}: skipped or reported {n:,} times, by {people}")


def _show_accounts(states: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"annotator_id": name, "state": state} for name, state in states.items()]))
    else:
        click.echo(drawn_text([*states.items()], ["account", "state"], "table", align="left"), nl=False)


_PEOPLE = (
    "n_votes",
    "positive_rate",
    "n_shared",
    "shared_positive_rate",
    "peer_positive_rate",
    "peer_agreement",
    "shared_duration_s",
    "peer_duration_s",
    "n_timed",
    "n_faster",
)


def _record(queue: QueueProgress, quality: LiveQuality, states: Mapping[str, str]) -> dict[str, Any]:
    """Return what is known of a queue and its annotator, or of all, as JSON has it."""
    counts = asdict(queue) | {"control_accuracy": queue.control_accuracy}
    if queue.annotator_id == "all" and queue.round == 0:
        alpha = quality.alpha
        counts |= {"alpha": alpha.value, "alpha_low": alpha.low, "alpha_high": alpha.high}
        counts |= {"n_pairable": quality.n_pairable, "prevalence": quality.prevalence}
        return _plain(counts) | {"alarms": quality.alarms.to_dict("records")}
    rows = quality.people
    own = rows.loc[rows["annotator_id"] == queue.annotator_id, list(_PEOPLE)]
    state = {"state": states[queue.annotator_id]} if queue.annotator_id in states else {}
    return _plain(counts | (own.iloc[0].to_dict() if len(own) else {})) | state


def _plain(values: dict[Any, Any]) -> dict[str, Any]:
    """Return values as JSON has them: nothing where there is not a number."""
    return {
        key: None if value != value else int(value) if key.startswith("n_") else value
        for key, value in values.items()
    }


_BESIDE = (
    "annotator",
    "votes",
    "shared pairs",
    "agreement",
    "positive",
    "others' positive",
    "s",
    "others' s",
)


def _beside(row: Mapping[Any, Any]) -> list[str]:
    shares = (row[name] for name in ("peer_agreement", "shared_positive_rate", "peer_positive_rate"))
    return [
        str(row["annotator_id"]),
        f"{row['n_votes']:,}",
        f"{row['n_shared']:,}",
        *("" if math.isnan(share) else f"{share:.2f}" for share in shares),
        _number(row["shared_duration_s"]),
        _number(row["peer_duration_s"]),
    ]


_HEADER = (
    "annotator",
    "round",
    "tasks",
    "done",
    "left",
    "training left",
    "skipped",
    "escalated",
    "s/judgment",
    "judgments/h",
    "hours left",
    "controls right",
)


def _cells(queue: QueueProgress) -> Sequence[str]:
    numbers = (queue.n_tasks, queue.n_done, queue.n_left, queue.n_training_left, queue.n_skipped)
    controls = f"{queue.n_right} of {queue.n_controls}" if queue.n_controls else ""
    return [
        queue.annotator_id,
        str(queue.round or ""),
        *(f"{n:,}" for n in (*numbers, queue.n_escalated)),
        _number(queue.seconds),
        _number(3600 / queue.seconds if queue.seconds else math.nan),
        _number(queue.hours_left),
        controls,
    ]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.1f}"
