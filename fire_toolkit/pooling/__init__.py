"""Runs to a pool: which pairs are to be judged, and which run brought each of them."""

from fire_toolkit.pooling.changes import pairs_to_ask, source_changes
from fire_toolkit.pooling.pool import PoolingResult, pool_runs

__all__ = ["PoolingResult", "pairs_to_ask", "pool_runs", "source_changes"]
