"""The paragraphs of a data paper on how labels were made and how far annotators agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.summary import UNITS, AgreementSummary
from fire_toolkit.tables.machine import words_of_machine
from fire_toolkit.words import n_of

# What no file can know: the keys of [study] in fire.toml, and what a checklist asks under that name.
STUDY = {
    "recruitment": "who the annotators are and how they were recruited",
    "qualification": "training, and the test that annotators passed",
    "pay": "what they were paid, and for which time",
    "consent": "what they were told and agreed to",
    "ethics": "the review that approved the study, or why none was needed",
}


@dataclass(frozen=True)
class MethodFacts:
    """What is known of a study; what is not known is None or empty, and is printed as a blank by its name.

    study: the texts of [study]; pool: counts and parameters of the pool's manifest; question, answers: of the
    guideline; judgments: counts of judgments, pairs, annotators, the days, seconds (quartiles) and hours;
    dropped: answers left out, by reason; n_later: answers of later rounds or unasked for; asked: tasks in
    queues by kind; policy: by which further votes were asked first, empty for none; shows_item: annotators
    saw the item, and not the caption alone; agreement: of the first answers; labels_by, augmented: counts
    and parameters of `resolve` and `augment`; unusable: how many of n_queries captions were found unusable
    (n), of how many that is known (n_labelled), and the policy.
    """

    study: Mapping[str, str] = field(default_factory=dict)
    pool: Mapping[str, Any] | None = None
    guideline: str = ""
    question: str = ""
    answers: Sequence[str] = ()
    judgments: Mapping[str, Any] | None = None
    dropped: Mapping[str, int] | None = None
    n_later: int = 0
    asked: Mapping[str, int] | None = None
    policy: str = ""
    shows_item: bool = True
    agreement: AgreementSummary | None = None
    labels_by: Mapping[str, Any] | None = None
    augmented: Mapping[str, Any] | None = None
    unusable: Mapping[str, Any] | None = None


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
    parts = {
        "Pool": _pool(facts),
        "Annotators": _annotators(facts),
        "Procedure": _procedure(facts),
        "Exclusions": _exclusions(facts),
        "Agreement": _agreement(facts),
        "Labels": _labels(facts),
    }
    return [(title, " ".join(sentences)) for title, sentences in parts.items()]


def blanks_of(paragraphs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of the blanks in paragraphs, in their order.

    Examples:
        >>> blanks_of([("Annotators", f"{blank('pay')} They agreed. {blank('ethics')}")])
        ['pay', 'ethics']
    """
    found = []
    for _, text in paragraphs:
        found += [part.split(": not stated]")[0] for part in text.split("[")[1:] if ": not stated]" in part]
    return found


_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "“": "``",
    "”": "''",
}


def drawn_paragraph(title: str, text: str, form: str) -> str:
    """Return a paragraph as plain text, or for LaTeX, with its special characters escaped.

    Examples:
        >>> print(drawn_paragraph("Pay", "100% of $12", "latex"))
        \\paragraph{Pay} 100\\% of \\$12
    """
    if form == "latex":
        return f"\\paragraph{{{title}}} {''.join(_LATEX.get(char, char) for char in text)}"
    return f"{title}. {text}"


def _pool(facts: MethodFacts) -> Iterator[str]:
    if facts.pool is None:
        yield blank("pool")
        return
    n = facts.pool
    yield (
        f"Pairs were pooled from the top {n['depth']} of {n['runs']:,} runs{_chosen(n)}: {n['pairs']:,} "
        f"pairs of {n['queries']:,} queries."
    )
    if n.get("deep_queries"):
        yield (
            f"For {n_of(n['deep_queries'], 'query')}, drawn at random (seed {n['seed']}), the top "
            f"{n['deep_depth']} of each run were pooled."
        )
    if str(n.get("strategy")).startswith("strata"):
        yield f"Strata (from rank, to rank, rate) were drawn at random (seed {n['seed']})."
    if n.get("settled"):
        measure, n_open = n["settled"]["measure"], n["settled"]["open_queries"]
        left = f", but for {n_of(n_open, 'query')}" if n_open else ""
        yield (
            f"Asked was only what could still change {measure} of these runs{left}; for other runs and other "
            "measures the labels are not complete."
        )
    if "originals_in_pool" in n:
        yield f"{n['originals_in_pool']:,} of {n['originals']:,} original positives are among them."


