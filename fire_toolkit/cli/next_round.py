"""`next-round`: which pairs to ask again, the most useful first, and of whom."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import click
import pandas as pd

from fire_toolkit.campaign.beginning import begin
from fire_toolkit.campaign.progress import load_of
from fire_toolkit.campaign.queues import ADJUDICATION
from fire_toolkit.campaign.records import Round
from fire_toolkit.cli.again import Again, draw_for_experts
from fire_toolkit.cli.campaigns import begun_here, deliver_files, names_of, record_design
from fire_toolkit.cli.common import draw_rows, n_of, say
from fire_toolkit.cli.frame import keep_files
from fire_toolkit.cli.given import Given, with_tables
from fire_toolkit.cli.here import (
    current_workspace,
    named,
    say_next,
    setting_or_default,
    workspace_lock,
    workspace_path,
)
from fire_toolkit.cli.pool_readers import judge_file, options_of_pool, scores_of_judge
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.pool import pool
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import OptionError, UsageError
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.formats.written import delimited_text
from fire_toolkit.machines.scores import LEAST_DOUBT, doubted_labels
from fire_toolkit.resolution.design import POLICIES, open_by_design
from fire_toolkit.resolution.plan import FOURTH_VOTE, STRATA, RoundPlan, cost_in_words
from fire_toolkit.tables import Pool, check_pool
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import RECHECK
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.manifests import MANIFEST, manifest_of, writer_of
from fire_toolkit.workspace.rounds import refuse_lost_record

DOUBTS, AUDIT = "doubts", "audit"
RANDOM_SHARE, LOW_POSTERIOR = 0.02, 0.9
_OF_PLANS = ("budget", "ask", "random_share", "policy", "dry_run")  # of pairs that the labels choose
_File = Annotated[str | None, Option(metavar="FILE")]


def next_round(
    *,
    judgments: _File = None,
    labels: _File = None,
    qrels: _File = None,
    budget: Annotated[int | None, Option(metavar="N", least=0)] = None,
    ask: Annotated[Sequence[str], click.Choice((*STRATA, FOURTH_VOTE, DOUBTS, AUDIT))] = (),
    judge: Annotated[str | None, Option(metavar="NAME")] = None,
    random_share: Annotated[float | None, Option(least=0, most=1)] = None,
    policy: Annotated[str | None, click.Choice(POLICIES)] = None,
    strategy: Annotated[str | None, Option(metavar="NAME", apart=("recheck", *_OF_PLANS))] = None,
    recheck: Annotated[Path | None, Option(apart=_OF_PLANS)] = None,
    annotators: Annotated[Sequence[str], Option(("--annotator",), metavar="A,B,C", parse=names_of)] = (),
    seed: Annotated[int | None, Option(least=0)] = None,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Plan what to ask again; in a campaign, give it to annotators who have not seen it.

    Without further options disputes and pairs that were only escalated are asked once more. With --budget
    these come first, then original positives that the labels reject, positives of one judgment, labels of a
    low posterior, and a random share of the rest. The random share, and answers to the disputes that the
    round itself will create, are set aside from the budget. The table shows what each stratum holds, costs
    and is expected to change; pool.csv has each pair's stratum and the probability with which it was drawn.

    In a campaign the pairs become its next round: nobody gets a pair twice, and answers are marked by round
    and kind. Elsewhere `tasks` makes tasks of pool.csv.

    --policy asks first what the policy of second votes wants; repeat the round until it asks nothing. --ask
    fourth_vote asks one more vote on positives by 2 to 1, to test whether votes err independently. --strategy
    pools the runs again by the labels so far. --recheck asks about labels that somebody doubts, --ask doubts
    about those that a machine judge considers wrong. --ask audit draws labels at random for experts, who fill
    in audit/labels/sheet.csv for `import`. What becomes of each kind of answer: docs/campaign.md,
    docs/noise.md.

    Args:
        judgments: The judgments that the labels were made from. [default: the workspace's]
        labels: The labels: labels.csv, or its folder. [default: the workspace's]
        qrels: The original qrels: rejected originals can be asked again.
        budget: At most N answers, those to the disputes that this round creates included.
        ask: What to ask; doubts and audit alone. [default: with --budget dispute to random, in this order;
            else dispute, escalated]
        judge: For --ask doubts: the machine judge. [default: the only one]
        random_share: Share of the other pairs with one judgment to ask too, for agreement. [default: 0.02]
        policy: Which positives get a second vote (and a third where the two differ), fixed by design so that
            scores can be corrected for errors: all, or those that can still make a run's C@1, C@5 or C@10.
            [default: the campaign's]
        strategy: Pool new pairs by a strategy that reads labels, such as move-to-front, and ask again only
            what it names; its budget is that of [pool].
        recheck: Ask another vote on the pairs of a table with query_id and doc_id, as a `gallery` saves its
            marks.
        annotators: In a campaign: who can be asked. [default: its annotators, not retired or excluded]
        seed: Seed of the random order and of the queues. [default: 0]
        out: Folder for pool.csv, plan.csv; another plan that lies there is kept beside it. [default:
            plan/round-N]
        dry_run: Show the plan and who would judge how much; write nothing.
    """
    if judge is not None and DOUBTS not in ask:
        raise OptionError(f"--judge does nothing without --ask {DOUBTS}; add it")
    for name in {DOUBTS, AUDIT}.intersection(ask):
        others: dict[str, object] = {"another --ask": set(ask) - {name}, "--random-share": random_share}
        others |= {"--policy": policy, "--dry-run": dry_run}
        others |= {"--annotator": annotators if name == AUDIT else ()}
        for other in (other for other, value in others.items() if value):
            raise OptionError(f"{other} does not go with --ask {name}; leave one of them out")
    values = {"judgments": judgments, "labels": labels, "qrels": qrels, "guideline": None, "seed": seed}
    given = Given({**values, "out": out, "as_json": as_json})
    with workspace_lock():
        if (workspace := current_workspace()) and judgments is None:
            refuse_lost_record(workspace.root)
        if strategy is not None:
            _ask_by(given, strategy, annotators)
        elif recheck is not None or DOUBTS in ask:
            found, why = _marked(given, recheck) if recheck else _doubted(given, judge)
            again = Again(given, annotators, given.next_number)
            pairs = check_pool(found.assign(round=again.number, design_class=RECHECK))
            _ask(again, pairs, why, RECHECK, budget)
        elif AUDIT in ask:
            draw_for_experts(given, budget)
        else:
            asked = set(ask) or set(STRATA if budget is not None else ("dispute", "escalated"))
            if random_share is not None and "random" not in asked:
                raise OptionError("--random-share does nothing without --ask random; add it")
            share = RANDOM_SHARE if random_share is None else random_share
            strata = tuple(name for name in (FOURTH_VOTE, *STRATA) if name in asked)
            numbers = {"ask": strata, "budget": budget, "random_share": share}
            _ask_planned(given, annotators, policy, numbers, is_dry=dry_run)


