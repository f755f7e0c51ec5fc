"""How well a campaign goes while people judge, for `progress`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from fire_toolkit.agreement.live import LEAST_AGREEMENT, LiveQuality, live_quality
from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
from fire_toolkit.campaign.progress import QueueProgress, measure_progress
from fire_toolkit.cli.campaigns import Begun
from fire_toolkit.cli.common import named_file, setting_or_default
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
        campaign = self.campaign
        return measure_progress(campaign.rounds, campaign.ledger, guideline=campaign.guideline)

    @cached_property
    def quality(self) -> LiveQuality:
        """Agreement, annotators and alarms, of the judgments that the ledger holds now."""
        rules = self.campaign.guideline
        level = str(setting_or_default(None, "agree", "level"))
        campaign = self.campaign
        found = ledger_to_judgments(campaign.ledger, campaign.rounds, guideline=rules)
        return live_quality(
            found.judgments,
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
