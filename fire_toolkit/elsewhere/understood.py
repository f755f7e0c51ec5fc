"""What answers from elsewhere come to: people, pairs, labels and votes, and what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fire_toolkit.elsewhere.found import SKIP, Found, FoundFile
from fire_toolkit.elsewhere.labels import LabelMap

_SHOWN = 5
NO_VOTE = "no vote"


@dataclass
class Understood:
    """What was understood of files.

    labels: label → value → how many answers; n_people, n_pairs: of all answers; votes: number → pairs;
    unmapped: value without a label → answers; strange: `query` or `doc` → id that the collection does not
    have → answers; n_strange: answers at such pairs; unused: --label whose value is nowhere in the files.
    """

    labels: dict[str, Counter[str]] = field(default_factory=dict)
    n_people: int = 0
    n_pairs: int = 0
    votes: dict[int, int] = field(default_factory=dict)
    unmapped: Counter[str] = field(default_factory=Counter)
    strange: dict[str, Counter[str]] = field(default_factory=dict)
    n_strange: int = 0
    unused: list[str] = field(default_factory=list)

    def refusals(self, *, skips_unknown: bool) -> list[str]:
        """Return why nothing can be imported; none where all is understood."""
        reasons = []
        if self.unmapped:
            values = "; ".join(f"{value!r} ({n:,})" for value, n in self.unmapped.most_common(3 * _SHOWN))
            reasons.append(
                f"{sum(self.unmapped.values()):,} answers have a value that no --label names: {values}; say "
                "which label each is, as in --label VALUE=LABEL, or VALUE=- for no vote"
            )
        if self.n_strange and not skips_unknown:
            reasons.append(
                f"{self.n_strange:,} answers are at pairs that the collection does not have: "
                f"{self.strange_ids()}; name the right columns, or leave these out with --skip-unknown"
            )
        return reasons

    def notes(self, files: Sequence[FoundFile], known: Mapping[str, Collection[str] | None]) -> list[str]:
        """Return sentences on what is not known of the answers, or was left out."""
        unknown = dict.fromkeys(words for file in files for words in file.unknown)
        notes = [f"not known: which guideline people were shown; {'; '.join(unknown)}"]
        notes += [f"{file.path}: {n:,} {words}" for file in files for words, n in file.left_out.items()]
        notes += dict.fromkeys(f"{file.path}: {note}" for file in files for note in file.notes)
        if self.n_strange:
            notes.append(f"{self.n_strange:,} answers left out: {self.strange_ids()}")
        unchecked = [what for role, what in (("query", "queries"), ("doc", "items")) if known[role] is None]
        notes += (
            [f"ids not checked: the workspace names no {' and no '.join(unchecked)}"] if unchecked else []
        )
        return notes + [f"--label {value}: no answer has that value" for value in self.unused]

    def strange_ids(self) -> str:
        """Return how many ids the collection does not have, with examples."""
        return ", ".join(
            f"{len(ids):,} unknown {role} ids ({', '.join(list(ids)[:_SHOWN])})"
            for role, ids in self.strange.items()
            if ids
        )


def understand(
    files: Iterable[FoundFile], labels: LabelMap, known: Mapping[str, Collection[str] | None]
) -> Understood:
    """Return what the answers of files come to.

    Args:
        files: what was read.
        labels: which value is which label.
        known: `query` and `doc` → the ids of the collection; None: they cannot be checked.
    """
    result = Understood(strange={"query": Counter(), "doc": Counter()})
    people: set[str] = set()
    voters: dict[tuple[str, str], set[str]] = {}
    used: set[str] = set()
    for file in files:
        for answer in file.answers:
            people.add(answer.worker or f"#{file.path}#{answer.key}")
            voters.setdefault((answer.query_id, answer.doc_id), set())
            result.n_strange += _note_strange(answer, known, result.strange)
            used |= {text for control, value in answer.values for text in (value, f"{control}:{value}")}
            if _note_labels(answer, labels, result) == 1:
                voters[answer.query_id, answer.doc_id].add(answer.worker or answer.key)
    result.n_people, result.n_pairs = len(people), len(voters)
    result.votes = dict(sorted(Counter(map(len, voters.values())).items()))
    result.unused = [value for value in labels.given if value not in used]
    return result


def _note_strange(
    answer: Found, known: Mapping[str, Collection[str] | None], strange: Mapping[str, Counter[str]]
) -> bool:
    ids = {"query": answer.query_id, "doc": answer.doc_id}
    odd = [role for role, ids_there in known.items() if ids_there is not None and ids[role] not in ids_there]
    for role in odd:
        strange[role][ids[role]] += 1
    return bool(odd)


def _note_labels(answer: Found, labels: LabelMap, result: Understood) -> int:
    """Count the labels of an answer, and return how many votes it is: one or none."""
    if not answer.values:
        result.labels.setdefault(NO_VOTE, Counter())[answer.why or "nothing answered"] += 1
        return 0
    found = labels.labels_of(answer)
    if found is None:
        result.unmapped.update(
            value for control, value in answer.values if labels.label_of(control, value) is None
        )
        return 0
    is_vote = len(found) == 1 and found[0] != SKIP
    given = " + ".join(value for _, value in answer.values)
    result.labels.setdefault(found[0] if is_vote else NO_VOTE, Counter())[given] += 1
    return int(is_vote)


def lines_of(file: FoundFile) -> list[str]:
    """Return what a file is, and which of its columns is what, in lines."""
    lines = [f"{file.path}: {file.n_rows:,} rows of {file.tool}, {len(file.answers):,} answers"]
    lines += [f"  {role:<10} {name}" for role, name in file.roles.items()]
    lines += [f"  left out   {n:,} {words}" for words, n in file.left_out.items()]
    lines += [f"  not read   {_some(file.unread)}"] if file.unread else []
    unknown = ["the guideline that was shown", *file.unknown]
    return [*lines, f"  unknown    {'; '.join(unknown)}", *(f"  note       {note}" for note in file.notes)]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[: 2 * _SHOWN]) + (
        f" and {len(names) - 2 * _SHOWN} more" * (len(names) > 2 * _SHOWN)
    )


def lines_of_all(understood: Understood) -> list[str]:
    """Return what the answers come to, in lines."""
    votes = ", ".join(f"{n:,} with {count}" for count, n in understood.votes.items())
    lines = [
        f"people     {understood.n_people:,} (under pseudonyms)",
        f"pairs      {understood.n_pairs:,}; by votes: {votes or 'none'}",
    ]
    for label, values in understood.labels.items():
        given = ", ".join(f"{value} {n:,}" for value, n in values.most_common())
        lines.append(f"{label:<10} {sum(values.values()):,} ({given})")
    return lines


def record_of(files: Sequence[FoundFile], understood: Understood) -> dict[str, Any]:
    """Return the same as an object for JSON."""
    return {
        "files": [
            {
                "path": file.path,
                "tool": file.tool,
                "columns": dict(file.roles),
                "rows": file.n_rows,
                "answers": len(file.answers),
                "left_out": dict(file.left_out),
                "not_read": list(file.unread),
                "unknown": ["guideline", *file.unknown],
                "notes": list(file.notes),
            }
            for file in files
        ],
        "people": understood.n_people,
        "pairs": understood.n_pairs,
        "pairs_by_votes": {str(count): n for count, n in understood.votes.items()},
        "labels": {label: dict(values) for label, values in understood.labels.items()},
        "without_label": dict(understood.unmapped),
        "unknown_ids": {role: len(ids) for role, ids in understood.strange.items()},
    }
