"""Runs to a pool: which pairs are to be judged, and which run brought each of them.

Read `pool` first, then `candidates`: what a strategy chooses from and what it returns. A strategy is one
file: `orders` (depth and rrf), `move_to_front`, `settle`, `strata`, `machine`; `registry` names them. `draws`
gives each pair and query its number for samples, and `words` says what was found, and what has changed since
an earlier pool.
"""
