"""What `tasks` asks, and where its files lie: nothing twice, and nothing over what was handed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import BY_HAND, FOLDER, Round
from fire_toolkit.campaign.rounds import first_round
from fire_toolkit.campaign.task_files import overlap_file, task_keys
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.campaign.tasks import pair_ids
from fire_toolkit.cli.common import chosen_path, current_workspace, n_of, relative_path, say
from fire_toolkit.cli.given import Given
from fire_toolkit.errors import UsageError
from fire_toolkit.files import paths_in
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_judged_pairs, read_pool
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.media.places import file_at
from fire_toolkit.pooling import pairs_to_ask
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables import Items, Pool, Tasks, check_pool
from fire_toolkit.tables.columns import listed, pair_rows
from fire_toolkit.tables.validity import ALONE
from fire_toolkit.workspace.manifests import manifest_path, read_manifest
from fire_toolkit.workspace.rounds import (
    begun_rounds,
    campaign_rounds,
    handed_out,
    next_round_number,
    rounds_by_hand,
    tasks_file,
)


@dataclass(frozen=True)
class Asked:
    """The pairs to ask, the file for their tasks, and how many pairs of the pool are not asked."""

    pairs: Pool
    file: Path
    n_left: int

    @property
    def round(self) -> int:
        """The round of the pairs, 1 where there are none."""
        return int(self.pairs["round"].max()) if len(self.pairs) else 1


def what_to_ask(given: Given) -> Asked:
    """Return what a pool leaves to ask; of the workspace's own pool what nobody was handed and nobody judged.

    Each round of a workspace has a file of its own. Where nothing is left, the latest round is made again.
    """
    workspace, out = current_workspace(), given.values["out"]
    if given.guideline.is_of_queries:
        return _queries_to_ask(given)
    file = given.needed("pool")
    pooled = read_pool(given.use(file))
    is_own = workspace is not None and file.resolve() == (workspace.root / "pool" / "pool.csv").resolve()
    if workspace and is_own and not out:
        pairs = _never_asked(pooled, workspace.root)
    elif workspace and is_own:
        pairs = _not_judged(pairs_to_ask(pooled), workspace.root)
    else:
        pairs = pairs_to_ask(pooled)
        pairs = _in_free_round(pairs, workspace.root) if workspace and not out else pairs
    found = Asked(pairs, Path(out or ""), len(pooled) - len(pairs))
    place = relative_path(tasks_file(workspace.root, found.round)) if workspace else None
    return Asked(pairs, chosen_path(out, place, "--out"), found.n_left)


def _queries_to_ask(given: Given) -> Asked:
    """Return each query without an item that nobody was asked."""
    workspace, out, pooled = current_workspace(), given.values["out"], queries_alone(given)
    pairs = _never_asked(pooled, workspace.root) if workspace and not out else pooled
    asked = Asked(pairs, Path(out or ""), len(pooled) - len(pairs))
    place = relative_path(tasks_file(workspace.root, asked.round)) if workspace else None
    return Asked(pairs, chosen_path(out, place, "--out"), asked.n_left)


def queries_alone(given: Given) -> Pool:
    """Return each query of the original qrels, else of the queries, without an item.

    Raises:
        UsageError: this is no workspace for captions alone: their answers would stand among those of pairs.
    """
    workspace, rules = current_workspace(), given.guideline
    own = read_guideline(workspace.setting("tasks", "guideline")).name if workspace else rules.name
    if given.values["pool"] or (workspace and own != rules.name):
        raise UsageError(
            f"{rules.name} asks about captions alone, so it has a campaign of its own: `fire-toolkit init "
            f"validity --guideline {rules.name}`, then `cd validity` and `fire-toolkit tasks`"
        )
    found = given.queries["query_id"]
    if (original := given.original_if_any) is not None:
        found = found[found.isin(original["query_id"])]
    return check_pool(pd.DataFrame({"query_id": found, "doc_id": ALONE}))


def _never_asked(pooled: Pool, root: Path) -> Pool:
    """Return the pairs that nobody was handed and nobody judged; where there are none, the latest round's."""
    files = handed_out(root)
    keys = {number: task_keys(path) for number, path in files.items()}
    asked = set().union(*keys.values(), _campaign_keys(root))
    rest = _not_judged(pooled, root)
    fresh = rest
    if asked:
        fresh = Pool(rest[[key not in asked for key in _keys(rest)]])
    if len(fresh):
        number = int(fresh["round"].max())
        taken = begun_rounds(root)
        number = next_round_number(root) if number in taken else number
        return Pool(fresh.assign(round=number).reset_index(drop=True))
    latest = max(files, default=0)
    again = pooled[[key in keys.get(latest, ()) for key in _keys(pooled)]]
    whole = again if len(again) == len(keys.get(latest, ())) else again.iloc[:0]
    return Pool(whole.assign(round=max(latest, 1)).reset_index(drop=True))


def _in_free_round(pairs: Pool, root: Path) -> Pool:
    """Return the pairs in their round, or in the next one if other pairs were handed out in theirs.

    Raises:
        UsageError: pairs of a new round were given out before; the tasks of one that is there may change.
    """
    there = handed_out(root).get(int(pairs["round"].max()) if len(pairs) else 1)
    if there is not None and task_keys(there) == set(_keys(pairs)):
        return pairs
    _refuse_given_out(pairs, root)
    return pairs if there is None else Pool(pairs.assign(round=next_round_number(root)))


