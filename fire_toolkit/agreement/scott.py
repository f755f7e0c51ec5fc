"""Scott's pi, over every two annotators."""

from __future__ import annotations

from fire_toolkit.agreement.cohen import corrected, pairwise_mean
from fire_toolkit.agreement.confusions import Confusions
from fire_toolkit.agreement.votes import Floats, Votes


def scott_pi(votes: Votes, level: str) -> tuple[float, str]:
    """Return Scott's pi of every two annotators, averaged by the number of pairs they share.

    As Cohen's kappa, but chance agreement is that of the two annotators' pooled label shares (Scott 1955).
    """
    return pairwise_mean(votes, scott_pis)


def scott_pis(confusions: Confusions) -> Floats:
    """Return each two annotators' pi; nan where both gave one and the same label throughout."""
    pooled = confusions.tables.sum(axis=2) + confusions.tables.sum(axis=1)
    shares = pooled / (2 * confusions.n_shared[:, None])
    return corrected(confusions.agreeing, (shares**2).sum(axis=1))
