"""Plans before judging: power, cost, and what designs are expected to get wrong, by simulation."""
