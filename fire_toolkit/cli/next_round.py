"""`next-round`: which pairs to ask again, the most useful first, and of whom."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.campaign.progress import load_of
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.rounds import seen_by_all, waiting_pairs
from fire_toolkit.cli.again import ask_by, ask_doubts, ask_marked, asked_of, given_out
from fire_toolkit.cli.auditing import draw_for_experts
from fire_toolkit.cli.campaigns import Begun, begin, begun_here, deliver_files
from fire_toolkit.cli.common import (
    Range,
    drawn,
    formatted,
    json_option,
    n_of,
    say,
    say_next,
    setting_or_default,
)
from fire_toolkit.cli.designs import open_by_design, policy_option, record_design
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import next_number
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.options import annotator_option, reads
from fire_toolkit.cli.progress_line import wipe_progress
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.resolution.design import split_positives, votes_in_order
from fire_toolkit.resolution.plan import FOURTH_VOTE, STRATA, RoundPlan, plan_round
from fire_toolkit.tables.columns import PAIR, pair_rows

DOUBTS, AUDIT = "doubts", "audit"
RANDOM_SHARE, LOW_POSTERIOR = 0.02, 0.9


@click.command(name="next-round")
@reads(
    judgments="The judgments that the labels were made from. [default: the workspace's]",
    labels="The labels: labels.csv, or its folder. [default: the workspace's]",
    qrels="The original qrels: rejected originals can be asked again.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="N",
    help="At most N answers, those to the disputes that this round creates included.",
)
@click.option(
    "--ask",
    multiple=True,
    type=click.Choice((*STRATA, FOURTH_VOTE, DOUBTS, AUDIT)),
    help="What to ask; doubts and audit alone. [default: with --budget dispute to random, in this order; "
    "else dispute, escalated]",
)
@click.option("--judge", metavar="NAME", help="For --ask doubts: the machine judge. [default: the only one]")
@click.option(
    "--random-share",
    type=Range(0, 1),
    help=f"Share of the other pairs with one judgment to ask too, for agreement. [default: {RANDOM_SHARE}]",
)
@click.option(
    "--low-posterior",
    type=Range(0, 1),
    help="Ask again about labels that a model (dawid-skene) is less sure of than this. "
    f"[default: {LOW_POSTERIOR}]",
)
@policy_option
@click.option(
    "--strategy",
    metavar="NAME",
    help="Pool new pairs by a strategy that reads labels, such as move-to-front, and ask again only what it "
    "names; its budget is that of [pool].",
)
@click.option(
    "--recheck",
    "marked",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ask another vote on the pairs of a table with query_id and doc_id, as a `gallery` saves its marks.",
)
@annotator_option(
    "A,B,C",
    "In a campaign: who can be asked. [default: its annotators who are not retired]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the random order and of the queues. [default: 0]"
)
@click.option("--guideline", metavar="NAME", help="The guideline judged by, as for `resolve`.")
@click.option("--out", metavar="DIR", help="Folder for pool.csv, plan.csv. [default: plan/round-N]")
@click.option("--dry-run", is_flag=True, help="Show the plan and who would judge how much; write nothing.")
@json_option
@writes_workspace
def next_round(
    given: Given,
    budget: int | None,
    ask: tuple[str, ...],
    random_share: float | None,
    low_posterior: float | None,
    strategy: str | None,
    policy: str | None,
    marked: Path | None,
    judge: str | None,
    annotators: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Plan what to ask again; in a campaign, give it to annotators who have not seen it.

    Each pair is asked once more, in this order, up to the budget: disputes; pairs only escalated; original
    positives that the labels reject; positives of one judgment; labels of a low posterior; a random share
    of the rest. Of a budget the random share is set aside first, and an answer for each dispute that the
    round is expected to create; what is left over goes to more pairs at random. pool.csv has the stratum of
    each pair and the probability with which it was drawn, by which `agree --join` weighs it. The table shows
    what each stratum holds, costs and is expected to change.

    Where `push` or `tasks --annotator` has begun a campaign, the pairs become its next round: those that
    wait for an answer are left out, nobody gets a pair twice, and the answers are marked (columns round and
    kind), so that agreement is of the first, blind round alone. Elsewhere `tasks` makes tasks of pool.csv.

    --ask fourth_vote asks one more vote on positives by 2 to 1 in a campaign, about 100 with --budget 100. No
    label, agreement or error rate counts it; `score --honest` and `augment` say whether fewer are positive
    than independent errors explain, which is the sign of pairs that are hard for everybody.

    With --strategy the workspace's runs are pooled again from the labels so far, as by `pool --strategy`, and
    `tasks` asks the new pairs. Pairs that the strategy wants another vote on become a round as above.

    With --policy what it asks again comes first; go on (judge, pull, resolve, next-round) until it asks
    nothing. Which pairs get further votes is kept in campaign/design.csv, and never hangs on a pair's own
    later votes, so that `score --honest` can correct C@k and P@k for errors.

    With --recheck labels are looked at again because somebody doubts them. Such answers are of kind recheck:
    they count for the label and in no rate of errors, and scores of such labels are not corrected for errors
    (`resolve --without-rechecks` leaves these answers out). --ask doubts does so with labels that a machine
    judge considers wrong (P(yes) of .9 or more for one that is not relevant, of .1 or less for one that is).

    --ask audit draws labels at random for experts: in each band of best ranks (1, 2 to 3, 4 and more; of
    policy until-confirmed apart for verified pairs and others) 100 positive and 200 negative ones, or as many
    as the budget allows. Experts fill in audit/labels/sheet.csv, which shows no label and no rank; `import`
    reads it back, and `score` corrects C@k and P@k by what they say.
    """
    if judge is not None and DOUBTS not in ask:
        raise click.UsageError("--judge is for --ask doubts")
    kinds: dict[str, object] = {"--strategy": strategy, "--recheck": marked}
    kinds |= {f"--ask {name}": name in ask or None for name in (DOUBTS, AUDIT)}
    if any(kinds.values()):
        _refuse_beside(kinds, budget, ask, random_share, low_posterior, policy, dry_run)
        _ask_alone(given, strategy, marked, ask, budget, judge, annotators)
    else:
        _ask_planned(given, budget, ask, random_share, low_posterior, policy, annotators, is_dry=dry_run)


