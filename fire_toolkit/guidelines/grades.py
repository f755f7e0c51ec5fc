"""Labels to grades: under the guideline that was named, the usual one, or as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

from fire_toolkit.errors import TableError
from fire_toolkit.guidelines.model import Grades, Guideline


def refuse_unknown_labels(found: Iterable[str], known: Collection[str], where: str) -> None:
    """Raise a TableError where a label is not one of a guideline's; `where`: what the table is called."""
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise TableError(
            f"{where}: label {', '.join(map(repr, unknown[:3]))} is not in the guideline "
            f"({len(unknown)} unknown labels); expected one of {', '.join(map(repr, known))}"
        )


# Of the default guideline; a test holds the two together.
DEFAULT_NAME = "caption-relevance-v1"
DEFAULT_GRADES: Grades = {"irrelevant": 0, "relevant": 1, "ambiguous": None}
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")


def choose_grades(
    labels: Mapping[str, int] | Iterable[str],
    *,
    guideline: Guideline | None = None,
    default: Guideline | None = None,
) -> Grades | None:
    """Return the grades that fit `labels` when a guideline may or may not have been named.

    Args:
        labels: label names as they stand in judgments, any number of times each; or how often each stands.
        guideline: the one that the user named, or None.
        default: the one to try when none was named; None: the one that fire-toolkit brings.

    Returns:
        The named guideline's grades, of all its labels in its order; None for an answer that is not a vote.
        Else, if every label is a number, each its own grade, in numeric order; else the default's grades if
        it has every label (also when there is no label); else, if it has none of them, None: the labels are
        categories without grades.

    Raises:
        TableError: a label that the named guideline does not have, or that the default does not have where
            it has others, with counts; two labels that are the same number.

    Examples:
        >>> choose_grades(["relevant", "relevant"])
        {'irrelevant': 0, 'relevant': 1, 'ambiguous': None}
        >>> choose_grades(["2", "0", "1.5"]), choose_grades(["yes", "no"])
        ({'0': 0, '1.5': 1.5, '2': 2}, None)
    """
    counts = Counter(labels)
    if guideline is None and counts and all(map(_NUMBER.fullmatch, counts)):
        numbers: Grades = {label: float(label) if "." in label else int(label) for label in counts}
        ordered = sorted(numbers.items(), key=lambda each: (each[1], each[0]))
        for (label, number), (following, other) in pairwise(ordered):
            if number == other:
                raise TableError(
                    f"labels {label!r} and {following!r} are the same number; write it one way in every row"
                )
        return dict(ordered)
    rules = guideline or default
    name, grades = (rules.name, rules.grades) if rules else (DEFAULT_NAME, DEFAULT_GRADES)
    unknown = {label: n for label, n in counts.items() if label not in grades}
    if guideline is None and counts and len(unknown) == len(counts):
        return None
    if unknown:
        most = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
        named = ", ".join(f"{label!r} ({n})" for label, n in most[:5])
        named += f" and {len(most) - 5} more" if len(most) > 5 else ""
        raise TableError(
            f"labels that guideline {name} does not have: {named}; it has {', '.join(grades)}; "
            "name the guideline they were given under, or correct them"
        )
    return grades
