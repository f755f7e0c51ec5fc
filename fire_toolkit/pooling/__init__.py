"""Runs to a pool: which pairs are to be judged, and which run brought each of them.

Read `pool` first, then `candidates`: what a strategy chooses from and what it returns. A strategy is one
file: `orders` (depth and rrf), `move_to_front`, `settle`, `strata`, `machine`; `registry` names them. `tops`
reads the tops of all runs once, `draws` gives each pair its number for
samples, with `deep_queries` and `score_strata` on top. `changes` compares with an earlier pool, and `words`
says what was found.
"""

from fire_toolkit.pooling.changes import pairs_to_ask as pairs_to_ask
from fire_toolkit.pooling.changes import source_changes as source_changes
from fire_toolkit.pooling.pool import PoolingResult as PoolingResult
from fire_toolkit.pooling.pool import pool_runs as pool_runs
