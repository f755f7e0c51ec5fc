"""Runs × qrels × measures → scores."""

from fire_toolkit.scoring.curves import score_curves
from fire_toolkit.scoring.notes import Note
from fire_toolkit.scoring.score import Scoring, score_runs

__all__ = ["Note", "Scoring", "score_curves", "score_runs"]
