"""The models' rankings in a release, and the scores that follow from them alone."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd

from fire_toolkit.matching.coded import code_together
from fire_toolkit.matching.joining import AnyRun, find_cut, list_stored
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, check_qrels, check_run
from fire_toolkit.tables.columns import PAIR

_TREC = ["query_id", "Q0", "doc_id", "rank", "score", "run_id"]
_RANKED = ["run_id", *PAIR, "rank"]
_SCORE = ["run_id", "qrels", "measure"]
_PLAIN: dict[str, Any] = {"header": None, "quoting": csv.QUOTE_NONE, "keep_default_na": False}
_NEAR = 1e-9  # of two scores that were summed up in another order


class Rankings(NamedTuple):
    """The rankings in a release.

    tops: the top `depth` of every run: run_id, query_id, doc_id, rank, score; ranks: the same without score,
    of each pair of either qrels that a run ranks, as deep as it was scored; lost: measures whose scores do
    not follow from these two.
    """

    depth: int
    tops: pd.DataFrame
    ranks: pd.DataFrame
    lost: Sequence[str]

    def files(self) -> dict[str, bytes]:
        """Return runs/RUN_ID.run of each run, in TREC's format."""
        ranks, scores = self.tops["rank"].map(" {} ".format), self.tops["score"].map(repr)
        lines = self.tops["query_id"] + " Q0 " + self.tops["doc_id"] + ranks + scores
        return {
            f"runs/{quote(str(run_id), safe='')}.run": "".join(of_run + f" {run_id}\n").encode()
            for run_id, of_run in lines.groupby(self.tops["run_id"], sort=False)
        }


def rankings_of(
    runs: Sequence[AnyRun], depth: int, original: Qrels, corrected: Qrels, leaderboard: pd.DataFrame
) -> Rankings:
    """Return the top of every run, the exact ranks of labelled pairs, and what does not follow from them.

    Where a run keeps positives of the original labels alone below its top, none below it was scored, and
    none is in the ranks (`matching.joining`).
    """
    coded = code_together(original, _with_queries_of(original, corrected))
    tops, ranks = [], []
    for run in list_stored(runs):
        found = run.rank_pairs(coded[0])
        cut = find_cut(found.placed(coded[0]), coded)
        most = cut.depth if cut else int(found.rank.max(initial=0))
        place = np.flatnonzero((found.rank > 0) & (found.rank <= most))
        query, doc = coded[0].query[place], coded[0].doc[place]
        ids = {"query_id": coded[0].queries[query], "doc_id": coded[0].docs[doc]}
        of_run = pd.DataFrame({"run_id": run.run_id, **ids, "rank": found.rank[place]})
        ranks.append(of_run.sort_values(["query_id", "rank"]))
        for block in run.blocks(depth):
            top = block.to_depth(min(depth, most) if cut else depth)
            ids = {"query_id": top.queries[top.query], "doc_id": top.docs[top.doc]}
            scores = top.score.astype("float64")
            tops.append(pd.DataFrame({"run_id": run.run_id, **ids, "rank": top.rank, "score": scores}))
    both = pd.concat(tops, ignore_index=True), pd.concat(ranks, ignore_index=True)
    found_again = scores_again(*both, original, corrected, leaderboard["measure"].unique().tolist())
    return Rankings(depth, *both, list(dict.fromkeys(differing(leaderboard, found_again)["measure"])))


def _with_queries_of(original: Qrels, corrected: Qrels) -> Qrels:
    """Return corrected qrels with every query of the original ones; one that was gone has no positive."""
    gone = original[~original["query_id"].isin(corrected["query_id"])].drop_duplicates("query_id")
    return check_qrels(
        pd.concat([table[[*PAIR, "relevance"]] for table in (corrected, gone.assign(relevance=-1))])
    )


def tops_in(files: Mapping[str, bytes]) -> pd.DataFrame:
    """Return what runs/*.run of a release hold, as `Rankings.tops`.

    Raises:
        ValueError: not six fields a line, or no number where one is.
    """
    tables = [
        pd.read_csv(io.BytesIO(raw), names=_TREC, dtype="str", sep=" ", **_PLAIN)
        for name, raw in files.items()
        if name.startswith("runs/") and name.endswith(".run")
    ]
    found = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({name: [] for name in _TREC})
    return found.astype({"rank": "int64", "score": "float64"})


def out_of_order(tops: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of TREC runs whose rank is not that of their score, ties by doc id descending."""
    lists = ["run_id", "query_id"]
    ranked = tops.sort_values([*lists, "score", "doc_id"], ascending=[True, True, False, False])
    return ranked[ranked["rank"] != ranked.groupby(lists, sort=False).cumcount() + 1]


def scores_again(
    tops: pd.DataFrame, ranks: pd.DataFrame, original: Qrels, corrected: Qrels, measures: Sequence[str]
) -> pd.DataFrame:
    """Return run_id, qrels, measure and value by the rankings in a release and its two qrels.

    Each qrels is scored by itself: all labelled pairs have their exact ranks.
    """
    rows = pd.concat([tops[_RANKED], ranks[_RANKED]]).drop_duplicates(_RANKED[:3])
    rows = rows.assign(score=-rows["rank"].astype("float64")).sort_values(["run_id", "query_id", "rank"])
    run = check_run(rows, where="runs of the release")
    by = {"original": original, "augmented": _with_queries_of(original, corrected)}
    found = [score_runs(run, qrels, measures).scores.assign(qrels=name) for name, qrels in by.items()]
    return pd.concat(found, ignore_index=True)[[*_SCORE, "value"]]


def differing(leaderboard: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return the means of a leaderboard that are others now: run_id, qrels, measure, value, found."""
    means = leaderboard[
        (leaderboard["query_id"] == "all") & (leaderboard["qrels"].isin(["original", "augmented"]))
    ]
    both = means.merge(found.rename(columns={"value": "found"}), on=_SCORE, how="left")
    is_same = np.isclose(both["value"], both["found"], rtol=0, atol=_NEAR, equal_nan=True)
    return both[[*_SCORE, "value", "found"]][~is_same]
