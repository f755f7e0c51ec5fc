"""Scores and labels that a machine gave elsewhere: a CSV or TSV by its usual column names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.listed import DOC, QUERY, SCORE, find_name, needed_name
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.tables import MACHINE_JUDGMENTS, MachineJudgments, check_machine_judgments
from fire_toolkit.tables.further import FAILED, OK

_DOCS = (*DOC, "doc", "document", "video_id", "image_id", "video", "image", "item")
_SCORES = (*SCORE, "p_yes", "probability", "prob", "p", "rating", "value", "tifa", "clipscore", "clip_score")
_LABELS = ("label", "relevance", "rel", "judgment", "judgement", "verdict", "answer")
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
    query, doc = needed_name(names, QUERY, f"{path}:1"), needed_name(names, _DOCS, f"{path}:1")
    score, label = find_name(names, _SCORES), find_name(names, _LABELS)
    if score is None and label is None:
        raise FormatError(f"{path}:1: no score and no label; found {', '.join(names[:12])}")
    found = pd.DataFrame({"query_id": table[query], "doc_id": table[doc]})
    if score is not None:
        found["score"] = table[score].where(~table[score].str.strip().str.lower().isin(_MISSING), "")
    if label is not None:
        found["label"] = table[label].where(~table[label].str.strip().str.lower().isin(_MISSING), "")
    own = [name for name in MACHINE_JUDGMENTS.names if name in names and name not in found.columns]
    found = found.assign(**{name: table[name] for name in own if name != "judge_id"}, judge_id=judge_id)
    found = found.assign(backbone=backbone) if backbone else found
    return check_machine_judgments(_with_failures(found), where=str(path))


def _with_failures(found: pd.DataFrame) -> pd.DataFrame:
    if "status" in found.columns:
        return found
    has_any = np.zeros(len(found), dtype=bool)
    for name in {"score", "label"} & set(found.columns):
        has_any |= (found[name] != "").to_numpy()
    reason = np.where(has_any, "", "neither a score nor a label")
    return found.assign(status=np.where(has_any, OK, FAILED), reason=reason)
