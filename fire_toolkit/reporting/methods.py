"""The paragraphs of a data paper on how labels were made and how far annotators agree."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import UNITS, AgreementSummary, agreement_summary
from fire_toolkit.evidence.facts import words_of_machine
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.votes import words_of_errors
from fire_toolkit.reporting.templates import rendered_blocks
from fire_toolkit.resolution.judgments import DUPLICATE, first_round, number_annotators
from fire_toolkit.tables import Judgments
from fire_toolkit.tables.columns import PAIR

# What no file can know: the keys of [study] in fire.toml.
STUDY = ("recruitment", "qualification", "pay", "consent", "ethics")


@dataclass(frozen=True)
class MethodFacts:
    """What is known of a study; what is not known is None or empty, and is printed as a blank by its name.

    study: the texts of [study]; pool: counts and parameters of the pool's manifest; question, answers: of the
    guideline; judgments: counts of judgments, pairs, annotators, the days, seconds (quartiles) and hours;
    dropped: answers left out, by reason; excluded: annotators whom `resolve` left out, by other names, and
    why; n_later: answers of later rounds or unasked for; asked: tasks in queues by kind; policy: by which
    further votes were asked first, empty for none; seen: what annotators saw; agreement: of the first
    answers; labels_by, augmented: counts and parameters of `resolve` and `augment`; unusable: how many of
    n_queries captions were found unusable (n), of how many that is known (n_labelled), and the policy.
    """

    study: Mapping[str, str] = field(default_factory=dict)
    pool: Mapping[str, Any] | None = None
    guideline: str = ""
    question: str = ""
    answers: Sequence[str] = ()
    judgments: Mapping[str, Any] | None = None
    dropped: Mapping[str, int] | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)
    n_later: int = 0
    asked: Mapping[str, int] | None = None
    policy: str = ""
    seen: Sequence[str] = ("the caption", "the item")
    agreement: AgreementSummary | None = None
    labels_by: Mapping[str, Any] | None = None
    augmented: Mapping[str, Any] | None = None
    unusable: Mapping[str, Any] | None = None


def facts_of_judgments(
    judgments: Judgments,
    *,
    excluded: Mapping[str, str] = MappingProxyType({}),
    named: Mapping[str, str] | None = None,
    dropped: Iterable[str] | None = None,
    grades: Grades | None = None,
    level: str | None = None,
) -> dict[str, Any]:
    """Return what judgments say, as fields of `MethodFacts`.

    Args:
        judgments: all of them.
        excluded: annotators whom `resolve` left out, and why; their judgments are counted, and no more.
        named: what texts call each annotator; None: annotator 1, 2, …, the busiest first.
        dropped: why each answer that is no vote was left out; None where that is not known.
        grades, level: as in `agreement`.
    """
    numbers = number_annotators(judgments)
    named = named or {name: f"annotator {number}" for name, number in numbers.items()}
    kept = judgments[~judgments["annotator_id"].isin(list(excluded))]
    first = first_round(Judgments(kept.reset_index(drop=True)))
    seconds = judgments["duration_s"].dropna()
    moments = pd.to_datetime(judgments["created_at"], utc=True, format="ISO8601", errors="coerce").dropna()
    counts: dict[str, Any] = {
        "judgments": len(judgments),
        "pairs": len(judgments.drop_duplicates(PAIR)),
        "annotators": judgments["annotator_id"].nunique(),
        "hours": float(seconds.sum()) / 3600,
    }
    left_out = Counter(() if dropped is None else dropped)
    left_out.pop(DUPLICATE, None)
    if len(seconds):
        counts["seconds"] = tuple(seconds.quantile([0.25, 0.5, 0.75]).tolist())
    if len(moments):
        counts["days"] = tuple(str(moment.date()) for moment in (moments.min(), moments.max()))
    return {
        "judgments": counts,
        "dropped": None if dropped is None else dict(sorted(left_out.items())),
        "excluded": {named.get(name, "an annotator"): why for name, why in excluded.items()},
        "n_later": len(kept) - len(first),
        "agreement": agreement_summary(first, grades=grades, level=level),
    }


def blank(name: str) -> str:
    """Return what stands where nothing is known.

    Examples:
        >>> blank("pay")
        '[pay: not stated]'
    """
    return f"[{name}: not stated]"


def methods_paragraphs(facts: MethodFacts) -> list[tuple[str, str]]:
    """Return title and text of each paragraph, in the order of a paper.

    Examples:
        >>> title, text = methods_paragraphs(MethodFacts(study={"recruitment": "They are students"}))[1]
        >>> title, text[:44]
        ('Annotators', 'They are students. [qualification: not state')
    """
    augmented, agreement = facts.augmented or {}, facts.agreement
    errors = augmented.get("label_errors")
    return rendered_blocks(
        "reporting",
        "data/methods.txt",
        **vars(facts),
        blank=blank,
        asked_of_study=STUDY,
        statistics=[
            {**row, "title": STATISTICS[str(row["statistic"])].title}
            for row in ([] if agreement is None else agreement.table.to_dict("records"))
        ],
        units="" if agreement is None else UNITS[agreement.cluster],
        not_by_votes=[*([words_of_errors(errors)] if errors else []), *words_of_machine(augmented)],
    )


def blanks_of(paragraphs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of the blanks in paragraphs, in their order.

    Examples:
        >>> blanks_of([("Annotators", f"{blank('pay')} They agreed. {blank('ethics')}")])
        ['pay', 'ethics']
    """
    return [name for _, text in paragraphs for name in re.findall(r"\[([^\[]*): not stated\]", text)]


def drawn_paragraphs(paragraphs: pd.DataFrame, form: str) -> str:
    """Return paragraphs (title, text) as plain text, or for LaTeX, with its special characters escaped.

    Examples:
        >>> paragraphs = pd.DataFrame({"title": ["Pay"], "text": ["100% of $12"]})
        >>> print(drawn_paragraphs(paragraphs, "latex"), end="")
        \\paragraph{Pay} 100\\% of \\$12
    """
    both = zip(paragraphs["title"], paragraphs["text"], strict=True)
    if form == "latex":
        from tabulate import LATEX_ESCAPE_RULES

        written = str.maketrans(LATEX_ESCAPE_RULES | {"“": "``", "”": "''", "`": ""})
        texts = [f"\\paragraph{{{title}}} {text.translate(written)}" for title, text in both]
    else:
        texts = [f"{title}. {text}" for title, text in both]
    return "\n\n".join(texts) + "\n"
