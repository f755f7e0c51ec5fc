"""Pairs that are asked again become a round: in a campaign its next one, elsewhere a pool for `tasks`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.answers import NO_LABEL, SEVERAL_LABELS, SKIPPED
from fire_toolkit.campaign.progress import load_of
from fire_toolkit.campaign.queues import ADJUDICATION
from fire_toolkit.campaign.records import BY_HAND, Round, tasks_of_pairs
from fire_toolkit.campaign.rounds import assign_next_round
from fire_toolkit.campaign.task_files import waiting_in_files
from fire_toolkit.campaign.views import seen_by_all, unanswered_pairs, waiting_pairs
from fire_toolkit.cli.campaigns import Begun, active_annotators, begin, begun_here, deliver_files, handed_to
from fire_toolkit.cli.common import (
    current_workspace,
    made_file,
    n_of,
    say,
    say_next,
    setting_or_default,
    workspace_path,
)
from fire_toolkit.cli.following import say_following
from fire_toolkit.cli.frame import keep_files
from fire_toolkit.cli.given import Given, with_tables
from fire_toolkit.cli.media_links import shown_tasks
from fire_toolkit.cli.pool_readers import judge_file, scores_of_judge
from fire_toolkit.commands.pool import pool
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.machines.scores import LEAST_DOUBT, doubted_labels
from fire_toolkit.resolution.plan import FOURTH_VOTE, RoundPlan, plan_round
from fire_toolkit.tables import Pool, Tasks, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import RECHECK
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.manifests import MANIFEST, writer_of


@dataclass(frozen=True)
class Again:
    """The next round: its number, who can be asked, and the campaign that it belongs to, if one has begun."""

    given: Given
    number: int
    campaign: Begun | None
    annotators: Sequence[str]

    @classmethod
    def of(cls, given: Given, annotators: Sequence[str], number: int | None = None) -> Again:
        """Return the next round of what is given; the annotators are those named."""
        number = number or given.next_number
        return cls(given, number, begun_here(), annotators)

    @property
    def seed(self) -> int:
        """Of the order and the queues."""
        return int(setting_or_default(self.given.values["seed"], "tasks", "seed"))

    @cached_property
    def waiting(self) -> pd.DataFrame | None:
        """The pairs that wait for an answer: with somebody, or in files of tasks that were handed out."""
        if self.campaign is not None:
            with self.campaign.store() as store:
                return waiting_pairs(store, self.campaign.retired)
        workspace = current_workspace()
        if workspace is None:
            return None
        judged = self.given.all_judgments
        rounds = judged["round"].tolist() if "round" in judged.columns else [1] * len(judged)
        skipped = self._without_vote
        answers = pd.concat([pd.DataFrame(judged[PAIR]), skipped], ignore_index=True)
        return waiting_in_files(workspace.root, answers.assign(round=[*rounds, *[math.nan] * len(skipped)]))

    @cached_property
    def unanswered(self) -> pd.DataFrame:
        """The pairs that were asked and have no judgment, and lie with nobody who could still give one."""
        if self.campaign is not None:
            with self.campaign.store() as store:
                left = unanswered_pairs(store, self.given.judgments, self.campaign.retired)
        else:
            left = self._without_vote
        unheard: pd.DataFrame = self.given.unheard
        left = pd.concat([left, unheard]).drop_duplicates(PAIR, ignore_index=True)
        for others in (self.given.judgments, self.waiting):
            left = left if others is None else left[pair_rows(left, others) < 0]
        return left

    @property
    def _without_vote(self) -> pd.DataFrame:
        """The pairs of the workspace whose answer was a skip or had no label; none elsewhere."""
        path = made_file("judgments/dropped.csv")
        is_own = path is not None and self.given.values.get("judgments") is None
        dropped = read_delimited(path, required=[*PAIR, "reason"]) if path and is_own else None
        if dropped is None:
            return pd.DataFrame({name: [] for name in PAIR}, dtype="str")
        is_back = dropped["reason"].isin([SKIPPED, NO_LABEL, SEVERAL_LABELS])
        return dropped.loc[is_back, PAIR].drop_duplicates(ignore_index=True)

    def planned(self, *, is_said: bool = True, **numbers: Any) -> RoundPlan:
        """Plan a round of pairs that somebody can be asked, see `plan_round`.

        is_said: whether it is said which others would be in it; where that are all, the queues say it.
        """
        given = self.given
        plan = partial(
            plan_round,
            given.judgments,
            given.labels,
            given.disputes,
            grades=given.grades,
            unanswered=self.unanswered,
            round=self.number,
            **numbers,
        )
        planned, begun = plan(waiting=self.waiting), self.campaign
        if begun is None:
            return planned
        with begun.store() as store:
            spent = seen_by_all(store, self._asked())
        is_spent = (pair_rows(planned.pool, spent) >= 0) & (pair_rows(planned.pool, self.unanswered) < 0)
        if not is_spent.any() or (is_said and is_spent.all()):
            return planned
        if is_said:
            say(
                f"note: {n_of(int(is_spent.sum()), 'pair')} left out that every annotator has seen "
                f"(first: {' '.join(planned.pool.loc[is_spent, PAIR].iloc[0])}); name somebody else with "
                "--annotator"
            )
        spent = spent[pair_rows(spent, self.unanswered) < 0]
        return plan(waiting=pd.concat([self.waiting, spent]))

    def _asked(self) -> list[str]:
        """Return who can be asked: those named, else those of the campaign, else all who are active."""
        assert self.campaign is not None
        known = () if self.annotators else handed_to(self.campaign)
        return list(self.annotators or known or active_annotators(self.campaign))

    def given_out(self, pairs: pd.DataFrame, kind: str = ADJUDICATION) -> Round | None:
        """Return the round of pairs, carried as the latest one is; None when all of them wait already."""
        if self.campaign is None:
            return None
        carrier, names = self.campaign.latest_carrier, self._asked()
        if carrier == BY_HAND:
            refuse_file_names(names)
        is_fourth = pairs["stratum"] == FOURTH_VOTE if "stratum" in pairs else pd.Series(False, pairs.index)
        with self.campaign.store() as store:
            entry = assign_next_round(
                pairs,
                self._shown(pairs),
                store,
                names,
                retired=self.campaign.retired,
                number=self.number,
                kind=kind,
                seed=self.seed,
                fourth=pairs[is_fourth] if is_fourth.any() else None,
                unanswered=self.unanswered,
                n_captions=[*self.campaign.rounds.captions.values()][-1],
            )
        return replace(entry, carrier=carrier) if entry else None

    def _shown(self, pairs: pd.DataFrame) -> Tasks:
        """Return what the tasks of pairs show: as the campaign asked, else as the collection has them."""
        assert self.campaign is not None
        with self.campaign.store() as store:
            known = tasks_of_pairs(store, pairs)
        others = check_pool(pairs.loc[pair_rows(pairs, known) < 0, PAIR].drop_duplicates())
        if not len(others):
            return known
        rules, by_hand = self.campaign.guideline, self.campaign.is_by_hand
        made = shown_tasks(self.given, others, rules, by_hand=by_hand, overlap=0)
        return Tasks(pd.concat([known, made], ignore_index=True)) if len(known) else made

    def write(
        self, entry: Round | None, files: dict[str, Any], parameters: dict[str, Any], counts: dict[str, int]
    ) -> Path:
        """Write the round's files, and begin it in the campaign; return where they are."""
        place = self.given.out(f"plan/round-{self.number}")
        _set_aside(place, files["pool.csv"])
        self.given.write(place, files, "next-round", parameters, counts)
        if self.campaign and entry:
            begin(self.campaign.root, self.campaign.campaign, [entry])
        return place

    def ask(self, pairs: Pool, parameters: dict[str, Any], kind: str = ADJUDICATION) -> None:
        """Make pairs that were chosen, and not planned, a round."""
        entry = self.given_out(pairs, kind)
        if self.campaign and entry is None:
            say("all of them wait for an answer in a round that has begun; nothing was written")
            return
        place = self.write(entry, {"pool.csv": pairs}, parameters, {"pairs": len(pairs)})
        say(f"round {self.number}: {n_of(len(pairs), 'pair')} to ask again, in {place}")
        say_loads(loads_of(entry))
        self.say_next(f"tasks {place} --overlap 0")

    def say_next(self, command: str, known: str = "", *, is_empty: bool = False) -> None:
        """Name the command that carries the round in its campaign, else the one that makes tasks of it.

        The files of rounds by hand that are not there are written before, whether or not this one is empty.
        """
        deliver_files()
        if self.campaign or is_empty:
            say_following()
        else:
            say_next(command, known)


