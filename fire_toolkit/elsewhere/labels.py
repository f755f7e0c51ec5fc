"""Which label of the guideline each value of another tool stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fire_toolkit.elsewhere.found import SKIP, Found
from fire_toolkit.errors import UsageError


class LabelMap:
    """What `--label VALUE=LABEL` (or `CONTROL:VALUE=LABEL`) says; a guideline's own labels mean themselves.

    Args:
        texts: as they are typed; the label is what stands after the last `=`, `-` for no vote.
        labels: those of the guideline.
        defaults: value → label of the tool itself.

    Raises:
        UsageError: a text without `=`, a label that the guideline does not have, or a value given twice.

    Examples:
        >>> known = LabelMap(["match:Yes=relevant", "No=irrelevant"], ["irrelevant", "relevant"])
        >>> [known.label_of("match", value) for value in ("Yes", "No", "relevant", "Maybe")]
        ['relevant', 'irrelevant', 'relevant', None]
    """

    def __init__(
        self, texts: Sequence[str], labels: Sequence[str], *, defaults: Mapping[str, str] | None = None
    ) -> None:
        self._labels = set(labels)
        self.given: dict[str, str] = {}
        for text in texts:
            value, equals, label = (part.strip() for part in text.rpartition("="))
            if not equals or not value:
                raise UsageError(f"--label {text}: expected VALUE=LABEL or CONTROL:VALUE=LABEL")
            if label != SKIP and label not in self._labels:
                known = ", ".join(labels)
                raise UsageError(
                    f"--label {text}: the guideline has no label {label!r}; it has {known} (or -)"
                )
            if self.given.setdefault(value, label) != label:
                raise UsageError(f"--label {value}: given as {self.given[value]} and as {label}")
        self._defaults = dict(defaults or {})

    def label_of(self, control: str, value: str) -> str | None:
        """Return the label of a value, `-` for no vote; None where nothing says it."""
        own = self.given.get(f"{control}:{value}", self.given.get(value))
        if own is None:
            own = value if value in self._labels else self._defaults.get(value)
        return own

    def labels_of(self, answer: Found) -> tuple[str, ...] | None:
        """Return the labels of an answer, each once; None if one of its values has none."""
        found = [self.label_of(*value) for value in answer.values]
        return None if None in found else tuple(dict.fromkeys(str(label) for label in found))

    def controls(self, known: Sequence[str]) -> list[str]:
        """Return the controls of a Label Studio project that the texts name.

        Raises:
            UsageError: a text that names none of `known`.
        """
        found: dict[str, None] = {}
        for value in self.given:
            names = [name for name in known if value.startswith(f"{name}:")]
            if not names:
                raise UsageError(
                    f"--label {value}={self.given[value]}: names no control of the file; expected "
                    f"CONTROL:VALUE=LABEL with one of {', '.join(known) or 'none (nobody answered anything)'}"
                )
            found[max(names, key=len)] = None
        return list(found)
