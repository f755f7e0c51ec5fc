"""Pairs that are chosen and not planned, asked again as a round: marked, doubted, or named by a strategy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.queues import ADJUDICATION
from fire_toolkit.campaign.records import BY_HAND, Round
from fire_toolkit.campaign.rounds import assign_next_round
from fire_toolkit.cli.campaigns import Begun, active_annotators, begin, begun_here, deliver_files, handed_to
from fire_toolkit.cli.common import n_of, say, say_next, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import next_number
from fire_toolkit.cli.machine_check import judge_file
from fire_toolkit.cli.machine_scores import scores_of_judge
from fire_toolkit.cli.new_pairs import pool_by
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.resolution.plan import FOURTH_VOTE
from fire_toolkit.tables import Pool, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import RECHECK

LEAST_DOUBT = 0.9


def ask_marked(given: Given, marked: Path, annotators: tuple[str, ...]) -> None:
    """Ask another vote on the judged pairs of a file, as a round of class recheck."""
    table = read_delimited(given.use(marked), required=PAIR)[PAIR].drop_duplicates(ignore_index=True)
    is_judged = pair_rows(table, given.judgments) >= 0
    if lost := int((~is_judged).sum()):
        first = " ".join(table.loc[~is_judged].iloc[0])
        say(f"note: {n_of(lost, 'pair')} of {marked} left out, which nobody judged (first: {first})")
    if not is_judged.any():
        raise UsageError(f"{marked}: none of its pairs was judged, so there is no label to look at again")
    _recheck(given, table[is_judged], annotators, {"recheck": marked.name})


def ask_doubts(given: Given, judge: str | None, budget: int | None, annotators: tuple[str, ...]) -> None:
    """Ask another vote on labels that a machine judge considers wrong, as a round of class recheck.

    Suggestions, and no more: a judge may be wrong, and its doubts are no sample. The doubt in a positive
    label is 1 − P(yes), in another one P(yes); pairs without a score are not doubted.

    budget: so many, the most doubtful first; None: all.
    """
    judge = judge or judge_file(None).parent.name
    labels, scores = given.labels, scores_of_judge(given, judge)
    known = scores["score"].dropna()
    if not known.between(0, 1).all():
        raise UsageError(
            f"scores lie between {known.min():g} and {known.max():g}; doubts need probabilities, from 0 to 1"
        )
    pairs = labels[[*PAIR, "relevance"]].merge(scores, on=PAIR)
    pairs["doubt"] = pairs["score"].mask(pairs["relevance"] >= 1, 1 - pairs["score"])
    found = pairs[pairs["doubt"] >= LEAST_DOUBT].sort_values(["doubt", *PAIR], ascending=[False, True, True])
    n = n_of(len(found), "label")
    say(f"{n} doubted by judge {judge} at {LEAST_DOUBT:g} or more; suggestions, not errors")
    if len(found):
        _recheck(given, found[PAIR].head(budget or len(found)), annotators, {"doubts": judge})


def _recheck(
    given: Given, pairs: pd.DataFrame, annotators: tuple[str, ...], parameters: dict[str, Any]
) -> None:
    number = next_number(given.judgments)
    again = check_pool(pairs.assign(round=number, design_class=RECHECK))
    _ask_again(given, again, number, annotators, parameters, kind=RECHECK)


def ask_by(given: Given, strategy: str, annotators: tuple[str, ...]) -> None:
    """Pool by a strategy; the judged pairs that it wants another vote on become a round."""
    again, number = pool_by(given, strategy)
    if len(again):
        _ask_again(given, again, number, annotators, {"strategy": strategy})


def _ask_again(
    given: Given,
    again: Pool,
    number: int,
    annotators: tuple[str, ...],
    parameters: dict[str, Any],
    kind: str = ADJUDICATION,
) -> None:
    """Make pairs a round: in a campaign its next one, elsewhere a pool."""
    campaign = begun_here()
    seed = int(setting_or_default(given.values["seed"], "tasks", "seed"))
    entry = given_out(campaign, again, annotators, number, seed, kind) if campaign else None
    if campaign and entry is None:
        say("all of them wait for an answer in a round that has begun; nothing was written")
        return
    place = given.out(f"plan/round-{number}")
    given.write(place, {"pool.csv": again}, "next-round", parameters, {"pairs": len(again)})
    if campaign and entry:
        begin(campaign.root, campaign.campaign, [entry])
    say(f"round {number}: {n_of(len(again), 'pair')} to ask again, in {place}")
    is_by_hand = deliver_files()
    say_next(("import" if is_by_hand else "push") if campaign else f"tasks {place} --overlap 0")


def asked_of(campaign: Begun, annotators: tuple[str, ...]) -> list[str]:
    """Return who can be asked: those named, else those of the campaign, else all who are active."""
    known = () if annotators else handed_to(campaign)
    return list(annotators or known or active_annotators(campaign))


def given_out(
    campaign: Begun,
    pairs: pd.DataFrame,
    annotators: tuple[str, ...],
    number: int,
    seed: int,
    kind: str = ADJUDICATION,
) -> Round | None:
    """Return the round of pairs, carried as the latest one is; None when all of them wait already."""
    carrier = campaign.rounds[-1].carrier
    names = asked_of(campaign, annotators)
    if carrier == BY_HAND:
        refuse_file_names(names)
    options: dict[str, Any] = {"retired": campaign.retired, "number": number, "kind": kind, "seed": seed}
    is_fourth = pairs["stratum"] == FOURTH_VOTE if "stratum" in pairs else pd.Series(False, pairs.index)
    options["fourth"] = pairs[is_fourth] if is_fourth.any() else None
    options["n_captions"] = campaign.rounds[-1].n_captions
    entry = assign_next_round(pairs, campaign.rounds, campaign.ledger, names, **options)
    return replace(entry, carrier=carrier) if entry else None
