"""What models that are new, changed or withdrawn since the workspace's pool ask of people, for `status`."""

from __future__ import annotations

from collections.abc import Mapping

from fire_toolkit.cli.common import current_workspace, n_of, relative_path, setting_or_default
from fire_toolkit.cli.given import Given, with_tables
from fire_toolkit.cli.run_readers import stem_of
from fire_toolkit.commands.pool import pool
from fire_toolkit.pooling.words import takes_all, time_in_words
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.stages import CHANGED, GONE, NEW, given_options


def news_of_runs(changed: Mapping[str, str], *, are_all: bool) -> str | None:
    """Return which models of the workspace are new, changed or withdrawn since its pool, and what that asks.

    None where nobody was asked yet.

    Args:
        changed: runs by their names in the pool's manifest, as `changed_runs` returns them.
        are_all: whether nothing else differs from then; pairs of the other runs are then in the pool.
    """
    workspace, given = current_workspace(), Given({"runs": ()})
    earlier = given.earlier
    if workspace is None or earlier.pool is None:
        return None
    settings = {name: setting_or_default(None, "pool", name) for name in SETTINGS["pool"]}
    if writer := writer_of(workspace.root / "pool/pool.csv"):
        settings |= {name: value for name, value in given_options(writer).items() if name in settings}
    is_rest_asked = are_all and earlier.is_whole and takes_all(settings)  # else it moves the others' pairs
    files = [str(relative_path(workspace.root / name)) for name, what in changed.items() if what != GONE]
    to_ask, hours = 0, ""
    if files or not is_rest_asked:
        given.values["runs"] = tuple(files) if is_rest_asked else ()
        tables = with_tables(pool, given, settings)
        to_ask = pool(**tables).counts.get("to_ask", 0)
        hours = time_in_words(to_ask, tables["asked_before"].seconds)
    asked = f"{n_of(to_ask, 'pair')} to ask{hours}" if to_ask else "nothing new to ask"
    return f"{_in_words(changed)}: {asked}"


def _in_words(changed: Mapping[str, str]) -> str:
    """Return which models are new, changed or withdrawn, by the names of their files."""
    parts = []
    for kind, words in (
        (NEW, "new model{} {}"),
        (CHANGED, "model{} {} changed"),
        (GONE, "model{} {} withdrawn"),
    ):
        found = [stem_of(name) for name, what in changed.items() if what == kind]
        if found:
            parts.append(words.format("s" * (len(found) > 1), ", ".join(found)))
    return ", ".join(parts)
