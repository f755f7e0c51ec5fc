"""DATASHEET.md: where the labels come from and what to mind, as questions and answers.

The questions follow Gebru et al., "Datasheets for Datasets" (2021), in our own words; those that cannot
arise for labels of query–item pairs are left out.
"""

from __future__ import annotations

from fire_toolkit.release.facts import ReleaseFacts, licence_notes, sentence
from fire_toolkit.words import n_of

Answers = dict[str, str]


def datasheet(facts: ReleaseFacts) -> str:
    """Return DATASHEET.md."""
    lines = [f"# Datasheet of {facts.title}, version {facts.version}"]
    for title, answers in _SECTIONS.items():
        lines.append(f"\n## {title}")
        lines += [f"\n**{question}**\n\n{text}" for question, text in answers(facts).items() if text]
    return "\n".join(lines) + "\n"


def _motivation(facts: ReleaseFacts) -> Answers:
    return {
        "What was it made for?": f"{facts.summary} {sentence(facts.answers['uses'])}",
        "Who made it?": sentence("; ".join(facts.creators)),
    }


def _composition(facts: ReleaseFacts) -> Answers:
    n, answers, texts = facts.counts, facts.answers, facts.paragraphs
    return {
        "What does a row stand for?": "A pair of a query and an item, with its relevance; in the table "
        "judgments, one annotator's answer to such a pair.",
        "How much is there?": f"{n_of(n['queries'], 'query')}, {n_of(n['corpus'], 'item')}, "
        f"{n_of(n['qrels'], 'pair')} with a relevance, of which {n['positives']:,} are relevant "
        f"(originally {n['original_positives']:,}); {n_of(n['judgments'], 'judgment')} of "
        f"{n_of(n['judged'], 'pair')} by {n_of(n['annotators'], 'annotator')}; "
        f"{n_of(n['disputes'], 'dispute')}.",
        "Is it all, or a sample?": "A sample of all pairs, and not a random one. "
        f"{texts['Pool']} Pairs outside the pool were not judged.",
        "What is missing?": f"{' '.join(licence_notes(facts))} {_withheld(facts)}",
        "How are rows related?": "By the ids of queries and items, which are those of the benchmark, "
        "and by the pseudonyms of annotators.",
        "Which splits are there?": "One, called test. The original labels stand beside the corrected ones.",
        "Which errors are known?": f"{texts['Agreement']} {n_of(n['disputes'], 'pair')} in dispute "
        f"{'has' if n['disputes'] == 1 else 'have'} no label. {facts.rejected}",
        "What does it not cover?": sentence(answers["limitations"]),
        "What external resources does it rely on?": sentence(answers["source"]),
        "What biases may it have?": sentence(answers["biases"]),
        "What does it reveal about people?": sentence(answers["personal_information"]),
    }


def _withheld(facts: ReleaseFacts) -> str:
    both = "Times of day" if facts.has_comments else "Times of day and what annotators wrote"
    return f"{both} are left out of the judgments."


def _collection(facts: ReleaseFacts) -> Answers:
    texts, study = facts.paragraphs, facts.methods.study
    return {
        "How was it collected?": f"{texts['Pool']} {texts['Procedure']}",
        "Who judged?": sentence(study["recruitment"]),
        "How were they trained and tested?": sentence(study["qualification"]),
        "What were they paid?": sentence(study["pay"]),
        "What were they told, and did they agree?": sentence(study["consent"]),
        "Was the study reviewed?": sentence(study["ethics"]),
        "When and how long did they work?": texts["Work"],
        "May their comments be published?": sentence(facts.answers["comments_consent"])
        if facts.has_comments
        else "Comments are not included.",
        "Can they be recognised?": "Their pseudonyms are drawn anew for each version, and only the "
        "creators can tell who is who. The answers of one person in two versions can still be matched by the "
        "pairs judged.",
        "Did a machine make any of it?": facts.machine_made,
    }


def _processing(facts: ReleaseFacts) -> Answers:
    return {
        "What was left out?": facts.paragraphs["Exclusions"],
        "How did judgments become labels?": facts.paragraphs["Labels"],
        "Is the raw material kept?": "Every judgment that counts is in the table judgments, with "
        "disagreements: labels can be resolved from it again by another rule.",
        "Which software did it?": sentence(facts.tool),
    }


def _uses(facts: ReleaseFacts) -> Answers:
    return {
        "What is it for, and what not?": sentence(facts.answers["uses"]),
        "Whom may it help or harm?": sentence(facts.answers["social_impact"]),
        "What should a user know first?": "The scores of models that fed the pool can be compared. A model "
        "that did not also finds items that nobody judged, and these count as not relevant.",
    }


def _distribution(facts: ReleaseFacts) -> Answers:
    return {
        "Under which licence?": f"{facts.answers['licence']}. {' '.join(licence_notes(facts))}",
        "When?": f"Version {facts.version} on {facts.date}.",
        "Where?": facts.url,
    }


def _upkeep(facts: ReleaseFacts) -> Answers:
    return {
        "Who looks after it?": sentence(facts.answers["maintenance"]),
        "Whom to ask?": "" if facts.is_anonymous else facts.answers.get("contact", ""),
        "What changed between versions?": "`CHANGELOG.md` lists it.",
        "Can others add to it?": "Yes: `fire-toolkit pool RUN --judged FOLDER` asks only for pairs that are "
        "not judged here.",
    }


_SECTIONS = {
    "Motivation": _motivation,
    "What is in it": _composition,
    "Collection process": _collection,
    "Preprocessing, cleaning and labelling": _processing,
    "What it is for": _uses,
    "Distribution": _distribution,
    "Maintenance": _upkeep,
}