def _ask_planned(
    given: Given, annotators: Sequence[str], policy: str | None, numbers: dict[str, Any], *, is_dry: bool
) -> None:
    """Ask the pairs that the labels choose, in the order of their use."""
    is_fourth = FOURTH_VOTE in numbers["ask"]
    of_campaigns = {"--annotator": annotators, "--policy": policy, f"--ask {FOURTH_VOTE}": is_fourth}
    for option in (name for name, value in of_campaigns.items() if value and begun_here() is None):
        raise click.UsageError(f"{option} is for a campaign, and none has begun here; push tasks first")
    given.needed("judgments"), given.needed("labels")
    again = Again(given, annotators, given.next_number)
    design = record_design(again.campaign.root, policy, is_kept=not is_dry) if again.campaign else None
    place = again.place
    numbers |= {"low_posterior": LOW_POSTERIOR, "seed": again.seed}
    planned = again.planned(by_design=open_by_design(design, given.judgments, given.grades), **numbers)
    entry = again.given_out(planned.pool)
    if not is_dry and len(planned.pool):
        files = {"pool.csv": planned.pool, "plan.csv": delimited_text(planned.strata, nan="nan")}
        counts = dict(zip(planned.strata["stratum"], map(int, planned.strata["n_asked"]), strict=True))
        _write(again, entry, files, numbers | {"ask": list(numbers["ask"])}, counts)
    _show(planned, again, entry)
    random = planned.strata.set_index("stratum").loc["random"]
    if "random" in numbers["ask"] and numbers["random_share"] and random["n_pairs"] and not random["n_asked"]:
        say("warning: the budget leaves no random share: agreement would be that of chosen pairs alone")
    if is_dry:
        say("nothing was written")
        return
    queries = named("QUERIES", given.values.get("queries"), beside=given.hashes)
    known = f"--queries {queries} --out {quote(str(place / 'tasks.json'))}"
    _say_next(again, known, is_empty=not len(planned.pool))


