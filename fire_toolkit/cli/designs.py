"""The design of what is asked: which pairs get how many votes, from the campaign or a file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.records import FOLDER
from fire_toolkit.campaign.views import first_asked
from fire_toolkit.cli.campaigns import Begun, begun_here
from fire_toolkit.cli.common import n_of, named_file, say
from fire_toolkit.cli.given import Given, reads
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import COLUMNS, read_design, read_pool, read_pool_sources
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.resolution.design import (
    VERIFY_POSITIVES,
    decide_classes,
    design_pairs,
    open_pairs,
    votes_in_order,
)
from fire_toolkit.tables import Judgments
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import UNTIL_CONFIRMED, VERIFY
from fire_toolkit.tables.further import DEEP
from fire_toolkit.workspace.manifests import write_files

FILE = "design.csv"


@reads
def design(given: Given) -> pd.DataFrame | None:
    """How many votes each pair was to get: as the file given has it, else the campaign; None: not known."""
    named = read_design(given.use(given.values["design"])) if given.values["design"] else None
    campaign = begun_here()
    if campaign is None or given.values.get("judgments") is not None:
        return named
    recorded = campaign.root / FOLDER / FILE
    known = read_design(recorded) if recorded.is_file() else None
    own = _extended(known, campaign, None, None)
    return own if named is None else pd.concat([named, own[pair_rows(own, named) < 0]], ignore_index=True)


def policy_of(root: Path) -> str | None:
    """Return the policy that a campaign's record names; None where it has none."""
    path = root / FOLDER / FILE
    if not path.is_file():
        return None
    design = read_design(path)
    if design["cells"].ne("").any():  # no other policy goes by where runs rank a pair
        return UNTIL_CONFIRMED
    return VERIFY_POSITIVES if (design["design_class"] == VERIFY).any() else None


def check_policy(root: Path, policy: str | None) -> str | None:
    """Return the policy that holds from now on: the one given, else the one recorded, else None.

    Raises:
        UsageError: another policy was recorded, or until-confirmed without the workspace's pool sources.
    """
    before = policy_of(root)
    if policy and before and policy != before:
        raise UsageError(
            f"the campaign's policy is {before}, and votes were asked by it; it cannot be {policy} now"
        )
    sources = root / "pool" / "pool_sources.csv"
    if policy == UNTIL_CONFIRMED and not sources.is_file():
        raise UsageError(
            f"{sources}: no such file; {policy} goes by where runs rank a pair, so run `pool` first"
        )
    return policy or before


def record_design(root: Path, policy: str | None, *, is_kept: bool = True) -> pd.DataFrame | None:
    """Return the design of all pairs that the campaign asks first, and write it down; None without a policy.

    What is written already stays. is_kept: whether it is written at all.
    """
    chosen = check_policy(root, policy)
    campaign = begun_here()
    if chosen is None or campaign is None:
        return None
    path = root / FOLDER / FILE
    known = read_design(path) if path.is_file() else None
    found = _extended(known, campaign, chosen, root)
    if is_kept:
        write_files({path: delimited_text(found[COLUMNS]).encode()})
    if known is None:
        counts = found["design_class"].value_counts()
        named = ", ".join(f"{n:,} {name}" for name, n in counts.items())
        say(f"policy {chosen}: {n_of(len(found), 'pair')} by design ({named}), in {FOLDER}/{FILE}")
    return found


def open_by_design(design: pd.DataFrame | None, judgments: Judgments, grades: Grades) -> pd.DataFrame | None:
    """Return the pairs that a policy asks again, by the votes so far; None without a policy."""
    if design is None:
        return None
    return open_pairs(decide_classes(design, votes_in_order(judgments, grades=grades)))


def _extended(
    known: pd.DataFrame | None, campaign: Begun, policy: str | None, root: Path | None
) -> pd.DataFrame:
    """Return a design with the pairs that rounds ask first and it does not hold yet."""
    with campaign.store() as store:
        asked = first_asked(store)
    fresh = asked if known is None else asked[pair_rows(asked, known) < 0]
    if known is not None and not len(fresh):
        return known
    sources = original = deep = None
    if root:
        path = root / "pool" / "pool.csv"
        pool = read_pool(path) if path.is_file() else None
        if pool is not None and "stratum" in pool:  # asked because they, or their queries, were drawn
            deep = pool.loc[(pool["stratum"] == DEEP) | (pool["inclusion_probability"] < 1), PAIR]
        named = named_file("qrels", "collection")
        original = read_qrels(named) if named and named.is_file() else None
        sources = read_pool_sources(root / "pool" / "pool_sources.csv") if policy == UNTIL_CONFIRMED else None
    added = design_pairs(fresh, policy=policy, sources=sources, original=original, deep=deep)
    return added if known is None else pd.concat([known, added], ignore_index=True)
