"""Pairs asked again: a round of the campaign, elsewhere a pool for `tasks`; and labels that experts audit.

Of an audit `next-round` draws, `import` reads the answers, and `score` corrects by them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.answer_columns import NO_LABEL, SEVERAL_LABELS, SKIPPED
from fire_toolkit.campaign.beginning import campaign_of
from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.campaign.queues import ADJUDICATION
from fire_toolkit.campaign.records import BY_HAND, Round, tasks_of_pairs
from fire_toolkit.campaign.rounds import next_round, seen_by_all
from fire_toolkit.campaign.task_files import waiting_in_files
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.campaign.views import pairs_of_keys, seen_pairs, unanswered_pairs, waiting_pairs
from fire_toolkit.cli.campaigns import Begun, active_annotators, begun_here, handed_to
from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import (
    current_workspace,
    made_file,
    needed_workspace,
    relative_path,
    say_next,
    setting_or_default,
)
from fire_toolkit.cli.media import shown_tasks
from fire_toolkit.cli.readers import ANSWERS, EXPERTS, SAMPLE
from fire_toolkit.collections.duplicates import one_of_each
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_bytes
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.folder.sheets import MARK, expert_votes, sheet_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import read_pool
from fire_toolkit.formats.written import delimited_text
from fire_toolkit.inference.audit import draw_audit, labels_by_band
from fire_toolkit.resolution.plan import FOURTH_VOTE, RoundPlan, plan_round
from fire_toolkit.tables import FOURTH, Labels, Pool, Tasks, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows


@dataclass(frozen=True)
class Again:
    """The next round: its number, who can be asked, and the campaign that it belongs to, if one has begun."""

    given: Given
    annotators: Sequence[str]
    number: int
    campaign: Begun | None = field(default_factory=begun_here)

    @property
    def place(self) -> Path:
        """Where its files are written."""
        return self.given.out(f"plan/round-{self.number}")

    @property
    def seed(self) -> int:
        """Of the order and the queues."""
        return int(setting_or_default(self.given.values["seed"], "tasks", "seed"))

    @cached_property
    def waiting(self) -> pd.DataFrame | None:
        """The pairs that wait for an answer: with somebody, or in files of tasks that were handed out."""
        if self.campaign is not None:
            return waiting_pairs(self.campaign.store, self.campaign.retired)
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
        """The pairs that were asked and have no vote, and lie with nobody who could still give one."""
        begun = self.campaign
        left = unanswered_pairs(begun.store, begun.retired) if begun else self._without_vote
        left = left[pair_rows(left, self.given.judgments) < 0]
        unheard: pd.DataFrame = self.given.unheard
        left = pd.concat([left, unheard]).drop_duplicates(PAIR, ignore_index=True)
        return left if self.waiting is None else left[pair_rows(left, self.waiting) < 0]

    @property
    def _without_vote(self) -> pd.DataFrame:
        """The pairs of the workspace whose answer was a skip or had no label; none elsewhere."""
        path = made_file("judgments/dropped.csv")
        is_own = path is not None and self.given.values.get("judgments") is None
        dropped = read_delimited(path, required=[*PAIR, "reason"]) if path and is_own else None
        if dropped is None:
            return pairs_of_keys([])
        is_back = dropped["reason"].isin([SKIPPED, NO_LABEL, SEVERAL_LABELS])
        return dropped[PAIR][is_back].drop_duplicates(ignore_index=True)

    def planned(self, *, is_said: bool = True, **numbers: Any) -> RoundPlan:
        """Plan a round of pairs that somebody can be asked, see `plan_round`.

        is_said: whether it is said which others would be in it.
        """
        given = self.given
        labels, disputes = given.labels, given.disputes
        if "shared_from" in labels:
            labels = Labels(labels[labels["shared_from"].fillna("") == ""].reset_index(drop=True))
            queries = given.queries if given.path("queries", exists=True) else None
            disputes = one_of_each(disputes, given.judgments, queries)
        plan = partial(
            plan_round,
            given.judgments,
            disputes=disputes,
            labels=labels,
            grades=given.grades,
            original=given.original_if_any if is_said else None,
            unanswered=self.unanswered,
            round=self.number,
            **numbers,
        )
        planned = plan(waiting=self.waiting)
        left = self.open_pairs(planned.pool, is_said=is_said, is_part=numbers.get("budget") is not None)
        is_less = len(left) < len(planned.pool)
        return plan(waiting=pd.concat([self.waiting, self._spent])) if is_less else planned

    def open_pairs(self, pairs: Pool, *, is_said: bool = True, is_part: bool = False) -> Pool:
        """Return pairs without those that wait or that all have seen; if these are all, the queues say it."""
        left = pairs if self.waiting is None else pairs[pair_rows(pairs, self.waiting) < 0]
        if is_said and 0 < len(left) < len(pairs):
            n_waiting = n_of(len(pairs) - len(left), "pair")
            say(f"note: {n_waiting} left out, without an answer yet in a round that has begun")
        is_spent = pair_rows(left, self._spent) >= 0
        if not is_spent.any() or (is_said and not is_part and is_spent.all()):
            return Pool(left)
        if is_said:
            words = f"{n_of(int(is_spent.sum()), 'pair')} left out that every annotator has seen"
            first = " ".join(left[PAIR][is_spent].iloc[0])
            say(f"note: {words} (first: {first}); name somebody else with --annotator")
        return Pool(left[~is_spent].reset_index(drop=True))

    @cached_property
    def _names(self) -> list[str]:
        """Who can be asked: those named, else the campaign's or all active ones whom labels count."""
        assert self.campaign is not None
        known = self.annotators or handed_to(self.campaign) or active_annotators(self.campaign)
        return [name for name in known if name in self.annotators or name not in self.given.excluded]

    @cached_property
    def _seen(self) -> pd.DataFrame:
        """Who is not asked about what (annotator_id, pair_id), having seen it, or one like it.

        What nobody could answer, and all have seen, is asked again of anybody who had it to be judged.
        """
        assert self.campaign is not None
        found = pd.concat([seen_pairs(self.campaign.store), self.given.judged_twins]).drop_duplicates()
        unanswered = pair_ids(self.unanswered["query_id"], self.unanswered["doc_id"])
        is_again = found["pair_id"].isin(seen_by_all(found, self._names).intersection(unanswered))
        left: pd.DataFrame = found[~is_again | (found["is_known"] == 1)]
        return left

    @cached_property
    def _spent(self) -> pd.DataFrame:
        """The pairs of which nobody can be asked any more."""
        return pairs_of_keys([] if self.campaign is None else seen_by_all(self._seen, self._names))

    def given_out(self, pairs: pd.DataFrame, kind: str = ADJUDICATION) -> Round | None:
        """Return the round of pairs, carried as the latest one is; None without pairs or a campaign."""
        if self.campaign is None or not len(pairs):
            return None
        begun = self.campaign
        campaign_of(begun.root, begun.guideline)  # refuses another page than the campaign's
        if is_by_hand := begun.latest_carrier == BY_HAND:
            refuse_file_names(self._names)
        # What was answered shows what it showed, the rest, perhaps repaired, what the collection has.
        shown = tasks_of_pairs(begun.store, pairs)
        if self.given.path("items", exists=True) is not None:
            is_known = shown["doc_id"].isin(self.given.items_if_any["doc_id"])
            shown = Tasks(shown[~is_known | (pair_rows(shown, self.unanswered) < 0)])
        others = check_pool(pairs[PAIR][pair_rows(pairs, shown) < 0].drop_duplicates())
        if len(others):
            made = shown_tasks(self.given, others, begun.guideline, by_hand=is_by_hand, overlap=0)
            shown = Tasks(pd.concat([shown, made], ignore_index=True)) if len(shown) else made
        strata = pairs["stratum"] if "stratum" in pairs else [""] * len(pairs)
        kinds = [FOURTH if stratum == FOURTH_VOTE else kind for stratum in strata]
        entry = next_round(
            self.number,
            shown,
            self._names,
            seen=self._seen,
            kinds=dict(zip(pair_ids(pairs["query_id"], pairs["doc_id"]), kinds, strict=True)),
            n_captions=[*begun.rounds.captions.values()][-1],
            seed=self.seed,
        )
        return replace(entry, carrier=begun.latest_carrier)


