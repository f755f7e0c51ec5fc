"""What answers from elsewhere mean: labels, people, pairs and votes, and what stands in the way."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools
from fire_toolkit.campaign.coded import Coded, beside, distinct_rows, joined, same, stacked
from fire_toolkit.elsewhere.tables import LABEL_STUDIO, SKIP, TOOLS, FoundFile
from fire_toolkit.errors import UsageError
from fire_toolkit.tables.columns import PAIR, packed_codes
from fire_toolkit.tables.ids import spelled_otherwise

_SHOWN = 5
NO_VOTE = "no vote"
_LOOKED_AT = ("query_id", "doc_id", "worker", "values", "why", "key")
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

    def refuse_unclear(self, files: Sequence[FoundFile]) -> None:
        """Raise a UsageError where --label names no control of Label Studio's files, or nothing is said."""
        projects = [file for file in files if file.tool == LABEL_STUDIO.name]
        controls = list(dict.fromkeys(name for file in projects for name in file.controls))
        known = ", ".join(controls) or "none"
        for value, label in self.given.items() if len(projects) == len(files) else ():
            if not control_of(value, controls):
                expected = f"expected CONTROL:VALUE=LABEL, with one of {known}"
                raise UsageError(f"--label {value}={label}: names no control of the file; {expected}")
        if projects and not self.given:
            found = f"controls: {known}; labels: {', '.join(self.names)}"
            raise UsageError(f"say what the answers mean, as in --label CONTROL:VALUE=LABEL; {found}")


def control_of(value: str, known: Collection[str]) -> str:
    """Return the control that a value names (`match:Yes`), of those that a project has; empty if none."""
    return max((name for name in known if value.startswith(f"{name}:")), key=len, default="")


class Understood(NamedTuple):
    """What the answers of files come to.

    record: as JSON shows it; refusals: why nothing can be imported, none where all is understood; notes: on
    what was left out, or could not be looked at.
    """

    record: Mapping[str, Any]
    refusals: Sequence[str]
    notes: Sequence[str]


def understand(
    files: Sequence[FoundFile],
    labels: Labels,
    known: Mapping[str, Collection[str] | None],
    *,
    skips_unknown: bool,
) -> Understood:
    """Return what the answers of files come to.

    Args:
        files: what was read.
        labels: which value is which label.
        known: `query` and `doc` → the ids of the collection; None: they cannot be checked.
        skips_unknown: whether answers at pairs that the collection does not have are left out.
    """
    sizes = [file.n_answers for file in files]
    answers = {name: stacked([file.answers[name] for file in files]) for name in _LOOKED_AT}
    tool, path = (
        stacked([same(getattr(file, name), n) for file, n in zip(files, sizes, strict=True)])
        for name in ("tool", "path")
    )
    by_label, unmapped, used, is_vote = _meant(labels, answers["values"], tool, answers["why"])
    nobody = (path, answers["key"]) if "" in answers["worker"].distinct else ()
    people = joined(lambda who, *at: who or f"#{'#'.join(at)}", answers["worker"], *nobody)
    pair, first = distinct_rows([answers[name].codes for name in PAIR])
    votes = np.unique(packed_codes([pair[is_vote], people.codes[is_vote]]), return_index=True)[1]
    n_votes = np.bincount(pair[is_vote][votes], minlength=len(first))
    ids = {role: answers[f"{role}_id"] for role, own in known.items() if own is not None}
    is_odd = {role: ~column.where((known[role] or ()).__contains__) for role, column in ids.items()}
    odd = {role: column.used(is_odd[role]) for role, column in ids.items()}
    n_strange = int(np.any([*is_odd.values(), np.zeros(sum(sizes), dtype=bool)], axis=0).sum())
    record = {
        "files": [_record_of(file) for file in files],
        "people": len(set(people.used(np.ones(len(pair), dtype=bool)))),
        "pairs": len(first),
        "pairs_by_votes": {str(votes): n for votes, n in sorted(Counter(n_votes.tolist()).items())},
        "labels": {label: dict(values.most_common()) for label, values in by_label.items()},
        "without_label": dict(unmapped),
        "unknown_ids": {role: len(odd.get(role, ())) for role in known},
    }
    notes = [f"--label {value}: no answer has that value" for value in labels.given if value not in used]
    unchecked = [what for role, what in (("query", "queries"), ("doc", "items")) if known.get(role) is None]
    if unchecked:
        notes.insert(0, f"ids not checked: the workspace names no {' and no '.join(unchecked)}")
    refusals = []
    if unmapped:
        values = "; ".join(f"{value!r} ({n:,})" for value, n in unmapped.most_common(3 * _SHOWN))
        refusals.append(
            f"{unmapped.total():,} answers have a value that no --label names: {values}; say which "
            f"label each is ({', '.join(labels.names)}), as in --label VALUE=LABEL, or VALUE=- for no vote"
        )
    if n_strange:
        found = [(f"{len(own):,} unknown {role} ids", own[:_SHOWN]) for role, own in odd.items() if own]
        words = ", ".join(f"{what} ({', '.join(some)})" for what, some in found)
        told = next(
            filter(None, (spelled_otherwise(own, known[role] or ()) for role, own in odd.items())), ()
        )
        spelled = f"write {told[0]!r} as {told[1]!r}, since all ids are percent-encoded" if told else ""
        if skips_unknown:
            notes.insert(0, f"{n_strange:,} answers left out: {words}")
        else:
            refusals.append(
                f"{n_strange:,} answers are at pairs that the collection does not have: {words}; "
                f"{spelled or 'name the right columns'}, or leave these out with --skip-unknown"
            )
    return Understood(record, refusals, notes)


def _meant(labels: Labels, *columns: Coded) -> tuple[dict[str, Counter[str]], Counter[str], set[str], Bools]:
    """Return label → what was said → answers; values without a label; all values; what is a vote.

    columns: values, tool, and why an answer is no vote.
    """
    each = beside(*columns)
    counts = np.bincount(each.codes, minlength=len(each.distinct)).tolist()
    is_vote, by_label = np.zeros(len(counts), dtype=bool), dict[str, Counter[str]]()
    unmapped, used = Counter[str](), set[str]()
    for place, ((values, tool, why), n) in enumerate(zip(each.distinct, counts, strict=True)):
        used |= {text for control, value in values for text in (value, f"{control}:{value}")}
        meant = labels.of(values, tool)
        if meant is None:
            unknown = (value for control, value in values if labels.label(control, value, tool) is None)
            unmapped.update(dict.fromkeys(unknown, n))
        else:
            is_vote[place] = len(meant) == 1 and meant[0] != SKIP
            said = " + ".join(value for _, value in values) or why or "nothing answered"
            by_label.setdefault(meant[0] if is_vote[place] else NO_VOTE, Counter())[said] += n
    return by_label, unmapped, used, is_vote[each.codes]


def _record_of(file: FoundFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "tool": file.tool,
        "columns": dict(file.roles),
        "rows": file.n_rows,
        "answers": file.n_answers,
        "left_out": dict(file.left_out),
        "not_read": list(file.unread),
        "unknown": ["guideline", *file.unknown],
        "notes": list(file.notes),
    }


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
