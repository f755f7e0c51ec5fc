"""What `augment` decided of the original qrels, done to them wherever both are compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fire_toolkit.cli.common import say, setting_or_default
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.evidence.qrels import grade_of_originals, highest_grade, lift_originals
from fire_toolkit.tables import Labels, Qrels
from fire_toolkit.workspace.manifests import writer_of

GRADE, GRADES = "original_grade", "grades"


def original_grade(
    inputs: Inputs, original: Qrels, labels: Labels, wanted: int | None = None
) -> tuple[int | None, str]:
    """Return the grade at which original positives count beside the labels, and where it is from.

    wanted: what `--original-grade` says. Without it the highest grade of the guideline, where `resolve` wrote
    that it has three or more, else the highest of the labels; None where that is 1, or where the original
    qrels have grades of their own.
    """
    if wanted is not None:
        return wanted, "as --original-grade says"
    if highest_grade(original) > 1:
        return None, ""
    if (of_guideline := guideline_grade(inputs)) is not None:
        return of_guideline, "the highest of the guideline"
    return grade_of_originals(original, labels), "the highest in the labels"


def guideline_grade(inputs: Inputs) -> int | None:
    """Return the highest grade of the guideline of the labels; None where it is not known to have several."""
    grades = _parameters(inputs.found("labels")).get(GRADES)
    return int(max(grades.values())) if grades else None


def policy_of(inputs: Inputs) -> str:
    """Return the policy on rejected originals that made the augmented qrels, else that of `fire.toml`."""
    made_by = _of_augmented(inputs).get("policy")
    return str(made_by or setting_or_default(None, "augment", "policy"))


def grade_beside(inputs: Inputs, tables: Callable[[], tuple[Qrels, Labels]]) -> tuple[int | None, str]:
    """Return the grade of original positives beside what the command compares them with, and its source.

    tables: returns the original qrels and the labels, where these decide it.
    """
    grade = _of_augmented(inputs).get(GRADE)
    if grade is not None:
        return int(grade), "as in the augmented qrels"
    if inputs.values.get("labels") or inputs.values.get("honest"):  # which joins them itself
        return original_grade(inputs, *tables())
    return None, ""


def as_augmented(original: Qrels, grade: int | None, source: str) -> Qrels:
    """Return the original qrels with their positives at the grade that the augmented qrels give them."""
    if grade in (None, 1):
        return original
    say(
        f"note: original positives count at grade {grade} ({source}); measures without gains count docs "
        f"from grade 1 (C@k:rel={grade}: those of grade {grade} alone)"
    )
    return lift_originals(original, grade=grade)


def _of_augmented(inputs: Inputs) -> dict[str, Any]:
    return _parameters(_augmented(inputs))


def _augmented(inputs: Inputs) -> Path | None:
    """Return the augmented qrels given, else the workspace's where they correct its own, else None."""
    is_its_own = not inputs.values.get("qrels") or inputs.values.get("augmented")
    return inputs.found("augmented") if is_its_own else None


def _parameters(path: Path | None) -> dict[str, Any]:
    """Return the parameters of the stage that wrote `path`; none for a file of somebody's own."""
    writer = writer_of(path) if path else None
    return dict(writer.parameters) if writer else {}
