"""A design's cost and outcomes where it is known, or assumed, what is true."""

from fire_toolkit.measures import parse_measures
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.outcomes import Cost, Outcome, Tops, cost_of, outcomes_of, told_rates
from fire_toolkit.planning.relevance import Truths


def planned(
    read: Lists, everything: Lists, design: Design, truths: Truths, *names: str, seed: int = 0
) -> tuple[Cost, dict[tuple[str, str], Outcome]]:
    """Return the cost, and the outcomes by measure and estimate."""
    cost, found = cost_of(read, everything, design, truths, seed=seed), {}
    told = told_rates(design, cost, truths)
    for measure in filter(design.predicts, parse_measures(names)):
        own = outcomes_of(read, design, cost, truths, Tops(read, truths, measure), told)
        found |= {(measure.name, each.estimate): each for each in own}
    return cost, found
