"""What `augment` decided of the original qrels, done to them wherever both are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fire_toolkit.cli.common import say, setting_or_default
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.qrels import highest_grade, lift_originals
from fire_toolkit.tables import Qrels
from fire_toolkit.workspace.manifests import writer_of

GRADE, GRADES = "original_grade", "grades"


def original_grade(inputs: Inputs, original: Qrels, wanted: int | None = None) -> int | None:
    """Return the grade at which original positives count beside the labels; None: the one they have.

    wanted: what `--original-grade` says. Without it the highest grade of the guideline, where `resolve` wrote
    that it has three or more and the original qrels have one.
    """
    if wanted is not None or highest_grade(original) > 1:
        return wanted
    grades = _parameters(inputs.found("labels")).get(GRADES)
    return max(grades.values()) if grades else None


def policy_of(inputs: Inputs) -> str:
    """Return the policy on rejected originals that made the augmented qrels, else that of `fire.toml`."""
    made_by = _of_augmented(inputs).get("policy")
    return str(made_by or setting_or_default(None, "augment", "policy"))


def as_augmented(inputs: Inputs, original: Qrels) -> Qrels:
    """Return the original qrels with their positives at the grade that the augmented qrels give them."""
    grade = _of_augmented(inputs).get(GRADE)
    if grade is None and inputs.values.get("labels"):  # `score --honest` joins them itself
        grade = original_grade(inputs, original)
    if grade in (None, 1):
        return original
    say(
        f"note: original positives count at grade {grade}, as in the augmented qrels; measures without gains "
        f"count docs from grade 1 (C@k:rel={grade}: those of grade {grade} alone)"
    )
    return lift_originals(original, grade=int(grade))


def _of_augmented(inputs: Inputs) -> dict[str, Any]:
    is_its_own = not inputs.values.get("qrels") or inputs.values.get("augmented")
    return _parameters(inputs.found("augmented") if is_its_own else None)


def _parameters(path: Path | None) -> dict[str, Any]:
    """Return the parameters of the stage that wrote `path`; none for a file of somebody's own."""
    writer = writer_of(path) if path else None
    return dict(writer.parameters) if writer else {}
