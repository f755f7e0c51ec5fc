"""Runs × qrels × measures → scores."""

from fire_toolkit.scoring.curves import score_curves as score_curves
from fire_toolkit.scoring.notes import Note as Note
from fire_toolkit.scoring.score import Scoring as Scoring
from fire_toolkit.scoring.score import score_runs as score_runs