def _refuse_given_out(pairs: Pool, root: Path) -> None:
    """Raise UsageError for pairs that the campaign gave out: `tasks` does not know who has seen them."""
    given = _campaign_keys(root)
    if again := sum(key in given for key in _keys(pairs)) if given else 0:
        raise UsageError(
            f"{again:,} of {n_of(len(pairs), 'pair')} were given out in this campaign before, and `tasks` "
            "would give them to people who have answered them; `next-round` asks them of others"
        )


def _keys(pairs: Pool) -> list[str]:
    return pair_ids(listed(pairs["query_id"]), listed(pairs["doc_id"]))


def _not_judged(pairs: Pool, root: Path) -> Pool:
    """Return the pairs that neither the pool nor the workspace's judgments call judged."""
    judgments = root / "judgments" / "judgments.csv"
    left = pairs[~pairs["is_judged"]] if "is_judged" in pairs.columns else pairs
    if judgments.is_file() and len(left):
        left = left[pair_rows(left, read_judged_pairs(judgments)) < 0]
    return Pool(left.reset_index(drop=True))


def _campaign_keys(root: Path) -> set[str]:
    """Return the pairs that a campaign has given out for a judgment."""
    keys: set[str] = set()
    for folder in paths_in(root / FOLDER):
        path = folder / "assignments.csv"
        if not path.is_file():
            continue
        given = read_delimited(path, required=["pair_id", "kind"])
        keys.update(given.loc[~given["kind"].isin([TRAINING, CONTROL]), "pair_id"])
    return keys


def refuse_texts_unseen(made: Tasks, items: Items | None, rules: Guideline) -> None:
    """Raise a UsageError where the items are texts, and the guideline's page shows files."""
    if not len(made) or items is None or "text" not in items.columns:
        return
    if made["media_url"].isin(["", *made["doc_id"].unique()]).all():
        raise UsageError(
            f"the items are texts, and {rules.name} shows a {rules.item_kind}: choose a guideline that shows "
            "texts, as with --guideline passage-relevance-v1; or give --items with media_url"
        )


def warn_of_unshown(made: Tasks) -> None:
    """Say which media_url of the tasks are ids or paths on this machine."""
    urls = made["media_url"].unique()
    bad = [url for url in urls if not url or file_at(url, Path())]
    if bad:
        shown = ", ".join(map(repr, bad[:3])) + (", …" if len(bad) > 3 else "")
        say(
            f"warning: {len(bad):,} of {n_of(len(urls), 'item')} cannot be shown to annotators: media_url "
            f"is empty, an id or a local path, not a URL ({shown}); `media serve` gives files addresses, "
            f"and our own page (`push --carrier page`) shows them as they are; for ids, "
            "give --items a table with doc_id and media_url"
        )


def by_hand(made: Tasks, loads: Mapping[str, float], n_captions: int, seed: int) -> Round:
    """Return the round of tasks that files carry, in the queues that `push` would give."""
    refuse_file_names(loads)
    number = int(made["round"].max()) if len(made) else 1
    return replace(first_round(number, made, loads, n_captions=n_captions, seed=seed), carrier=BY_HAND)


def kept(file: Path, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the texts to write, with those that an earlier `tasks` wrote beside them.

    Other captions and addresses of the same tasks are written where a server carries them: `push` then
    updates those that nobody has answered. Whoever deletes `file` has no use for those of doubled pairs.

    Raises:
        UsageError: a file that is there would change: people may have its tasks.
    """
    at = manifest_path(file, is_folder=False)
    there = read_manifest(at).outputs if at.is_file() else {}
    both = {file.name, overlap_file(file).name}  # the others are of single persons, and stay
    gone = set() if file.is_file() else both
    found = {name: file.with_name(name) for name in there if file.with_name(name).is_file()}
    earlier = {name: path.read_bytes() for name, path in found.items() if name not in gone}
    changed = [
        name for name, text in earlier.items() if texts.get(name, None if name in both else text) != text
    ]
    if changed and _on_server(file) and all(_same_pairs(earlier[name], texts.get(name)) for name in changed):
        say(
            "note: captions or addresses of tasks have changed; `push` updates those that nobody has answered"
        )
    elif changed:
        raise UsageError(
            f"{file.with_name(changed[0])}: already exists, would change, and people may have its tasks; if "
            f"nobody has, delete {file} and run this again; or write elsewhere with --out"
        )
    return {**earlier, **texts} if file.is_file() else dict(texts)


def _on_server(file: Path) -> bool:
    """Whether a server carries the round whose tasks lie in `file`."""
    workspace = current_workspace()
    if workspace is None:
        return False
    numbers = [n for n, path in handed_out(workspace.root).items() if path.resolve() == file.resolve()]
    return bool(set(numbers) & campaign_rounds(workspace.root) - rounds_by_hand(workspace.root))


def _same_pairs(earlier: bytes, now: bytes | None) -> bool:
    """Whether two files of tasks ask the same pairs in the same order."""
    tasks = (parse_json(text.decode(), "tasks") for text in (earlier, now or b"[]"))
    before, after = ([task["data"][PAIR_ID] for task in each] for each in tasks)
    return bool(before == after)