SHEET = "sheet.csv"
POSITIVES, NEGATIVES = 100, 200  # labels for each band of ranks


def draw_for_experts(given: Given, budget: int | None) -> None:
    """Draw labels by label and band of ranks, and write the experts' sheet, without a label, and the sample.

    budget: at most so many labels, a third of them positive; None: 100 and 200 for each band.
    """
    folder = relative_path(needed_workspace(": labels are audited in a workspace").root / EXPERTS)
    if given.values["out"]:
        raise UsageError(f"--ask {MARK} writes into {folder}, where `import` and `score` look for it")
    drawn = folder / Path(SAMPLE).name
    if drawn.exists():
        raise UsageError(f"{drawn}: experts may have its sheet; move the folder away to draw another sample")
    seed = int(setting_or_default(given.values["seed"], "tasks", "seed"))
    if (path := made_file("pool/pool.csv")) is None:
        raise UsageError("pool/pool.csv: not made yet; the ranks of labelled pairs are in it")
    labels = labels_by_band(given.labels, given.original, read_pool(given.use(path)))
    each = None if budget is None else max(1, budget // (3 * len(labels.bands)))
    numbers = {"positives": each or POSITIVES, "negatives": 2 * each if each else NEGATIVES, "seed": seed}
    sample = draw_audit(labels, **numbers)
    rules = given.guideline
    pairs = check_pool(sample[PAIR])
    shown = make_tasks(pairs, given.queries, items=given.items_if_any, guideline=rules, overlap=0, seed=seed)
    text = delimited_text(sample.sort_values(PAIR))
    mark = sha256(text.encode()).hexdigest()[:8]
    contents: dict[str, Any] = {SHEET: sheet_of(shown, rules, {MARK: mark}), drawn.name: text}
    counts = {"pairs": len(sample), "positive": int(sample["relevance"].sum())}
    words = f"{n_of(len(sample), 'label')} for experts in {folder / SHEET}"
    words += f", {counts['positive']:,} of them positive; {drawn.name} says which"
    given.write(folder, contents, "next-round", numbers, counts, words)
    say_next("import FILLED.csv")


def import_experts(given: Given, sheets: Sequence[Path]) -> None:
    """Add the answers in sheets to those of the audit; an expert's later answer replaces the one before.

    Raises:
        FormatError: a sheet is of another draw, or there is none.
    """
    sample = made_file(SAMPLE)
    if sample is None:
        raise FormatError(f"{sheets[0]}: a sheet of an audit; {SAMPLE} is not in this workspace")
    mark = sha256(read_bytes(given.use(sample))).hexdigest()[:8]
    voted = expert_votes(list(map(given.use, sheets)), given.guideline, mark=mark, drawn=sample)
    out = sample.with_name(Path(ANSWERS).name)
    key = ["annotator_id", *PAIR]
    columns = list(voted.columns)
    before = [read_delimited(given.use(out, goes_on=True), required=columns)] if out.is_file() else []
    both = pd.concat([*before, voted])[columns].astype({"relevance": "int64"})
    both = both.drop_duplicates(key, keep="last")
    counts = {"read": len(voted), "answers": len(both), "pairs": len(both.drop_duplicates(PAIR))}
    words = f"{n_of(len(voted), 'answer')} of experts read; {counts['pairs']:,} pairs in {out}"
    given.write(out, {out.name: both.sort_values(key)}, "import", {}, counts, words)
    say_next("score")
