"""Words for numbers of things, in notes, messages and texts."""

from collections.abc import Sequence


def n_of(number: int, thing: str) -> str:
    """Return a number of things in words.

    Examples:
        >>> n_of(1, "pair"), n_of(2, "pair"), n_of(1, "query"), n_of(2000, "query")
        ('1 pair', '2 pairs', '1 query', '2,000 queries')
    """
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"


def pairs_by_votes(n_pairs: Sequence[int]) -> str:
    """Return how many pairs have how many votes, in words; n_pairs: those with 0, 1, 2, … votes."""
    parts = [f"{n:,} with {votes}" for votes, n in enumerate(n_pairs[:4]) if n]
    more = sum(n_pairs[4:])
    last = f"{more:,} with 4 or more"
    return f"{n_of(sum(n_pairs), 'pair')}, {', '.join([*parts, *([last] if more else [])])}"