def _show(planned: RoundPlan, again: Again, entry: Round | None) -> None:
    n_waiting = 0 if again.waiting is None else len(again.waiting)
    if again.given.values["as_json"]:
        counts: dict[str, Any] = {"round": again.number, "pairs": len(planned.pool), "waiting": n_waiting}
        loads = {name: sum(kinds.values()) for name, kinds in load_of(entry).items()} if entry else {}
        counts |= {"kept": planned.kept, "unused": planned.unused, "annotators": loads}
        plan = json.loads(table_text(planned.strata, "json"))
        again.given.summarise({**counts, "plan": plan}, "")
        return
    if planned.strata["n_asked"].any():
        rows = [
            [name, f"{n:,}", f"{asked:,}", f"{chance:.4g}", f"{changes:,.1f}", note]
            for name, n, asked, chance, changes, note in planned.strata.itertuples(index=False)
        ]
        draw_rows(rows, list(planned.strata.columns))
        for line in cost_in_words(planned, again.number):
            say(line)
        _say_loads(entry)
    else:
        held = planned.strata.set_index("stratum")["n_pairs"]
        unasked = ", ".join(f"{name} {n:,}" for name, n in held[held > 0].items())
        say(f"nothing is to be asked again{f'; not asked: {unasked}' if unasked else ''}")
    if n_waiting:
        say(f"{n_of(n_waiting, 'pair')} without an answer yet, in a round that has begun")


def _write(
    again: Again,
    entry: Round | None,
    files: dict[str, Any],
    parameters: dict[str, Any],
    counts: dict[str, int],
) -> None:
    """Write a round's files, and begin it in its campaign.

    A plan that lies there is kept beside it, unless this one has all its pairs.
    """
    there = again.place / "pool.csv"
    if there.is_file() and writer_of(there).stage == "next-round":  # others are not written over
        before = read_delimited(there, required=PAIR)
        if n_lost := int((pair_rows(before, files["pool.csv"]) < 0).sum()):
            words = f"another plan of {n_of(len(before), 'pair')}, {n_lost:,} of them not in this one"
            beside = (again.place.with_name(f"{again.place.name}.earlier-{n}") for n in count(1))
            kept = next(at for at in beside if not at.exists())
            kept.mkdir()
            for name in (*manifest_of(again.place).outputs, MANIFEST):
                (again.place / name).rename(kept / name)
            say(f"note: {again.place} held {words}; it is kept in {kept}")
    again.given.write(again.place, files, "next-round", parameters, counts)
    if again.campaign and entry:
        begin(again.campaign.root, again.campaign.campaign, [entry])


def _ask(
    again: Again,
    pairs: Pool,
    parameters: dict[str, Any],
    kind: str = ADJUDICATION,
    budget: int | None = None,
) -> None:
    """Make pairs that were chosen, and not planned, a round: the first `budget` that can be asked, or all."""
    if len(pairs) and not len(pairs := again.open_pairs(pairs)):
        say("all of them wait for an answer in a round that has begun; nothing was written")
    if not len(pairs := Pool(pairs[:budget])):
        _say_next(again, is_empty=True)
        return
    entry = again.given_out(pairs, kind)
    _write(again, entry, {"pool.csv": pairs}, parameters, {"pairs": len(pairs)})
    say(f"round {again.number}: {n_of(len(pairs), 'pair')} to ask again, in {again.place}")
    _say_loads(entry)
    _say_next(again)


