"""What `next-round --strategy` asks: pairs that nobody was asked, and those that need one more vote."""

from __future__ import annotations

from fire_toolkit.cli.common import setting_or_default, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.pool import pool_given, write_pool
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling import PoolingResult
from fire_toolkit.tables import Pool, check_pool
from fire_toolkit.workspace.config import SETTINGS


def pool_by(given: Given, strategy: str) -> tuple[Pool, int]:
    """Pool the workspace's runs into its pool by a strategy, from the labels so far.

    Returns:
        The judged pairs that need one more vote, as a pool, and their round; new pairs get the round after
        it, or this one where there are none.

    Raises:
        UsageError: there is no workspace here.
    """
    folder = workspace_path("pool")
    if folder is None:
        raise UsageError("--strategy is for a workspace; elsewhere: fire-toolkit pool RUN... --strategy")
    given.values["runs"] = ()
    parameters = {name: setting_or_default(None, "pool", name) for name in SETTINGS["pool"]}
    parameters["strategy"] = strategy
    result, earlier = pool_given(given, parameters)
    number = earlier.next_round or 1
    again = result.again.assign(round=number, stratum="again", inclusion_probability=1.0)
    write_pool(given, folder, parameters, _put_off(result, number) if len(again) else result, earlier)
    return check_pool(again), number


def _put_off(result: PoolingResult, number: int) -> PoolingResult:
    """Return a pool whose new pairs, of round `number`, are of the next one."""
    pool = result.pool.assign(round=result.pool["round"] + (result.pool["round"] == number))
    counts = result.counts | ({"round": number + 1} if result.counts.get("to_ask") else {})
    return result._replace(pool=check_pool(pool), counts=counts)
