"""What annotators have earned, by the seconds that were measured."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from fire_toolkit.campaign.ledger import DELETED, Ledger, latest_answers
from fire_toolkit.campaign.ledger_judgments import classify_answers
from fire_toolkit.campaign.progress import left_pairs
from fire_toolkit.campaign.records import Round

_COLUMNS = ["annotator_id", "round", "n_answers", "n_untimed", "n_capped", "seconds", "pay", "is_done"]


def pay_of(rounds: Sequence[Round], ledger: Ledger, *, hourly: float, longest_s: float) -> pd.DataFrame:
    """Return what each annotator has earned in each round.

    Args:
        rounds: what was asked of whom.
        ledger: all rows.
        hourly: pay for 3,600 seconds.
        longest_s: an answer that took longer counts as so long: the page was left open.

    Returns:
        By annotator_id and round: n_answers (skips, training and controls too; each once, however often it
        was changed), n_untimed (of these, without a time: they count as the annotator's median, else
        everybody's), n_capped, seconds, pay (to the cent; nan where no answer at all is timed), is_done
        (nothing of what was given is left). Deleted answers do not count. Who answered pairs of somebody
        else's is paid too.
    """
    answers = classify_answers(latest_answers(ledger), rounds)
    answers = answers[(answers["state"] != DELETED) & (answers["annotator_id"] != "")]
    taken = pd.to_numeric(pd.Series([json.loads(text).get("lead_time") for text in answers["answer"]]))
    table = pd.DataFrame(
        {
            "annotator_id": answers["annotator_id"].to_numpy(),
            "round": answers["round"].to_numpy(),
            "taken_s": taken.where(taken >= 0).to_numpy(dtype="float64"),
        }
    )
    capped = table["taken_s"].clip(upper=longest_s)
    usual = capped.groupby(table["annotator_id"]).transform("median").fillna(capped.median())
    table = table.assign(
        n_answers=1,
        n_untimed=table["taken_s"].isna(),
        n_capped=table["taken_s"] > longest_s,
        seconds=capped.fillna(usual),
    )
    sums = table.groupby(["annotator_id", "round"], as_index=False).agg(
        n_answers=("n_answers", "sum"),
        n_untimed=("n_untimed", "sum"),
        n_capped=("n_capped", "sum"),
        seconds=("seconds", lambda values: values.sum(skipna=False)),
    )
    left = {(name, number) for number, pairs in left_pairs(ledger, rounds).items() for name, _ in pairs}
    given = {(name, entry.number) for entry in rounds for name in entry.given["annotator_id"]}
    keys = list(zip(sums["annotator_id"], sums["round"], strict=True))
    done = [key in given and key not in left for key in keys]
    return sums.assign(pay=(sums["seconds"] / 3600 * hourly).round(2), is_done=done)[_COLUMNS]