def _chosen(pool: Mapping[str, Any]) -> str:
    """Return how the pairs were chosen among those of the runs' tops; empty where all were pooled."""
    limits = [f"{pool['per_query']:,} a query"] if pool.get("per_query") else []
    limits += [f"{pool['budget']:,} in all"] if pool.get("budget") else []
    by = f", chosen by {pool['strategy']}" if pool.get("strategy", "depth") != "depth" or limits else ""
    return by + (f", at most {' and '.join(limits)}" if limits else "")


def _annotators(facts: MethodFacts) -> Iterator[str]:
    for name in STUDY:
        text = facts.study.get(name, "").strip()
        yield blank(name) if not text else text if text.endswith((".", "!", "?")) else f"{text}."
    if facts.judgments is None:
        yield blank("judgments")
        return
    n = facts.judgments
    annotators = n_of(n["annotators"], "annotator")
    yield f"{annotators} gave {n['judgments']:,} judgments of {n['pairs']:,} pairs."
    if n.get("days"):
        first, last = n["days"]
        yield f"They worked on one day, {first}." if first == last else f"They worked from {first} to {last}."
    else:
        yield blank("dates")
    if n.get("seconds"):
        low, middle, high = n["seconds"]
        yield (
            f"A judgment took {middle:.1f} seconds in the median (quartiles {low:.1f} and {high:.1f}), "
            f"{n['hours']:,.1f} hours in all."
        )
    else:
        yield blank("time")


def _procedure(facts: MethodFacts) -> Iterator[str]:
    if facts.question:
        answers = ", ".join(facts.answers)
        yield f"By guideline {facts.guideline} they answered “{facts.question}” with one of: {answers}."
    else:
        yield blank("guideline")
    if facts.asked:
        if facts.shows_item:
            yield "They saw the caption and the item, but no model or rank, nor which item is the original."
        else:
            yield "They saw the caption alone."
        n = facts.asked
        yield (
            f"{n.get('overlap', 0):,} pairs were assigned to a second annotator by design, "
            f"{n.get('adjudication', 0):,} were asked again in later rounds."
        )
        if facts.policy:
            yield f"Further votes were first asked by the policy {facts.policy}."
        if n.get("recheck"):
            yield f"{n['recheck']:,} more were asked again because somebody doubted their label."
        if n.get("training") or n.get("control"):
            yield (
                f"Queues held {n.get('training', 0):,} training tasks and {n.get('control', 0):,} controls, "
                "pairs of known answer, which are not votes."
            )
    if facts.agreement is None:
        yield blank("overlap")
        return
    by_votes = facts.agreement.n_pairs_by_votes
    several = sum(by_votes[2:])
    yield (
        f"Among first answers {by_votes[1]:,} pairs have one vote and {several:,} two or more "
        f"({several / max(sum(by_votes), 1):.1%})."
    )


def _exclusions(facts: MethodFacts) -> Iterator[str]:
    if facts.dropped is None:
        yield blank("exclusions")
    elif facts.dropped:
        counted = ", ".join(f"{n:,} {reason.replace('_', ' ')}" for reason, n in facts.dropped.items())
        yield f"Of the answers {sum(facts.dropped.values()):,} are not votes: {counted}."
    excluded = (facts.labels_by or {}).get("excluded", {})
    for name, reason in excluded.items():
        yield f"The answers of {name} enter neither agreement nor labels ({reason})."
    if facts.dropped == {} and not excluded:
        yield "No answer was left out."
    if facts.n_later:
        yield (
            f"{facts.n_later:,} answers of later rounds, or not asked of their annotator, do not enter the "
            "agreement."
        )


