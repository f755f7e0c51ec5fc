"""Which pairs of a pool are left to ask: nothing twice, and nothing over what was handed out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pandas as pd

from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.recognised import content_type
from fire_toolkit.guidelines.model import REFERENCE, Guideline
from fire_toolkit.tables import Items, Pool, Queries, Tasks
from fire_toolkit.tables.columns import listed, pair_rows
from fire_toolkit.tables.ids import spellings
from fire_toolkit.words import n_of

_EITHER = {"image/gif", "image/webp", "image/avif", "audio/ogg"}  # names that clips have too
_USUAL = {  # kind of items -> what several are called, and the guideline for them
    "image": ("images", "caption-image-relevance-v1"),
    "video": ("videos", "caption-relevance-v1"),
    "audio": ("sounds", "caption-sound-relevance-v1"),
}


@dataclass(frozen=True)
class HandedOut:
    """What a workspace has handed out.

    files: the pair ids of each round's tasks; given: those that a campaign gave out for a judgment; begun:
    the numbers of all rounds; following: the number of one that begins now.
    """

    files: Mapping[int, Collection[str]] = field(default_factory=dict)
    given: Collection[str] = ()
    begun: Collection[int] = ()
    following: int = 1


def not_judged(pairs: Pool, judged: pd.DataFrame | None) -> Pool:
    """Return the pairs that neither the pool nor judgments (query_id, doc_id) call judged."""
    left = pairs[~pairs["is_judged"]] if "is_judged" in pairs.columns else pairs
    if judged is not None and len(left):
        left = left[pair_rows(left, judged) < 0]
    return Pool(left.reset_index(drop=True))


def never_asked(pooled: Pool, judged: pd.DataFrame | None, handed: HandedOut) -> Pool:
    """Return the pairs that nobody was handed and nobody judged; where there are none, the latest round's.

    Their round is the pool's, or the one that begins now where that has begun.
    """
    asked = set().union(*handed.files.values(), handed.given)
    rest = not_judged(pooled, judged)
    fresh = Pool(rest.loc[[key not in asked for key in _keys(rest)]]) if asked else rest
    if len(fresh):
        number = int(fresh["round"].max())
        number = handed.following if number in handed.begun else number
        return Pool(fresh.assign(round=number).reset_index(drop=True))
    latest = max(handed.files, default=0)
    own = handed.files.get(latest, ())
    again = pooled.loc[[key in own for key in _keys(pooled)]]
    whole = again if len(again) == len(own) else again.iloc[:0]
    return Pool(whole.assign(round=max(latest, 1)).reset_index(drop=True))


def still_to_give(
    asked: Tasks, number: int, judged: pd.DataFrame | None, handed: HandedOut, where: object
) -> Tasks:
    """Return the tasks of a round that begins, without pairs judged, or planned again, since they were made.

    judged: the pairs judged since the round `number`; None: no judgments, and all are left. where: the file.

    Raises:
        UsageError: pairs were given out in an earlier round.
    """
    if judged is not None:
        later = (keys for n, keys in handed.files.items() if n > number)
        is_judged = pair_rows(asked, judged) >= 0
        is_judged |= asked["pair_id"].isin(set().union(*later)).to_numpy()
        asked = Tasks(asked[~is_judged].reset_index(drop=True))
    if again := sorted({*asked["pair_id"]}.intersection(handed.given)):
        words = f"{n_of(len(again), 'pair')} given out in an earlier round ({', '.join(again[:3])})"
        raise UsageError(f"{where}: {words}; `fire-toolkit next-round` asks pairs again, of other people")
    return asked


def in_free_round(pairs: Pool, handed: HandedOut) -> Pool:
    """Return the pairs in their round, or in the next one if other pairs were handed out in theirs.

    Raises:
        UsageError: pairs of a new round were given out before, and `tasks` does not know who has seen them;
            the tasks of a round that is there may change.
    """
    there, keys = handed.files.get(round_of_pairs(pairs)), _keys(pairs)
    if there is not None and set(there) == set(keys):
        return pairs
    if again := sum(key in handed.given for key in keys):
        raise UsageError(
            f"{again:,} of {n_of(len(pairs), 'pair')} were given out in this campaign before, and `tasks` "
            "would give them to people who have answered them; `next-round` asks them of others"
        )
    return pairs if there is None else Pool(pairs.assign(round=handed.following))


def round_of_pairs(pairs: pd.DataFrame) -> int:
    """Return the round of the pairs, 1 where there are none."""
    return int(pairs["round"].max()) if len(pairs) else 1


def refuse_unseen(made: Tasks, queries: Queries, items: Items | None, rules: Guideline) -> None:
    """Raise a UsageError where the guideline's page would not show what is asked about.

    That is references of composed queries on a page without them, texts on a page of files, and files none of
    which is by its name what the page shows (a page of sounds plays those of videos too).
    """
    if not rules.shows_media:
        return
    if not rules.shows_reference and REFERENCE in queries:
        own = queries.loc[queries["query_id"].isin(made["query_id"]), REFERENCE].fillna("")
        if (own != "").any():
            raise UsageError(
                f"the queries have a reference, which {rules.name} does not show: choose a guideline that "
                "does, as with --guideline composed-image-relevance-v1; or give --queries without that column"
            )
    urls = {*made["media_url"].unique()}
    kind = _USUAL[rules.item_kind][0].removesuffix("s")
    shown = f"{rules.name} shows {'an' if kind == 'image' else 'a'} {kind}: choose a guideline that shows"
    if urls and items is not None and "text" in items and urls <= spellings(made["doc_id"].unique()):
        raise UsageError(
            f"the items are texts, and {shown} texts, as with --guideline passage-relevance-v1; or give "
            "--items with media_url"
        )
    names = (url.partition("#")[0].partition("?")[0] for url in urls)
    kinds = {kind.partition("/")[0] for kind in {*map(content_type, names)} - _EITHER} & {*_USUAL}
    shows = {rules.item_kind, "video"} if rules.item_kind == "audio" else {rules.item_kind}
    if kinds and not kinds & shows:
        are = " and ".join(_USUAL[kind][0] for kind in sorted(kinds))
        raise UsageError(
            f"the items are {are} by their names, and {shown} these, as with --guideline "
            f"{_USUAL[min(kinds)][1]}"
        )


def _keys(pairs: pd.DataFrame) -> list[str]:
    return listed(pair_ids(pairs["query_id"], pairs["doc_id"]))
