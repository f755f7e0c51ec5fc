"""What answers from elsewhere mean: labels, people, pairs and votes, and what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.elsewhere.tables import FoundFile
from fire_toolkit.elsewhere.tools import SKIP, TOOLS
from fire_toolkit.errors import UsageError

_SHOWN = 5
NO_VOTE = "no vote"
Values = tuple[tuple[str, str], ...]  # of an answer: control and value


class Labels:
    """What `--label VALUE=LABEL` (or `CONTROL:VALUE=LABEL`) says; a guideline's own labels mean themselves.

    Args:
        texts: as they are typed; the label is what stands after the last `=`, `-` for no vote.
        labels: those of the guideline.

    Raises:
        UsageError: a text without `=`, a label that the guideline does not have, or a value given twice.

    Examples:
        >>> known = Labels(["match:Yes=relevant", "No=irrelevant"], ["irrelevant", "relevant"])
        >>> [known.of((("match", value),), "") for value in ("Yes", "No", "relevant", "Maybe")]
        [('relevant',), ('irrelevant',), ('relevant',), None]
    """

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        self.names = list(labels)
        self._own = {label: label for label in labels}
        self._of_tools = {tool.name: tool.labels for tool in TOOLS}
        self.given: dict[str, str] = {}
        for text in texts:
            value, equals, label = (part.strip() for part in text.rpartition("="))
            if not equals or not value:
                raise UsageError(f"--label {text}: expected VALUE=LABEL or CONTROL:VALUE=LABEL")
            if label != SKIP and label not in self._own:
                known = ", ".join(labels)
                words = f"the guideline has no label {label!r}; it has {known} (or -)"
                raise UsageError(f"--label {text}: {words}")
            if self.given.setdefault(value, label) != label:
                raise UsageError(f"--label {value}: given as {self.given[value]} and as {label}")

    def label(self, control: str, value: str, tool: str) -> str | None:
        """Return the label of a value, `-` for no vote; None where nothing says it."""
        known = {**self._of_tools.get(tool, {}), **self._own, **self.given}
        return known.get(f"{control}:{value}" if f"{control}:{value}" in self.given else value)

    def of(self, values: Values, tool: str) -> tuple[str, ...] | None:
        """Return the labels of an answer, each once; None if one of its values has none."""
        found = [self.label(*value, tool) for value in values]
        return None if None in found else tuple(dict.fromkeys(str(label) for label in found))

    def controls(self, known: Collection[str]) -> list[str]:
        """Return which controls of a Label Studio project --label names, of those that it has."""
        found = (control_of(value, known) for value in self.given)
        return list(dict.fromkeys(filter(None, found)))


def control_of(value: str, known: Collection[str]) -> str:
    """Return the control that a value names (`match:Yes`), of those that a project has; empty if none."""
    return max((name for name in known if value.startswith(f"{name}:")), key=len, default="")


class Understood(NamedTuple):
    """What the answers of files come to.

    record: as JSON shows it; unmapped: value without a label → answers; strange: `query` or `doc` → id that
    the collection does not have → answers; n_strange: answers at such pairs; unused: --label whose value is
    nowhere in the files.
    """

    record: Mapping[str, Any]
    unmapped: Counter[str]
    strange: Mapping[str, Counter[str]]
    n_strange: int
    unused: Sequence[str]

    @property
    def strange_ids(self) -> str:
        """How many ids the collection does not have, with examples."""
        return ", ".join(
            f"{len(ids):,} unknown {role} ids ({', '.join(list(ids)[:_SHOWN])})"
            for role, ids in self.strange.items()
            if ids
        )

    def refusals(self, *, skips_unknown: bool) -> list[str]:
        """Return why nothing can be imported; none where all is understood."""
        reasons = []
        if self.unmapped:
            values = "; ".join(f"{value!r} ({n:,})" for value, n in self.unmapped.most_common(3 * _SHOWN))
            reasons.append(
                f"{self.unmapped.total():,} answers have a value that no --label names: {values}; say "
                "which label each is, as in --label VALUE=LABEL, or VALUE=- for no vote"
            )
        if self.n_strange and not skips_unknown:
            reasons.append(
                f"{self.n_strange:,} answers are at pairs that the collection does not have: "
                f"{self.strange_ids}; name the right columns, or leave these out with --skip-unknown"
            )
        return reasons

    def notes(self, known: Mapping[str, Collection[str] | None]) -> list[str]:
        """Return sentences on what was left out, or could not be looked at."""
        notes = [f"{self.n_strange:,} answers left out: {self.strange_ids}"] if self.n_strange else []
        unchecked = [what for role, what in (("query", "queries"), ("doc", "items")) if known[role] is None]
        if unchecked:
            notes.append(f"ids not checked: the workspace names no {' and no '.join(unchecked)}")
        return notes + [f"--label {value}: no answer has that value" for value in self.unused]


def understand(
    files: Sequence[FoundFile], labels: Labels, known: Mapping[str, Collection[str] | None]
) -> Understood:
    """Return what the answers of files come to.

    Args:
        files: what was read.
        labels: which value is which label.
        known: `query` and `doc` → the ids of the collection; None: they cannot be checked.
    """
    parts = [file.answers.assign(tool=file.tool, path=file.path) for file in files]
    answers = pd.concat(parts, ignore_index=True)
    nobody = answers["worker"].eq("")
    given = list(zip(answers["values"], answers["tool"].tolist(), strict=True))
    meanings = {(values, tool): labels.of(values, tool) for values, tool in dict.fromkeys(given)}
    found = [meanings[each] for each in given]
    is_vote = pd.Series([each not in (None, (), (SKIP,)) and each[1:] == () for each in found], dtype="bool")
    by_label: dict[str, Counter[str]] = {}
    unmapped: Counter[str] = Counter()
    counts = Counter(zip(answers["values"], answers["why"].tolist(), answers["tool"].tolist(), strict=True))
    for (values, why, tool), n in counts.items():
        meant = meanings[values, tool]
        if meant is None:
            for value in (value for control, value in values if labels.label(control, value, tool) is None):
                unmapped[value] += n
        else:
            label = meant[0] if len(meant) == 1 and meant[0] != SKIP else NO_VOTE
            said = " + ".join(value for _, value in values) or why or "nothing answered"
            by_label.setdefault(label, Counter())[said] += n
    voter = answers["worker"].where(~nobody, answers["key"]).where(is_vote)
    votes = voter.groupby([answers["query_id"], answers["doc_id"]], sort=False).nunique().value_counts()
    strange = {}
    is_strange = pd.Series(False, answers.index)
    for role, ids in known.items():
        own = answers[f"{role}_id"]
        is_odd = ~own.isin(ids) if ids is not None else own.isna()
        strange[role], is_strange = Counter(own[is_odd]), is_strange | is_odd
    used = {
        text for values, *_ in counts for control, value in values for text in (value, f"{control}:{value}")
    }
    record = {
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
        "people": int(
            answers["worker"].where(~nobody, "#" + answers["path"] + "#" + answers["key"]).nunique()
        ),
        "pairs": int(votes.sum()),
        "pairs_by_votes": {str(count): int(n) for count, n in sorted(votes.items())},
        "labels": {label: dict(values.most_common()) for label, values in by_label.items()},
        "without_label": dict(unmapped),
        "unknown_ids": {role: len(ids) for role, ids in strange.items()},
    }
    unused = [value for value in labels.given if value not in used]
    return Understood(record, unmapped, strange, int(is_strange.sum()), unused)


def notes_of(files: Sequence[FoundFile]) -> list[str]:
    """Return sentences on what is not known of the answers in files, or was left out of them."""
    unknown = dict.fromkeys(words for file in files for words in file.unknown)
    notes = [f"not known: {'; '.join(['which guideline people were shown', *unknown])}"]
    notes += [f"{file.path}: {n:,} {words}" for file in files for words, n in file.left_out.items()]
    return notes + list(dict.fromkeys(f"{file.path}: {note}" for file in files for note in file.notes))


def lines_of(record: Mapping[str, Any]) -> list[str]:
    """Return what `Understood.record` says, in lines."""
    lines = []
    for file in record["files"]:
        more = len(file["not_read"]) - 2 * _SHOWN
        unread = ", ".join(file["not_read"][: 2 * _SHOWN]) + f" and {more} more" * (more > 0)
        lines += [
            f"{file['path']}: {file['rows']:,} rows of {file['tool']}, {file['answers']:,} answers",
            *(f"  {role:<10} {name}" for role, name in file["columns"].items()),
            *(f"  left out   {n:,} {words}" for words, n in file["left_out"].items()),
            *([f"  not read   {unread}"] if unread else []),
            f"  unknown    {'; '.join(['the guideline that was shown', *file['unknown'][1:]])}",
            *(f"  note       {note}" for note in file["notes"]),
        ]
    votes = ", ".join(f"{n:,} with {count}" for count, n in record["pairs_by_votes"].items())
    lines.append(f"people     {record['people']:,} (under pseudonyms)")
    lines.append(f"pairs      {record['pairs']:,}; by votes: {votes or 'none'}")
    for label, values in record["labels"].items():
        given = ", ".join(f"{value} {n:,}" for value, n in values.items())
        lines.append(f"{label:<10} {sum(values.values()):,} ({given})")
    return lines