def _ask_planned(
    given: Given,
    budget: int | None,
    ask: tuple[str, ...],
    random_share: float | None,
    low_posterior: float | None,
    policy: str | None,
    annotators: tuple[str, ...],
    *,
    is_dry: bool,
) -> None:
    """Ask the pairs that the labels choose, in the order of their use."""
    asked = _asked(ask, budget, random_share, low_posterior)
    campaign = begun_here()
    if annotators and campaign is None:
        raise click.UsageError("--annotator is for a campaign, and none has begun here; push tasks first")
    given.needed("judgments"), given.needed("labels")
    design = _design(campaign, policy, is_kept=not is_dry)
    table = given.judgments
    number = next_number(table)
    place = given.out(f"plan/round-{number}")
    seed = int(setting_or_default(given.values["seed"], "tasks", "seed"))
    numbers = _numbers(asked, budget, random_share, low_posterior, seed)
    plan = partial(
        plan_round,
        table,
        disputes=given.disputes,
        labels=given.labels,
        grades=given.grades,
        original=given.original_if_any,
        by_design=open_by_design(design, table, given.grades),
        fourth=_fourth(given, campaign) if FOURTH_VOTE in asked else None,
        round=number,
        **numbers,
    )
    planned = _planned(plan, campaign, annotators) if campaign else plan()
    entry = given_out(campaign, planned.pool, annotators, number, seed) if campaign else None
    if not is_dry and len(planned.pool):
        _write(place, planned, numbers | {"ask": list(asked)}, given)
        if campaign and entry:
            begin(campaign.root, campaign.campaign, [entry])
    _show(planned, number, campaign, entry, as_json=given.as_json)
    if "random" in asked and numbers["random_share"]:
        _warn_of_chosen_pairs(planned)
    if is_dry:
        say("nothing was written")
        return
    carried = "import" if deliver_files() else "push"
    if len(planned.pool):
        _name_next(given, place, carried if campaign else None)