def loads_of(entry: Round | None) -> dict[str, int]:
    """Return how many tasks of a round each annotator has; nothing where no campaign carries it."""
    return {name: sum(kinds.values()) for name, kinds in load_of(entry).items()} if entry else {}


def say_loads(loads: dict[str, int]) -> None:
    """Say who got how many tasks of a round."""
    if loads:
        say("given to " + ", ".join(f"{name} {n:,}" for name, n in loads.items()))


def _set_aside(place: Path, pool: Pool) -> None:
    """Keep a plan that lies where another is about to be written, unless that one has all its pairs."""
    writer = writer_of(place / "pool.csv") if (place / "pool.csv").is_file() else None
    if writer is None or writer.stage != "next-round":
        return  # it is not ours, and will not be written over
    before = read_delimited(place / "pool.csv", required=PAIR)
    n_lost = int((pair_rows(before, pool) < 0).sum())
    if not n_lost:
        return
    kept = next(at for n in count(1) if not (at := place.with_name(f"{place.name}.earlier-{n}")).exists())
    kept.mkdir()
    for name in (*writer.outputs, MANIFEST):
        (place / name).rename(kept / name)
    words = f"another plan of {n_of(len(before), 'pair')}, {n_lost:,} of them not in this one"
    say(f"note: {place} held {words}; it is kept in {kept}")


