"""The tables' own files: CSV (or TSV) in, checked; CSV out. Qrels are TREC text.

Evidence is a CSV, or Parquet above a million rows, whose manifest has what is known of the whole. And what
programs wrote: a design, which says which pairs get how many votes; scores and labels that a machine gave
elsewhere.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.errors import FileNote, FormatError, TableError
from fire_toolkit.evidence.facts import Evidence, Facts, Settled, check_evidence
from fire_toolkit.formats.columns import LABEL, RELEVANCE, SCORE, find_name, needed_column
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.formats.runs.parquet_files import whole_table
from fire_toolkit.formats.tables.delimited import check_header, names_in, read_delimited
from fire_toolkit.formats.written import delimited_text
from fire_toolkit.resolution.judgments import judgments_that_count
from fire_toolkit.tables import (
    JUDGMENTS,
    Items,
    Judgments,
    MachineJudgments,
    check_items,
    check_labels,
    check_machine_judgments,
    check_pool,
    check_pool_sources,
    check_queries,
    check_query_design,
    check_query_labels,
)
from fire_toolkit.tables.checks import Check
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import CLASSES, RECHECK, UNTIL_CONFIRMED
from fire_toolkit.tables.further import FAILED, OK
from fire_toolkit.tables.ids import are_ids
from fire_toolkit.words import table_in
from fire_toolkit.workspace.manifests import writer_of

NUMBERS = ("int", "float", "probability")  # kinds of columns
SUFFIXES = CSV, PARQUET = (".csv", ".parquet")
NEEDED = check_evidence.spec.needed
SCORED = [name for name in check_evidence.spec.names if name not in ("label", "n_agree")]
_NUMBER = re.compile("[1-9][0-9]{0,8}")

Table = TypeVar("Table")

_DOC = """Return {what}.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "table"
        >>> _ = file.write_text({text!r})
        >>> read_{name}(file)[{columns}].values.tolist()
        {rows}
    """


_TOLD = table_in("formats.tables", "readers.toml")


def _reader(check: Check[Table]) -> Callable[[str | Path], Table]:
    """Return the reader of a table's file, or of the folder that holds it, as readers.toml tells of it."""
    spec = check.spec
    told = {"instead": "", **_TOLD[spec.name]}
    names, _, rows = told["shown"].partition(": ")

    def read(path: str | Path) -> Table:
        file = Path(path) / spec.file if spec.file and Path(path).is_dir() else path
        if not told["instead"]:
            return checked_table(check, file, required=spec.needed)
        table = read_delimited(file)
        if told["instead"] in table.columns and set(spec.needed) - set(table.columns) == {spec.needed[-1]}:
            table = table.assign(**{spec.needed[-1]: ""})
        check_header(list(table.columns), spec.needed, file)
        return check(table, where=str(file))

    name = spec.name.replace(" ", "_")
    read.__name__ = read.__qualname__ = f"read_{name}"
    read.__doc__ = _DOC.format(name=name, columns=names.split(), rows=rows, **told)
    return read


read_queries = _reader(check_queries)
read_items = _reader(check_items)
read_pool = _reader(check_pool)
read_pool_sources = _reader(check_pool_sources)
read_query_design = _reader(check_query_design)
read_labels = _reader(check_labels)
read_query_labels = _reader(check_query_labels)
read_machine_judgments = _reader(check_machine_judgments)


def checked_table(
    check: Check[Table], path: str | Path, *, required: Sequence[str] = (), only: Sequence[str] | None = None
) -> Table:
    """Return the table in a file; see `read_delimited`, also for `required` and `only`.

    Its numbers are read as such, and as text again where something is wrong, to tell it as it is written.
    """
    numbers = [column.name for column in check.spec.columns if column.kind in NUMBERS]
    try:
        return check(read_delimited(path, required=required, only=only, numbers=numbers), where=str(path))
    except TableError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileNote)  # which was told
            return check(read_delimited(path, required=required, only=only), where=str(path))


def has_columns(path: str | Path, *names: str) -> bool:
    """Whether the header of a CSV or TSV file names all these columns."""
    return set(names) <= {*names_in(start_of(path)[0].decode(errors="replace"))}


def evidence_beside(path: Path) -> Path | None:
    """Return the file of evidence that a path names: itself, in a folder, or written with qrels.

    None for qrels of somebody's own.
    """
    if path.is_dir():
        return next((file for each in SUFFIXES if (file := path / f"evidence{each}").is_file()), None)
    if path.suffix == PARQUET or (path.suffix == CSV and path.is_file() and has_columns(path, *NEEDED)):
        return path
    ends = tuple(f"evidence{each}" for each in SUFFIXES)
    written = [name for name in writer_of(path).outputs if name.endswith(ends)] if path.is_file() else []
    return path.with_name(written[0]) if written else None


