"""Runs × qrels × measures → scores.

Read `score` first, then `notes`, which says what a reader of the scores must know. `drawn` draws them as the
table of a paper. Other shapes: `bidirectional` (texts to items and back, folds), and `tifa`. `expect` holds a
run to the score that its log printed, and to chance.
"""

from fire_toolkit.scoring.score import Scoring as Scoring
from fire_toolkit.scoring.score import score_curves as score_curves
from fire_toolkit.scoring.score import score_runs as score_runs
