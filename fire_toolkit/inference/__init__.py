"""What corrected labels mean: scores with their bounds and intervals, and differences that hold."""

from fire_toolkit.inference.binomial import clopper_pearson, mcnemar, wilson
from fire_toolkit.inference.bounds import is_bounded, score_bounds, why_unbounded
from fire_toolkit.inference.contributions import Contributions, contributions
from fire_toolkit.inference.coverage import Coverage, coverage
from fire_toolkit.inference.differences import Differences, holm, score_differences, sign_flip_p
from fire_toolkit.inference.honest import Honest, scores_with_uncertainty
from fire_toolkit.inference.leave_out import LeftOut, leave_out, score_changes
from fire_toolkit.inference.orders import Orders, compare_orders, kendall_p, kendall_tau, tau_ap

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
    "is_bounded",
    "kendall_p",
    "kendall_tau",
    "leave_out",
    "mcnemar",
    "score_bounds",
    "score_changes",
    "score_differences",
    "scores_with_uncertainty",
    "sign_flip_p",
    "tau_ap",
    "why_unbounded",
    "wilson",
]
