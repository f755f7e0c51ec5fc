"""The names of the columns and keys of runs in files of other tools."""

from __future__ import annotations

from collections.abc import Sequence

from fire_toolkit.errors import FormatError

QUERY = ("query_id", "query-id", "qid", "q_id", "queryid", "query", "topic", "topic_id")
DOC = ("doc_id", "doc-id", "docid", "docno", "did", "corpus-id", "corpus_id", "document_id", "item_id", "pid")
SCORE = ("score", "similarity", "sim", "scores")
RANK = ("rank", "position")
RUN = ("run_id", "run", "tag", "system")


def find_name(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the first of `wanted` that is in `names` (in any case), as it is written there."""
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def needed_name(names: Sequence[str], wanted: Sequence[str], where: str) -> str:
    """Return the same as `find_name`.

    Raises:
        FormatError: there is none.
    """
    found = find_name(names, wanted)
    if found is None:
        raise FormatError(f"{where}: no {wanted[0]}; found {', '.join(names[:12]) or 'nothing'}")
    return found
