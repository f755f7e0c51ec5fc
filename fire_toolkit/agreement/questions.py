"""Agreement on each question of a guideline: the label, whether to escalate, each flag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from fire_toolkit.agreement.registry import DEFAULTS
from fire_toolkit.agreement.table import agreement
from fire_toolkit.agreement.votes import Grades
from fire_toolkit.guidelines.grades import usual_grades
from fire_toolkit.tables import Agreement, Judgments, first_round

NO, YES = "0", "1"
BY_OTHERS = "edited-by-other"  # a flag that an import sets, no answer


def agreement_by_question(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    statistics: Sequence[str] = DEFAULTS,
    all_rounds: bool = False,
) -> Agreement:
    """Return agreement on each question that annotators answered of a pair.

    Args:
        judgments, grades, level, statistics, all_rounds: as in `agreement`.

    Returns:
        As `agreement`, with the group `label` for the labels that are votes; `escalated`, whether the answer
        is a label that is not a vote, if any is; and `flag NAME` for each flag that anybody set. To the last
        two all answers are yes or no, whatever their label, and positive is yes.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aabb"), "annotator_id": list("uvuv"),
        ...     "label": list("1100"), "flags": ["sad", "", "sad", "sad"]}))
        >>> table = agreement_by_question(judgments, statistics=["percent_agreement"])
        >>> table[["group", "value"]].values.tolist()
        [['label', 1.0], ['flag sad', 0.5]]
    """
    judgments = judgments if all_rounds else first_round(judgments)
    rest = {"statistics": statistics, "inclusion": None, "all_rounds": True}
    plain = agreement(judgments, grades=grades, level=level, **rest)  # type: ignore[arg-type]
    tables = [plain.assign(group="label")]
    for question, is_yes in _yes_or_no(judgments, grades):
        answers = Judgments(judgments.assign(label=is_yes.map({False: NO, True: YES}).astype("str")))
        found = agreement(answers, grades={NO: 0, YES: 1}, **rest)  # type: ignore[arg-type]
        tables.append(found.assign(group=question))
    return Agreement(pd.concat(tables, ignore_index=True))


def _yes_or_no(judgments: Judgments, grades: Grades | None) -> Iterator[tuple[str, pd.Series]]:
    known = usual_grades(judgments["label"]) if grades is None else grades
    no_votes = [label for label, grade in (known or {}).items() if grade is None]
    escalated = judgments["label"].isin(no_votes)
    if escalated.any():
        yield "escalated", escalated
    flags = judgments["flags"].fillna("")
    names = sorted({flag for joined in flags.unique() for flag in joined.split(";")} - {"", BY_OTHERS})
    for name in names:
        yield f"flag {name}", flags.map(lambda joined, name=name: name in joined.split(";"))