def ask_marked(given: Given, marked: Path, annotators: Sequence[str]) -> None:
    """Ask another vote on the judged pairs of a file, as a round of class recheck."""
    table = check_pool(read_delimited(given.use(marked), required=PAIR)[PAIR].drop_duplicates())[PAIR]
    is_judged = pair_rows(table, given.judgments) >= 0
    if lost := int((~is_judged).sum()):
        first = " ".join(table.loc[~is_judged].iloc[0])
        say(f"note: {n_of(lost, 'pair')} of {marked} left out, which nobody judged (first: {first})")
    if not is_judged.any():
        raise UsageError(f"{marked}: none of its pairs was judged, so there is no label to look at again")
    _recheck(given, table[is_judged], annotators, {"recheck": marked.name})


def ask_doubts(given: Given, judge: str | None, budget: int | None, annotators: Sequence[str]) -> None:
    """Ask another vote on labels that a machine judge considers wrong, as a round of class recheck.

    budget: so many, the most doubtful first; None: all.
    """
    judge = judge or judge_file(None).parent.name
    found = doubted_labels(given.labels, scores_of_judge(given, judge))
    n = n_of(len(found), "label")
    say(f"{n} doubted by judge {judge} at {LEAST_DOUBT:g} or more; suggestions, not errors")
    if len(found):
        _recheck(given, found.head(budget or len(found)), annotators, {"doubts": judge})


def _recheck(
    given: Given, pairs: pd.DataFrame, annotators: Sequence[str], parameters: dict[str, Any]
) -> None:
    again = Again.of(given, annotators)
    again.ask(check_pool(pairs.assign(round=again.number, design_class=RECHECK)), parameters, RECHECK)


def ask_by(given: Given, strategy: str, annotators: Sequence[str]) -> None:
    """Pool the workspace's runs by a strategy, from the labels so far, into the workspace's pool.

    The judged pairs that it wants another vote on become a round; new pairs get the round after it.
    """
    folder = workspace_path("pool")
    if folder is None:
        raise UsageError("--strategy is for a workspace; elsewhere: fire-toolkit pool RUN... --strategy")
    pooled = Given({**given.values, "runs": (), "out": None})
    settings = {name: setting_or_default(None, "pool", name) for name in SETTINGS["pool"]}
    tables = with_tables(pool, pooled, settings | {"strategy": strategy})
    before = tables["asked_before"]
    found, number = pool(**tables), before.round or 1
    if len(pairs := found.tables["again"]):
        found = pool(**tables | {"asked_before": before._replace(round=number + 1)})
    known = {name: value for name, value in found.parameters.items() if value is not None}
    keep_files(found, pooled, folder, "pool", known, is_file=False)
    if len(pairs):
        asked = check_pool(pairs.assign(round=number, stratum="again", inclusion_probability=1.0))
        pooled.values["out"] = given.values["out"]  # what was read for the pool is what the round rests on
        Again.of(pooled, annotators, number).ask(asked, {"strategy": strategy})