def read_evidence(path: str | Path) -> Evidence:
    """Return evidence: a file, or the folder that holds it; its columns are those that scores read.

    Raises:
        FormatError: no such file, or one that holds something else.
        TableError: what is wrong with its rows.
    """
    path = Path(path)
    file = evidence_beside(path) or path
    if file.suffix == PARQUET:
        found = whole_table(file).to_pandas()
        found = found[[name for name in SCORED if name in found]]
        return Evidence(check_evidence(found, where=str(file)), facts_of(file))
    return Evidence(checked_table(check_evidence, file, required=NEEDED, only=SCORED), facts_of(file))


def settled_by(path: Path) -> Settled | None:
    """Return what a pool or augmented qrels are settled for; None where all that was pooled was asked.

    Whoever corrects labels for errors asks this first: in settled qrels the answers decided what was asked.

    Args:
        path: a file that `pool` or `augment` wrote; a file of somebody's own is settled for nothing.

    Raises:
        FormatError: its manifest is damaged.
    """
    if (found := writer_of(path).parameters.get("settled")) is None:
        return None
    try:
        runs = {str(run_id): str(sha256) for run_id, sha256 in found["runs"].items()}
        return Settled(str(found["measure"]), runs, int(found["open_queries"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FormatError(f"{path}: damaged manifest (settled); delete it and run the stage again") from None


def facts_of(path: Path) -> Facts:
    """Return what the manifest of `augment` says of evidence as a whole; of somebody's own file nothing."""
    writer = writer_of(path)
    if not writer:
        return Facts()
    given: dict[str, Any] = writer.parameters
    return Facts(
        policy=str(given.get("policy", "union")),
        original_grade=given.get("original_grade"),
        highest_grade=given.get("highest_grade"),
        unusable=str(given.get("unusable", "")),
        n_queries=int(given.get("n_queries", 0)),
        n_labelled=int(given.get("n_labelled", 0)),
        settled=settled_by(path),
        counts=writer.counts,
        backbone=str(given.get("backbone", "")),
    )


def read_pooled_runs(path: str | Path) -> set[str]:
    """Return the runs in `pool_sources.csv`; only their column is read.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "pool_sources.csv"
        >>> _ = file.write_text("query_id,doc_id,run_id,rank\\nq,d1,a,1\\n")
        >>> read_pooled_runs(file)
        {'a'}
    """
    needed = check_pool_sources.spec.needed
    found = read_delimited(path, required=needed, only=["run_id"])["run_id"].unique().tolist()
    return set(found if are_ids(found) else read_pool_sources(path)["run_id"])


def judged_pairs(path: str | Path, *, since: int = 0) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return the judged pairs in a file (query_id, doc_id, round), and duration_s as text if it is there.

    Of judgments, labels and pools (CSV or TSV with those columns) all pairs count; of qrels, in any format
    of `read_qrels`, those with a relevance of 0 or more. round: the first round of a pair, 1 if the file has
    no rounds. since: judgments of earlier rounds do not count.
    """
    from fire_toolkit.formats.collections.qrels import read_qrels

    if not has_columns(path, *PAIR):
        qrels = read_qrels(path)
        return qrels[PAIR][qrels["relevance"] >= 0].assign(round=1), None
    table = read_delimited(path, required=PAIR, only=(*PAIR, "round", "duration_s"))
    codes, words = table.get("round", pd.Series("", index=table.index)).factorize()
    are_rounds = all(map(_NUMBER.fullmatch, words))
    rounds = np.array([int(word) if are_rounds else 1 for word in words], dtype=np.int64)
    each = table[PAIR].assign(round=rounds[codes])
    by_pair = (each[each["round"] >= since] if since else each).groupby(PAIR, sort=False, as_index=False)
    return by_pair[["round"]].min(), table.get("duration_s")


def read_judgments(path: str | Path) -> Judgments:
    """Return a judgments file; a `FileNote` counts the answers that a later one has superseded.

    Columns query_id, doc_id, annotator_id and label are needed. Of several answers by one annotator
    to one pair the latest by created_at counts, or the last row if there are no dates. The columns round
    and inclusion_probability, if present, are numbers.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "judgments.csv"
        >>> _ = file.write_text("query_id,doc_id,annotator_id,label\\nq,d1,ann,relevant\\n")
        >>> read_judgments(file)[["query_id", "doc_id", "annotator_id", "label"]]
          query_id doc_id annotator_id     label
        0        q     d1          ann  relevant
    """
    return judgments_that_count(read_delimited(path, required=JUDGMENTS.needed), where=str(path))


COLUMNS = [*PAIR, "design_class", "place", "cells"]
_KNOWN = (*CLASSES, RECHECK, UNTIL_CONFIRMED)


def read_design(path: Path) -> pd.DataFrame:
    """Return a design: query_id, doc_id, design_class and, of until-confirmed, place and cells.

    Raises:
        FormatError: an unknown class, a pair twice, a place or cells that are no numbers.
    """
    table = read_delimited(path, required=[*PAIR, "design_class"]).reindex(columns=COLUMNS, fill_value="")
    kind, place = table["design_class"], table["place"]
    is_number = place.str.fullmatch("[0-9]+") & table["cells"].str.fullmatch("[0-9a-f]+")
    is_again, is_odd = table.duplicated(PAIR), (place != "") & ~place.str.fullmatch("[0-9]{1,9}")
    faults = {
        f"design_class {{kind!r}}; expected one of {', '.join(_KNOWN)}": ~kind.isin(["", *_KNOWN]),
        "{pair} appears twice; expected one design class for each pair": is_again,
        "place is no number; expected one, or nothing": is_odd,
        "class {kind} needs place (a number) and cells (hexadecimal digits), as `next-round --policy` writes "
        "them": (kind == UNTIL_CONFIRMED) & ~is_number,
    }
    for words, is_bad in faults.items():
        for row in table.index[is_bad][:1]:
            named = {"kind": kind[row], "pair": " ".join(table[PAIR].iloc[row])}
            raise FormatError(f"{path}:{row + 2}: {words.format(**named)}")
    return table.assign(place=pd.to_numeric(place.where(place != "", "1")))


_SCORES = (*SCORE, "p_yes", "probability", "prob", "p", "rating", "value", "tifa", "clipscore", "clip_score")
_LABELS = (*LABEL[:1], *RELEVANCE[:2], "judgment", "judgement", "verdict", "answer")
_MISSING = ("", "nan", "na", "n/a", "none", "null")


def read_machine_scores(path: str | Path, judge_id: str, *, backbone: str = "") -> MachineJudgments:
    """Return a file of scores, labels or both as MachineJudgments.

    Args:
        path: CSV or TSV with a column for the query, one for the doc and one for a score or a label, by any
            of their usual names (query_id, qid, topic; doc_id, docid, video_id; score, p_yes, similarity,
            tifa; label, relevance). Columns of `machine.csv` by their own names are kept.
        judge_id: what the judge is called.
        backbone: of the judge, in the place of what the file says.

    A row with neither score nor label is a failure.

    Raises:
        FormatError: a column is missing.
        TableError: a score that is not a number, a pair that is there twice.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "scores.csv"
        >>> _ = file.write_text("qid,video,p_yes\\nq,a,.75\\nq,b,nan\\n")
        >>> read_machine_scores(file, "j")[["doc_id", "reason", "status", "score"]]
          doc_id                       reason  status  score
        0      a                                   ok   0.75
        1      b  neither a score nor a label  failed    NaN
    """
    table = read_delimited(path)
    names = [str(name) for name in table.columns]
    query, doc = (needed_column(names, role, f"{path}:1") for role in ("query_id", "doc_id"))
    score, label = find_name(names, _SCORES), find_name(names, _LABELS)
    if score is None and label is None:
        raise FormatError(f"{path}:1: no score and no label; found {', '.join(names[:12])}")
    found = pd.DataFrame({"query_id": table[query], "doc_id": table[doc]})
    has_any = np.zeros(len(found), dtype=bool)
    for role, column in (("score", score), ("label", label)):
        if column is not None:
            is_there = ~table[column].str.strip().str.lower().isin(_MISSING)
            found[role] = table[column].where(is_there, "")
            has_any |= is_there.to_numpy()
    own = [name for name in check_machine_judgments.spec.names if name in names and name not in found.columns]
    found = found.assign(**{name: table[name] for name in own if name != "judge_id"}, judge_id=judge_id)
    found = found.assign(backbone=backbone) if backbone else found
    if "status" not in found.columns:
        reason = np.where(has_any, "", "neither a score nor a label")
        found = found.assign(status=np.where(has_any, OK, FAILED), reason=reason)
    return check_machine_judgments(found, where=str(path))


class ShownItems(NamedTuple):
    """What annotators are shown: the items; or the queries, as items, where the items are captions.

    key: the column that names each medium in the file; columns: those of the file, all written again.
    """

    items: Items
    key: str
    columns: list[str]

    @property
    def name(self) -> str:
        """What the media are in fire.toml: `items` or `queries`."""
        return "queries" if self.key == "query_id" else "items"

    def as_text(self, items: Items) -> str:
        """Return these items as a file of the same kind."""
        return delimited_text(items.rename(columns={"doc_id": self.key})[self.columns], delimiter="\t")


def read_shown(path: Path) -> ShownItems:
    """Read what annotators are shown from a table of items, or of queries with addresses."""
    columns = list(read_delimited(path).columns)
    if "doc_id" in columns or not {"query_id", "media_url"} <= set(columns):
        items = read_items(path)
        return ShownItems(items, "doc_id", list(items.columns))
    table = read_queries(path).rename(columns={"query_id": "doc_id"})
    return ShownItems(check_items(table, where=str(path)), "query_id", columns)
