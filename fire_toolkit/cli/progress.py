"""`progress`: how far everybody is, and how well it goes."""

import json
import math
from collections.abc import Mapping
from typing import Any

import click

from fire_toolkit.agreement.annotators import LiveQuality, item_seconds, live_quality
from fire_toolkit.campaign.progress import measure_progress, with_total
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.cli.asking_readers import level_of
from fire_toolkit.cli.campaigns import begun_campaign, begun_here, private_folder
from fire_toolkit.cli.common import draw_rows, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import say_next
from fire_toolkit.formats.tables.table_files import read_items
from fire_toolkit.labelstudio.accounts import read_register


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
        return
    campaign = begun_campaign()
    rules = campaign.guideline
    queues = with_total(measure_progress(campaign.store, guideline=rules)).to_dict("records")
    judgments = record_to_judgments(campaign.store, guideline=rules).judgments
    reported = campaign.store.table("select * from reported")
    items = Given().path("items")
    quality = live_quality(
        judgments,
        grades=rules.grades,
        level=level_of(rules),
        lengths_s=item_seconds(read_items(items)) if items else None,
    )
    if as_json:
        records = [_record(queue, quality, states) for queue in queues]
        records[-1] |= {"reported": reported.to_dict("records")} if len(reported) else {}
        click.echo(json.dumps(records))
        return
    people = quality.people[quality.people["n_votes"] > 0].to_dict("records")
    draw_rows([_cells(queue) for queue in queues], _HEADS)
    if people:
        click.echo()
        draw_rows([_beside(row) for row in people], _HEADS_OF_PEOPLE)
    if states:
        click.echo()
        _show_accounts(states, as_json=False)
    for line in quality.words:
        say(line)
    for doc, _, n, by in reported.itertuples(index=False, name=None):
        say(f"look at item {doc}: skipped or reported {n_of(n, 'time')}, by {by}")


def _show_accounts(states: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"annotator_id": name, "state": state} for name, state in states.items()]))
    else:
        draw_rows([*states.items()], ["account", "state"], align="left")


_PEOPLE = ["n_votes", "positive_rate", "n_shared", "shared_positive_rate", "peer_positive_rate"]
_PEOPLE += ["peer_agreement", "shared_duration_s", "peer_duration_s", "n_timed", "n_faster"]


def _record(queue: Mapping[Any, Any], quality: LiveQuality, states: Mapping[str, str]) -> dict[str, Any]:
    """Return what is known of a queue and its annotator, or of all, as JSON has it: nothing for nan."""
    counts, more, name = dict(queue), dict[str, Any](), queue["annotator_id"]
    if not queue["round"]:
        alpha = quality.alpha
        counts |= {"alpha": alpha.value, "alpha_low": alpha.low, "alpha_high": alpha.high}
        counts |= {"n_pairable": quality.n_pairable, "prevalence": quality.prevalence}
        more = {"alarms": quality.alarms.to_dict("records")}
    else:
        own = quality.people[_PEOPLE][quality.people["annotator_id"] == name]
        counts |= own.iloc[0].to_dict() if len(own) else {}
        more = {"state": states[name]} if name in states else {}
    plain = {
        key: None if value != value else int(value) if key.startswith("n_") else value
        for key, value in counts.items()
    }
    return plain | more


_HEADS_OF_PEOPLE = ["annotator", "votes", "shared pairs", "agreement", "positive", "others' positive"]
_HEADS_OF_PEOPLE += ["s", "others' s"]


def _beside(row: Mapping[Any, Any]) -> list[str]:
    """Return an annotator beside the others."""
    shares = [row[name] for name in ("peer_agreement", "shared_positive_rate", "peer_positive_rate")]
    cells = [str(row["annotator_id"]), f"{row['n_votes']:,}", f"{row['n_shared']:,}"]
    cells += ["" if math.isnan(share) else f"{share:.2f}" for share in shares]
    return [*cells, _number(row["shared_duration_s"]), _number(row["peer_duration_s"])]


_HEADS = ["annotator", "round", "tasks", "done", "left", "training left", "skipped", "escalated"]
_HEADS += ["s/judgment", "judgments/h", "hours left", "controls right"]


_COUNTS = ["n_tasks", "n_done", "n_left", "n_training_left", "n_skipped", "n_escalated"]


def _cells(queue: Mapping[Any, Any]) -> list[str]:
    """Return a queue's numbers."""
    seconds = queue["seconds"]
    pace = (seconds, 3600 / seconds if seconds else math.nan, queue["hours_left"])
    right = f"{queue['n_right']} of {queue['n_controls']}" if queue["n_controls"] else ""
    who = [queue["annotator_id"], str(queue["round"] or "")]
    return [*who, *(f"{queue[name]:,}" for name in _COUNTS), *map(_number, pace), right]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.1f}"
