"""A pair's design class: how many votes it gets and when it gets more, fixed before any vote is seen.

A class is a rule on the pair's own votes alone. It may depend on the votes of other pairs, not on its own.
"""

import re

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import TableError

SINGLE, DOUBLED, VERIFY = "single", "doubled", "verify"
RECHECK = "recheck"  # asked again because somebody doubted its label: no design, and no known errors
CLASSES = (SINGLE, DOUBLED, VERIFY)
UNTIL_CONFIRMED = "until-confirmed"  # positives verified, as long as runs' C@k hangs on them
DESIGN = ["design_class", "design_votes"]
OPEN = -1
DEPTHS = (1, 5, 10)  # the k of the C@k that `until-confirmed` is to settle
RRF = 60  # the constant of reciprocal rank fusion, as published

# The votes that make a label by each class; the last of them is the label.
_MAKING = {SINGLE: "[01]", DOUBLED: "00|11|[01]{3}", VERIFY: "0|11|10[01]", RECHECK: "(?!)", "": "(?!)"}


def label_by_design(design_class: str, votes: str) -> int:
    """Return the label that a pair's votes make by its class: 1, 0, or `OPEN` while a vote is missing.

    Args:
        design_class: `single`: the first vote; `doubled`: two votes, and a third one where they differ;
            `verify`: one vote, a second one if it is positive, and a third one where they differ;
            `recheck`: none, for its label hangs on who looked at it; empty: not decided yet.
        votes: the votes in the order of the design, 1 for positive: `1`, `00`, `101`. What comes after the
            last vote of the design is not read.

    Raises:
        TableError: an unknown class; votes of other signs.

    Examples:
        >>> [label_by_design("verify", votes) for votes in ("0", "1", "11", "10", "101")]
        [0, -1, 1, -1, 1]
        >>> label_by_design("doubled", "0"), label_by_design("single", "011")
        (-1, 0)
    """
    if design_class not in _MAKING or set(votes) - {"0", "1"}:
        raise TableError(
            f"design class {design_class!r} with votes {votes!r}; expected one of {', '.join(CLASSES)}, and "
            "a 1 or 0 for each vote"
        )
    made = re.match(_MAKING[design_class], votes)
    return int(made[0][-1]) if made else OPEN


def split_votes(design_class: str, votes: str) -> tuple[str, str]:
    """Return the votes that make a pair's label by its class, and those beyond it: none while it is open.

    Examples:
        >>> [split_votes("verify", votes) for votes in ("01", "1", "110", "101")]
        [('0', '1'), ('1', ''), ('11', '0'), ('101', '')]
    """
    made = re.match(_MAKING.get(design_class, _MAKING[""]), votes)
    n_own = made.end() if made else len(votes)
    return votes[:n_own], votes[n_own:]


def labels_by_design(table: pd.DataFrame) -> Ints:
    """Return `label_by_design` of each row of a table with the columns design_class and design_votes.

    Examples:
        >>> labels_by_design(pd.DataFrame({"design_class": ["single", "verify"], "design_votes": ["0", "1"]}))
        array([ 0, -1])
    """
    codes, kinds = kinds_of_votes(table)
    return np.array([label_by_design(*kind) for kind in kinds], dtype=np.int64)[codes]


def kinds_of_votes(table: pd.DataFrame) -> tuple[Ints, list[tuple[str, str]]]:
    """Return the code of each row's class and votes, and the class and votes of each code."""
    codes, kinds = pd.factorize(table["design_class"].fillna("") + ":" + table["design_votes"].fillna(""))
    parts = (kind.split(":", 1) for kind in kinds)
    return np.asarray(codes, dtype=np.int64), [(name, votes) for name, votes in parts]
