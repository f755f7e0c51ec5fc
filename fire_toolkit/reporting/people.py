"""Annotators beside each other: what each misses of what others find, and how often every two agree."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.tables.columns import PAIR

_FEW = 10  # pairs, below which no share is given


def annotators_beside_others(judgments: Judgments, *, grades: Grades) -> pd.DataFrame:
    """Return how often each annotator misses what another calls positive, or is alone in calling it so.

    Both are shares of votes of other annotators on the same pairs, not of the truth: where one of two is
    wrong, it counts against both.

    Args:
        judgments: their first answers count, see `first_round`.
        grades: label → grade; positive from grade 1, a label whose grade is None is not a vote.

    Returns:
        By annotator_id: n_votes, positive_rate, n_shared (pairs that others voted on too), misses,
        false_alarms (nan where they rest on fewer than 10 of others' votes), seconds (the median).

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> answers = pd.DataFrame({"query_id": "q", "doc_id": [f"d{n}" for n in range(20) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 20, "label": list("11" * 8 + "01" * 2 + "00" * 10)})
        >>> table = annotators_beside_others(check_judgments(answers), grades={"0": 0, "1": 1})
        >>> table[["annotator_id", "n_shared", "misses", "false_alarms"]].values.tolist()
        [['u', 20, 0.2, 0.0], ['v', 20, nan, 0.16666666666666666]]
    """
    votes = _votes(judgments, grades)
    by = votes.groupby("annotator_id")
    both = _beside(votes)
    found, clear = both[both["is_positive_b"]], both[~both["is_positive_b"]]
    table = pd.DataFrame({"n_votes": by.size(), "positive_rate": by["is_positive"].mean()})
    shared = both.drop_duplicates(["annotator_id_a", *PAIR])["annotator_id_a"].value_counts()
    table["n_shared"] = shared.reindex(table.index, fill_value=0)
    for name, part, is_wrong in (
        ("misses", found, ~found["is_positive_a"]),
        ("false_alarms", clear, clear["is_positive_a"]),
    ):
        share = is_wrong.groupby(part["annotator_id_a"]).agg(["size", "mean"])
        table[name] = share["mean"].where(share["size"] >= _FEW)
    table["seconds"] = by["duration_s"].median()
    return table.reset_index()


def agreement_of_two(judgments: Judgments, *, grades: Grades) -> pd.DataFrame:
    """Return for every two annotators how many pairs both voted on, and the share on which they agree.

    Agreement is on being positive. Args as in `annotators_beside_others`.

    Returns:
        a, b, n_shared, agreement; only those with 10 shared pairs or more, by a and b.
    """
    both = _beside(_votes(judgments, grades))
    both = both[both["annotator_id_a"] < both["annotator_id_b"]]
    same = both["is_positive_a"] == both["is_positive_b"]
    keys = [both[f"annotator_id_{side}"].rename(side) for side in "ab"]
    table = same.groupby(keys).agg(n_shared="size", agreement="mean").reset_index()
    return table[table["n_shared"] >= _FEW].reset_index(drop=True)


def _votes(judgments: Judgments, grades: Grades) -> pd.DataFrame:
    """Return the first votes, whether each is positive, and its seconds."""
    first = first_round(judgments)
    grade = first["label"].map({name: np.nan if each is None else each for name, each in grades.items()})
    votes = first.loc[grade.notna().to_numpy(), [*PAIR, "annotator_id", "duration_s"]]
    return votes.assign(is_positive=(grade.dropna() >= 1).to_numpy())


def _beside(votes: pd.DataFrame) -> pd.DataFrame:
    """Return every vote beside each vote of another annotator on the same pair."""
    shared = votes[votes.duplicated(PAIR, keep=False)].drop(columns="duration_s")
    both = shared.merge(shared, on=PAIR, suffixes=("_a", "_b"))
    return both[both["annotator_id_a"] != both["annotator_id_b"]]