def _say_next(again: Again, known: str = "", *, is_empty: bool = False) -> None:
    """Name the command that carries the round in its campaign, else the one that makes tasks of it.

    The files of rounds by hand that are not there are written before, whether or not this one is empty.
    """
    deliver_files()
    handing_out = "" if again.campaign or is_empty else f"tasks {quote(str(again.place))} --overlap 0"
    if handing_out and again.given.values.get("out"):  # of which `status` does not know
        say_next(handing_out, known)
    else:
        say_following(handing_out, known)


def _say_loads(entry: Round | None) -> None:
    """Say who got how many tasks of a round, where a campaign carries it."""
    if entry:
        loads = (f"{name} {sum(kinds.values()):,}" for name, kinds in load_of(entry).items())
        say(f"given to {', '.join(loads)}")


def _marked(given: Given, marked: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the judged pairs of a file, whose labels are to be looked at again, and why."""
    table = check_pool(read_delimited(given.use(marked), required=PAIR)[PAIR].drop_duplicates())[PAIR]
    is_judged = pair_rows(table, given.judgments) >= 0
    if lost := int((~is_judged).sum()):
        first = " ".join(table[~is_judged].iloc[0])
        say(f"note: {n_of(lost, 'pair')} of {marked} left out, which nobody judged (first: {first})")
    if not is_judged.any():
        raise UsageError(f"{marked}: none of its pairs was judged, so there is no label to look at again")
    return table[is_judged], {"recheck": marked.name}


def _doubted(given: Given, judge: str | None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return labels that a machine judge considers wrong, the most doubtful first, and why."""
    judge = judge or judge_file(None).parent.name
    found = doubted_labels(given.labels, scores_of_judge(given, judge))
    found = found[pair_rows(found, given.judgments) >= 0]  # no pair with another's label
    words = f"{n_of(len(found), 'label')} doubted by judge {judge} at {LEAST_DOUBT:g} or more"
    if "kind" in given.judgments:
        is_new = pair_rows(found, given.judgments[given.judgments["kind"] == RECHECK]) < 0
        words += "" if is_new.all() else f", {int((~is_new).sum()):,} of them asked again before"
        found = found[is_new]
    say(f"{words}; suggestions, not errors")
    return found, {"doubts": judge}


def _ask_by(given: Given, strategy: str, annotators: Sequence[str]) -> None:
    """Pool the workspace's runs by a strategy, from the labels so far, into the workspace's pool.

    The judged pairs that it wants another vote on become a round; new pairs get the round after it.
    """
    folder = workspace_path("pool")
    if folder is None:
        raise UsageError("--strategy is for a workspace; elsewhere: fire-toolkit pool RUN... --strategy")
    pooled = Given({**given.values, "runs": (), "out": None})
    settings = {name: setting_or_default(None, "pool", name) for name in SETTINGS["pool"]}
    options = options_of_pool() | {"strategy": strategy}
    pooled.words = ["pool"]
    for name, value in options.items():
        pooled.words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    tables = with_tables(pool, pooled, settings | options)
    before = tables["asked_before"]
    found, number = pool(**tables), before.round or 1
    if len(pairs := found.tables["again"]):
        found = pool(**tables | {"asked_before": before._replace(round=number + 1)})
    known = {name: value for name, value in found.parameters.items() if value is not None}
    keep_files(found, pooled, folder, "pool", known, is_file=False)
    if len(pairs):
        asked = check_pool(pairs.assign(round=number, stratum="again", inclusion_probability=1.0))
        pooled.values["out"] = given.values["out"]  # what was read for the pool is what the round rests on
        _ask(Again(pooled, annotators, number), asked, {"strategy": strategy})
