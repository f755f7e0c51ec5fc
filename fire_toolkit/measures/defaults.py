"""The measures that stand for a purpose, and those taken where none is named: the one list of them.

A workspace's own (`fire.toml`, [score] measures) have their default beside the other settings.
"""

from fire_toolkit.measures.definition import Measure
from fire_toolkit.measures.names import parse_measure

# FIRE's tables; the first of them where there is room for one.
PAPER = ("C@1", "C@5", "C@10", "AP@20")

# `score` and its kin, unless a workspace names others.
SCORE = ("C@1", "C@5", "C@10", "AP", "nDCG@10", "MedR", "Judged@10")

# `reuse`: a hit, a graded measure, and those made for holes in the judgments.
REUSABILITY = (
    *("C@1", "C@10", "nDCG@10"),
    *("C@10:condensed", "bpref", "infAP", "RBP(p=0.8)", "RBP_residual(p=0.8)"),
)
INFLUENCE = REUSABILITY[:3]
COVERAGE = (*REUSABILITY[:2], "P@10")  # of which judging the run's own docs leaves nothing open
DEMO = ("C@1", "C@5", "C@10", "AP", "MedR", "Judged@10")
DEMO_SHOWN = ("C@1", "AP")

# `plan`: what a pilot of the top ranks can tell.
PLANNED = ("C@1", "C@10")

# Whether a model's first answer is right: what its log prints, and what is far from chance.
FIRST = PAPER[0]

# What papers print for each direction, by their names.
DIRECTION_CUTOFFS = (1, 5, 10)
DIRECTION = {f"R@{k}": f"C@{k}" for k in DIRECTION_CUTOFFS} | {"MedR": "MedR", "MnR": "MnR"}

# The vectors over ranks of `score --curves`, each with a cutoff, and the curve over recall.
BY_RANK = ("P", "R", "CG", "nCG", "DCG", "nDCG", "DCG_J", "nDCG_J")
PRECISION_AT_RECALL = "IPrec"

# Whose estimates from few judgments were compared with the truth (benchmarks/estimates.py), by their keys:
# from queries judged deep, from pairs drawn in strata as a ratio of totals, and those that are estimates.
ESTIMATED_BY_QUERIES = ("AP", "AP/min", "mAP@R", "nDCG", "R", "Rprec", "FT")
ESTIMATED_BY_TOTALS = ("R",)
ESTIMATES = ("xinfAP", "xinfAP/nist", "infNDCG", "infNDCG/nist", "iP")
LEAST_DRAWN = 5  # positives a query that sampled strata must hold, for these not to be biased (a guess)


def solved_at(k: int) -> Measure:
    """Return the measure that is 1 where a positive stands in the top k."""
    return parse_measure(f"C@{k}")


def judged_at(k: int) -> Measure:
    """Return the share of the top k that is judged, which stands beside scores."""
    return parse_measure(f"Judged@{k}")
