"""What corrected labels mean: scores with their bounds and intervals, and differences that hold."""

from fire_toolkit.certainty.binomial import clopper_pearson, mcnemar, wilson
from fire_toolkit.certainty.bounds import is_bounded, score_bounds, why_unbounded
from fire_toolkit.certainty.contributions import Contributions, contributions
from fire_toolkit.certainty.coverage import Coverage, coverage
from fire_toolkit.certainty.differences import Differences, holm, score_differences, sign_flip_p
from fire_toolkit.certainty.honest import Honest, honest_scores
from fire_toolkit.certainty.leave_out import LeftOut, leave_out
from fire_toolkit.certainty.orders import Orders, compare_orders, kendall_p, kendall_tau, tau_ap

__all__ = [
    "Contributions",
    "Coverage",
    "Differences",
    "Honest",
    "LeftOut",
    "Orders",
    "clopper_pearson",
    "compare_orders",
    "contributions",
    "coverage",
    "holm",
    "honest_scores",
    "is_bounded",
    "kendall_p",
    "kendall_tau",
    "leave_out",
    "mcnemar",
    "score_bounds",
    "score_differences",
    "sign_flip_p",
    "tau_ap",
    "why_unbounded",
    "wilson",
]
