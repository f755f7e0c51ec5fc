"""What corrected labels mean: scores with their bounds and intervals, and differences that hold."""

from fire_toolkit.certainty.binomial import clopper_pearson, mcnemar, wilson
from fire_toolkit.certainty.bounds import is_bounded, score_bounds
from fire_toolkit.certainty.differences import Differences, holm, score_differences, sign_flip_p
from fire_toolkit.certainty.honest import Honest, honest_scores

__all__ = [
    "Differences",
    "Honest",
    "clopper_pearson",
    "holm",
    "honest_scores",
    "is_bounded",
    "mcnemar",
    "score_bounds",
    "score_differences",
    "sign_flip_p",
    "wilson",
]