def _planned(plan: Callable[..., RoundPlan], campaign: Begun, annotators: tuple[str, ...]) -> RoundPlan:
    """Plan a round of pairs that somebody can be asked, and say which others would be in it."""
    waiting = waiting_pairs(campaign.rounds, campaign.ledger, campaign.retired)
    planned = plan(waiting=waiting)
    spent = seen_by_all(campaign.rounds, campaign.ledger, asked_of(campaign, annotators))
    is_spent = pair_rows(planned.pool, spent) >= 0
    if not is_spent.any() or is_spent.all():  # of all of them the queues say it
        return planned
    say(
        f"note: {n_of(int(is_spent.sum()), 'pair')} left out that every annotator has seen "
        f"(first: {' '.join(planned.pool.loc[is_spent, PAIR].iloc[0])}); name somebody else with --annotator"
    )
    return plan(waiting=pd.concat([waiting, spent]))


def _name_next(given: Given, place: Path, carried: str | None) -> None:
    """Name the command that carries the round, else the one that makes tasks of it."""
    known = f"--queries {given.hint('QUERIES')} --out {place / 'tasks.json'}"
    say_next(*([carried] if carried else [f"tasks {place} --overlap 0", known]))


def _numbers(
    asked: tuple[str, ...],
    budget: int | None,
    random_share: float | None,
    low_posterior: float | None,
    seed: int,
) -> dict[str, Any]:
    """Return what a plan is made by, defaults where nothing is given."""
    return {
        "ask": asked,
        "budget": budget,
        "random_share": RANDOM_SHARE if random_share is None else random_share,
        "low_posterior": LOW_POSTERIOR if low_posterior is None else low_posterior,
        "seed": seed,
    }


def _ask_alone(
    given: Given,
    strategy: str | None,
    marked: Path | None,
    ask: tuple[str, ...],
    budget: int | None,
    judge: str | None,
    annotators: tuple[str, ...],
) -> None:
    """Ask what chooses its pairs by itself."""
    if marked is not None:
        ask_marked(given, marked, annotators)
    elif strategy is not None:
        ask_by(given, strategy, annotators)
    elif DOUBTS in ask:
        ask_doubts(given, judge, budget, annotators)
    elif annotators:
        raise click.UsageError("--annotator is of a round; give experts audit/labels/sheet.csv by hand")
    else:
        draw_for_experts(given, budget)


def _refuse_beside(
    kinds: Mapping[str, object], budget: int | None, ask: tuple[str, ...], *others: object
) -> None:
    """Refuse options of pairs that the labels choose beside what chooses pairs by itself."""
    alone, *more = (name for name, value in kinds.items() if value)
    if more or len(set(ask)) > 1:
        raise click.UsageError(
            f"{alone} chooses its pairs alone; give no other --ask, --strategy or --recheck"
        )
    is_asked = alone.startswith("--ask")
    named: dict[str, object] = {"--budget": None if is_asked else budget, "--ask": () if is_asked else ask}
    named |= zip(("--random-share", "--low-posterior", "--policy", "--dry-run"), others, strict=True)
    for option, value in named.items():
        if value not in (None, (), False):
            raise click.UsageError(f"{option} is of pairs that the labels choose; {alone} goes by its own")


def _design(campaign: Begun | None, policy: str | None, *, is_kept: bool) -> pd.DataFrame | None:
    """Return the design that the campaign goes by, and keep it; None without a policy."""
    if campaign is not None:
        return record_design(campaign.root, policy, is_kept=is_kept)
    if policy:
        raise click.UsageError(
            "--policy is for a campaign, and none has begun here; `resolve --design` names the classes of "
            "judgments made elsewhere"
        )
    return None


