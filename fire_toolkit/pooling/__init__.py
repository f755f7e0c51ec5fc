"""Runs to a pool: which pairs are to be judged, and which run brought each of them."""

from fire_toolkit.pooling.depth import PoolingResult, pool_runs

__all__ = ["PoolingResult", "pool_runs"]
