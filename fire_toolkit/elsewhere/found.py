"""What people answered elsewhere, as a file says it, before any label or name is given to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SKIP = "-"  # in the place of a label: the answer is not a vote; in that of a column: do not read it
AMONG_RESPONSES = "@responses"
BY_FILE, BY_FOLDER = "@file", "@folder"  # in the place of a column: whose the answers are, its name says
WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given


class Found(NamedTuple):
    """What one person left at one pair.

    worker: as the file has it; empty if the account is deleted; values: (control, value) of all that was
    answered; why: the word that makes it no vote (skipped, rejected), else empty; created_at, updated_at: UTC
    or empty; seconds: nan if unknown; number: its place in the file; key: what its tool knows it by, or
    empty; round: 1 if unknown.
    """

    query_id: str
    doc_id: str
    worker: str
    values: tuple[tuple[str, str], ...]
    why: str
    created_at: str
    updated_at: str
    seconds: float
    number: int
    key: str = ""
    comment: str = ""
    round: int = 1


class FoundFile(NamedTuple):
    """A file's answers, and what is to be known of it.

    path: its name; tool: which wrote it; roles: role → column; n_rows; left_out: no answers, counted;
    unread: columns (or controls) that nobody looked at; unknown: what the file does not say; notes: in words.
    """

    path: str
    tool: str
    roles: Mapping[str, str]
    n_rows: int
    answers: Sequence[Found]
    left_out: Counter[str]
    unread: Sequence[str]
    unknown: Sequence[str]
    notes: Sequence[str]