def _fourth(given: Given, campaign: Begun | None) -> pd.DataFrame:
    """Return the positives by 2 to 1, of which a fourth vote can be asked in a campaign alone."""
    if campaign is None:
        raise click.UsageError(
            f"--ask {FOURTH_VOTE} is for a campaign, and none has begun here: elsewhere nothing marks its "
            "answers, and labels would count them"
        )
    return split_positives(votes_in_order(given.judgments, grades=given.grades), given.original_if_any)


def _asked(
    ask: tuple[str, ...], budget: int | None, random_share: float | None, low_posterior: float | None
) -> tuple[str, ...]:
    """Return the strata asked, in their order."""
    asked = set(ask) or set(STRATA if budget is not None else ("dispute", "escalated"))
    for option, value, name in (
        ("--random-share", random_share, "random"),
        ("--low-posterior", low_posterior, "low_posterior"),
    ):
        if value is not None and name not in asked:
            raise click.UsageError(f"{option} is of stratum {name}, which is not asked; add --ask {name}")
    return tuple(name for name in (FOURTH_VOTE, *STRATA) if name in asked)


def _write(place: Path, planned: RoundPlan, parameters: dict[str, Any], given: Given) -> None:
    counts = dict(zip(planned.strata["stratum"], map(int, planned.strata["n_asked"]), strict=True))
    contents: dict[str, Any] = {
        "pool.csv": planned.pool,
        "plan.csv": delimited_text(planned.strata, nan="nan"),
    }
    given.write(place, contents, "next-round", parameters, counts)


def _show(
    planned: RoundPlan, number: int, campaign: Begun | None, entry: Round | None, *, as_json: bool
) -> None:
    loads = {name: sum(kinds.values()) for name, kinds in load_of(entry).items()} if entry else {}
    n_waiting = len(waiting_pairs(campaign.rounds, campaign.ledger, campaign.retired)) if campaign else 0
    if as_json:
        counts: dict[str, Any] = {"round": number, "pairs": len(planned.pool), "waiting": n_waiting}
        counts |= {"kept": planned.kept, "unused": planned.unused}
        plan = json.loads(formatted(planned.strata, "json"))
        wipe_progress()
        click.echo(json.dumps({**counts, "annotators": loads, "plan": plan}, ensure_ascii=False))
        return
    rows = [
        [name, f"{n:,}", f"{asked:,}", f"{chance:.4g}", f"{changes:,.1f}", note]
        for name, n, asked, chance, changes, note in planned.strata.itertuples(index=False)
    ]
    wipe_progress()
    click.echo(drawn(rows, list(planned.strata.columns), "table"), nl=False)
    _say_cost(planned, number)
    if loads:
        say("given to " + ", ".join(f"{name} {n:,}" for name, n in loads.items()))
    if n_waiting:
        say(f"{n_of(n_waiting, 'pair')} wait for an answer in a round that has begun")


def _say_cost(planned: RoundPlan, number: int) -> None:
    strata = planned.strata.set_index("stratum")
    n_asked = int(strata["n_asked"].sum())
    minutes = n_asked * planned.seconds / 60
    hours = f", about {minutes:.0f} minutes" if minutes < 90 else f", about {minutes / 60:,.1f} hours"
    hours = "" if math.isnan(minutes) else hours
    say(f"round {number}: {n_of(n_asked, 'pair')} to ask again{hours}")
    if planned.kept:
        say(f"{planned.kept:,} of the budget kept for the disputes that this round is expected to create")
    if planned.unused:
        say(f"{planned.unused:,} of the budget unused: what is asked here holds no more pairs")


def _warn_of_chosen_pairs(planned: RoundPlan) -> None:
    random = planned.strata.set_index("stratum").loc["random"]
    if random["n_pairs"] and not random["n_asked"]:
        say(
            "warning: the budget leaves no random share: agreement over this round would be that of chosen "
            "pairs alone, and no weight corrects for it"
        )
