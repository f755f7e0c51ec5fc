"""How well a campaign goes while people judge: for `progress`, and for the team's page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.agreement.live import LEAST_AGREEMENT, LiveQuality, live_quality
from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
from fire_toolkit.campaign.progress import QueueProgress, total_progress
from fire_toolkit.campaign.records import PAUSED, away
from fire_toolkit.campaign.team_page import PagePerson, TeamPage, team_page
from fire_toolkit.cli.campaigns import Begun, begun_here
from fire_toolkit.cli.common import named_file, setting_or_default
from fire_toolkit.cli.extending import judgments_now
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.standing import queues_now
from fire_toolkit.formats.tables.table_files import read_items
from fire_toolkit.workspace.config import BY_GUIDELINE

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


@dataclass(frozen=True)
class Look:
    """A campaign as it stands: the progress of its queues, and the quality of its answers."""

    campaign: Begun
    least_agreement: float = LEAST_AGREEMENT

    @cached_property
    def queues(self) -> list[QueueProgress]:
        """The progress of each queue."""
        return queues_now(self.campaign.root, self.campaign.guideline)

    @cached_property
    def quality(self) -> LiveQuality:
        """Agreement, annotators and alarms, of the judgments that the ledger holds now."""
        rules = self.campaign.guideline
        level = str(setting_or_default(None, "agree", "level"))
        campaign = self.campaign
        judgments = judgments_now(campaign.root, campaign.root / "judgments" / "judgments.csv", rules)
        if judgments is None:
            judgments = ledger_to_judgments(campaign.ledger, campaign.rounds, guideline=rules).judgments
        return live_quality(
            judgments,
            grades=rules.grades,
            level=rules.level if level == BY_GUIDELINE else level,
            lengths_s=_lengths(),
            least_agreement=self.least_agreement,
        )

    def record(self, queue: QueueProgress) -> dict[str, Any]:
        """Return what there is to say of a queue's annotator, or of all, as JSON has it."""
        if queue.annotator_id == "all" and queue.round == 0:
            alpha = self.quality.alpha
            values = {"alpha": alpha.value, "alpha_low": alpha.low, "alpha_high": alpha.high}
            values |= {"n_pairable": self.quality.n_pairable, "prevalence": self.quality.prevalence}
            return plain(values) | {"alarms": self.quality.alarms.to_dict("records")}
        rows = self.quality.people
        own = rows.loc[rows["annotator_id"] == queue.annotator_id, list(_PEOPLE)]
        return plain(own.iloc[0].to_dict()) if len(own) else {}


def plain(values: dict[Any, Any]) -> dict[str, Any]:
    """Return values as JSON has them: nothing where there is not a number."""
    return {
        str(key): None if isinstance(value, float) and math.isnan(value) else _whole(key, value)
        for key, value in values.items()
    }


def _whole(key: object, value: Any) -> Any:
    return int(value) if str(key).startswith("n_") else value


def _lengths() -> pd.Series | None:
    """Return doc_id → seconds of the workspace's items: end_s − start_s, or a column duration_s."""
    path = named_file("items")
    items = read_items(path) if path else pd.DataFrame()
    if {"start_s", "end_s"} <= set(items.columns) and items["end_s"].notna().any():
        seconds = items["end_s"] - items["start_s"]
    elif "duration_s" in items.columns:
        seconds = pd.to_numeric(items["duration_s"], errors="coerce")
    else:
        return None
    return pd.Series(seconds.to_numpy(), index=items["doc_id"])


def write_page(look: Look, path: Path, *, reload_s: int = 0) -> None:
    """Write the team's page as one change, with its manifest."""
    Inputs().write(path, {path.name: team_page(_page(look, reload_s))}, "progress", {})


def refresh_page(path: Path | None, *, reload_s: int = 0) -> None:
    """Write the team's page of the campaign here, where one is wanted and a campaign has begun."""
    campaign = begun_here() if path else None
    if path and campaign:
        write_page(Look(campaign), path, reload_s=reload_s)


def _page(look: Look, reload_s: int) -> TeamPage:
    campaign = look.campaign
    alarms = look.quality.alarms
    return TeamPage(
        title=f"{campaign.root.resolve().name} · {campaign.campaign.guideline}",
        updated_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        tiles=_tiles(look.queues, look.quality),
        queues=look.queues,
        people=_people(look),
        alarms=list(zip(alarms["annotator_id"], alarms["words"], strict=True)),
        notes=[
            note for note in (look.quality.alpha.note,) if note and not math.isnan(look.quality.alpha.value)
        ],
        reload_s=reload_s,
    )


def _tiles(queues: Sequence[QueueProgress], quality: LiveQuality) -> list[tuple[str, str, str]]:
    total = total_progress(queues)
    done, alpha = total.n_done + total.n_skipped, quality.alpha
    share = f"{100 * done / total.n_tasks:.0f}% of {total.n_tasks:,} tasks" if total.n_tasks else ""
    right = (
        f"{total.n_right} of {total.n_controls} answers" if total.n_controls else "no control answered yet"
    )
    interval = f"95%: {alpha.low:.2f} to {alpha.high:.2f}; " if not math.isnan(alpha.low) else ""
    return [
        ("Answered", f"{done:,}", share),
        ("Hours left", _or_dash(total.hours_left, ".1f"), "for everybody together, at the pace so far"),
        (
            "Alpha so far",
            _or_dash(alpha.value, ".2f"),
            f"{interval}{quality.n_pairable:,} pairs judged twice",
        ),
        ("Positive", _or_dash(100 * quality.prevalence, ".0f", "%"), "of the pairs judged so far"),
        ("Controls right", _or_dash(100 * total.control_accuracy, ".0f", "%"), right),
    ]


def _or_dash(value: float, form: str, unit: str = "") -> str:
    return "–" if math.isnan(value) else f"{value:{form}}{unit}"


def _people(look: Look) -> dict[str, PagePerson]:
    retired, paused = look.campaign.retired, away(look.campaign.root, PAUSED)
    names = {queue.annotator_id for queue in look.queues}
    states = {name: "retired" if name in retired else "paused" if name in paused else "" for name in names}
    nan = math.nan
    people = {name: PagePerson(0, nan, nan, nan, nan, nan, 0, state) for name, state in states.items()}
    row: dict[Any, Any]
    for row in look.quality.people.to_dict("records"):
        name = str(row["annotator_id"])
        people[name] = PagePerson(
            n_votes=row["n_votes"],
            positive=row["shared_positive_rate"],
            peer_positive=row["peer_positive_rate"],
            seconds=row["shared_duration_s"],
            peer_seconds=row["peer_duration_s"],
            agreement=row["peer_agreement"],
            n_shared=row["n_shared"],
            state=states.get(name, ""),
        )
    return people
