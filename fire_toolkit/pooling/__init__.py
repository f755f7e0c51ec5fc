"""Runs to a pool: which pairs are to be judged, and which run brought each of them."""

from fire_toolkit.pooling.changes import pairs_to_ask as pairs_to_ask
from fire_toolkit.pooling.changes import source_changes as source_changes
from fire_toolkit.pooling.pool import PoolingResult as PoolingResult
from fire_toolkit.pooling.pool import pool_runs as pool_runs