def _agreement(facts: MethodFacts) -> Iterator[str]:
    if facts.agreement is None:
        yield blank("agreement")
        return
    for row in facts.agreement.table.to_dict("records"):
        name = STATISTICS[str(row["statistic"])].title
        if row["statistic"] == "alpha" and row["level"] != "nominal":
            name += f" ({row['level']})"
        if row["value"] != row["value"]:
            yield f"{name} is undefined: {row['note']}."
            continue
        limits = "" if row["low"] != row["low"] else f" [{row['low']:.3f}, {row['high']:.3f}]"
        yield f"{name} is {row['value']:.3f}{limits}."
        if row["interval_note"]:
            yield f"{name}: {row['interval_note']}."
    units = UNITS[facts.agreement.cluster]
    yield (
        f"Intervals are 95% by {units[:-1]}: of alpha by a Bayesian bootstrap, of shares by Wilson's score."
    )
    if facts.agreement.design_effect == facts.agreement.design_effect:
        yield f"The design effect of {units} on alpha is {facts.agreement.design_effect:.2f}."


def _labels(facts: MethodFacts) -> Iterator[str]:
    if facts.labels_by is None:
        yield blank("rule")
        yield blank("disputes")
    else:
        n = facts.labels_by
        yield (
            f"Labels are by rule {n['rule']}: {n['labels']:,} pairs have a label, {n['disputes']:,} are in "
            "dispute."
        )
        other = sum(n["against_majority"][name] for name in ("other", "gained", "lost"))
        yield f"{other:,} pairs come out otherwise than by a plain majority."
        if n.get("on_controls"):
            known = n["on_controls"]
            yield f"It is right on {known['n_right']:,} of {known['n_labelled']:,} controls that it labels."
    if facts.augmented is None:
        yield blank("policy")
        return
    n = facts.augmented
    yield (
        f"Joined to the original qrels under policy {n['policy']}, {n['new']:,} pairs are new positives, "
        f"{n['confirmed']:,} original positives are confirmed and {n['rejected']:,} rejected."
    )
    if errors := n.get("label_errors"):
        words = words_of_errors(errors)
        yield f"{words[0].upper()}{words[1:]}."
    yield from _labels_nobody_gave(n)
    yield from _unusable(facts.unusable)
    if n.get("queries_without_positive"):
        yield f"{len(n['queries_without_positive']):,} queries lost their only positive."


def words_of_errors(numbers: Mapping[str, Any]) -> str:
    """Return the expected wrong share of new positives and the recall on judged pairs as a sentence."""
    if "reason" in numbers:
        return f"errors of the labels are not known: {numbers['reason']}"
    names = [(name, f"{name}_low", f"{name}_high") for name in ("wrong_share", "recall")]
    shares = [[f"{100 * numbers[name]:.1f}" for name in three] for three in names]
    wrong, recall = (f"{share}% [{low}, {high}]" for share, low, high in shares)
    return (
        f"of the new positives an expected {wrong} are wrong, and of the relevant judged pairs {recall} are "
        f"labelled so, if votes err independently; one vote: {numbers['basis']}"
    )


def _labels_nobody_gave(augmented: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{words[0].upper()}{words[1:]}." for words in words_of_machine(augmented))
    if augmented.get("shared"):
        yield (
            f"{augmented['shared']:,} pairs that nobody judged have the label of a pair whose caption has "
            f"the same text; {augmented['shared_positive']:,} of them are positive."
        )


_BECAME = {
    "flag": "stay in the qrels, and scores are also given without them",
    "keep": "stay in the qrels",
    "drop": "were dropped from the qrels",
}


def _unusable(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    n_open = found["n_queries"] - found["n_labelled"]
    unknown = f"; {n_open:,} without a label count as usable" if n_open else ""
    yield (
        f"Annotators found {found['n']:,} of {found['n_queries']:,} captions unusable as queries, which "
        f"{_BECAME[found['unusable']]}{unknown}."
    )
