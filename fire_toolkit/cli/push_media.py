"""`push` and what annotators see: tasks made again with other addresses, and a look at every medium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import BY_PAGE, BY_SERVER, FOLDER, Round
from fire_toolkit.campaign.task_files import read_task_files
from fire_toolkit.cli.common import n_of, relative_path, say
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.media_links import local_base
from fire_toolkit.cli.meter import Meter
from fire_toolkit.errors import FireError
from fire_toolkit.files import sha256_of
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.push import Plan, Pushed
from fire_toolkit.labelstudio.showing import media_to_send, open_items, refuse_unreachable
from fire_toolkit.tables import Tasks
from fire_toolkit.workspace.manifests import manifest_path, read_manifest
from fire_toolkit.workspace.rounds import handed_out

_SHOWN = 3


def renewed_rounds(root: Path, rounds: Sequence[Round], rules: Guideline, inputs: Inputs) -> list[Round]:
    """Return the server's rounds whose tasks were made again with other captions or addresses, with these."""
    at = manifest_path(root / FOLDER, is_folder=True)
    pushed = read_manifest(at).inputs if at.is_file() else {}
    on_server = {entry.number: entry for entry in rounds if entry.carrier == BY_SERVER}
    contents: dict[str, tuple[str, str]] = {}
    for number, path in handed_out(root).items():
        name = path.relative_to(root).as_posix()
        if number in on_server and pushed.get(name) != sha256_of(path):
            made = read_task_files(relative_path(path), rules)
            if set(made["pair_id"]) != _asked(on_server[number]):
                say(f"note: {name} has other pairs than round {number}, which has begun; it is not sent")
                continue
            inputs.use(relative_path(path))
            contents |= zip(made["pair_id"], zip(made["text"], made["media_url"], strict=True), strict=True)
    found = ((entry, _renewed(entry, contents)) for entry in on_server.values())
    return [new for entry, new in found if new is not entry]


def _asked(entry: Round) -> set[str]:
    """Return the pairs that a round asks for a vote."""
    rows = entry.assignments if entry.drawn is None else entry.drawn
    return set(rows.loc[~rows["kind"].isin([TRAINING, CONTROL]), "pair_id"])


def _renewed(entry: Round, contents: Mapping[str, tuple[str, str]]) -> Round:
    old = list(zip(entry.tasks["text"], entry.tasks["media_url"], strict=True))
    new = [contents.get(key, shown) for key, shown in zip(entry.tasks["pair_id"], old, strict=True)]
    if new == old:
        return entry
    text, media_url = zip(*new, strict=True)
    return replace(entry, tasks=Tasks(entry.tasks.assign(text=list(text), media_url=list(media_url))))


def look_before(plans: Sequence[Plan], rules: Guideline, connection: Connection, sample: int | None) -> None:
    """Ask the addresses of what would be sent whether they answer, and say how many were asked.

    Raises:
        FireError: at some of them annotators would see nothing.
    """
    media = media_to_send(plans, rules)
    if not media:
        return
    if sample == 0:
        words = f"whether annotators can see the {n_of(len(media), 'item')} (--check-media 0)"
        say(f"note: nobody has looked {words}")
        return
    with Meter("media asked", None) as meter:
        reached = refuse_unreachable(
            media,
            rules,
            connection=connection,
            sample=sample,
            report=meter,
        )
    n_asked = len(reached.faults)
    if sample is not None and n_asked < len(media):
        say(f"note: {n_asked:,} of {n_of(len(media), 'item')} asked, drawn at random; all of them answer")
    if reached.n_without_parts:
        words = "do not answer parts (Range): nobody can seek in them"
        say(f"note: {reached.n_without_parts:,} of {n_of(n_asked, 'item')} {words}")


def refuse_missing(root: Path, rounds: Sequence[Round], rules: Guideline, sample: int | None) -> None:
    """Raise a FireError where our own page would show an item that is not there; sample 0: do not look."""
    shown = [entry for entry in rounds if entry.carrier == BY_PAGE]
    if not shown or sample == 0:
        return
    from fire_toolkit.cli.page import media_files
    from fire_toolkit.pages.office import missing_media

    missing = missing_media(shown, rules, media_files(root), local_base())
    if missing:
        n_tasks = sum(int(entry.tasks["media_url"].isin(missing).sum()) for entry in shown)
        raise FireError(
            f"{n_of(len(missing), 'item')} of {n_of(n_tasks, 'task')} not there "
            f"({', '.join(missing[:_SHOWN])}), so annotators would see nothing; put the files where "
            "media_url says (a path from the workspace's folder, or an address) and make the tasks again, "
            "or push with --check-media 0"
        )


def look_after(pushed: Sequence[Pushed], rules: Guideline, connection: Connection) -> None:
    """Open an item of each project as its page does.

    Raises:
        FireError: annotators see nothing there.
    """
    queues = {number: entry.queue for entry in pushed for number in entry.projects}
    with Api(connection) as api:
        faults = {number: fault for number, fault in open_items(api, queues, rules).items() if fault}
    if faults:
        named = [f"project {number} ({queues[number]}): {fault}" for number, fault in faults.items()]
        shown = "; ".join(named[:_SHOWN]) + ("; …" if len(named) > _SHOWN else "")
        raise FireError(
            f"the tasks are there, but the first item cannot be seen in {len(named):,} of "
            f"{n_of(len(queues), 'project')} ({shown}); for /data/local-files/ "
            "or a bucket add its storage in the project's settings; then push again"
        )
