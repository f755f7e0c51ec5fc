"""`pull`: answers from a server, our own page or a plug-in's carrier to the ledger, and to judgments."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from fire_toolkit.campaign.carrier import CARRIERS, NOT_PUSHED, Carrier, Fetched
from fire_toolkit.campaign.ledger import ANSWERED, STATES
from fire_toolkit.campaign.merging import Shown, merge_record
from fire_toolkit.campaign.records import BY_HAND, BY_PAGE, BY_SERVER, Rounds, take_back_answered
from fire_toolkit.campaign.store import Store, is_record
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.cli.campaigns import carried_at, guideline_here, used_connection
from fire_toolkit.cli.common import metered, n_of, numbers_of, say_notes
from fire_toolkit.cli.given import Given, name_in_manifest
from fire_toolkit.cli.here import needed_workspace, relative_path, workspace_lock
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import FireError, PluginError, UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.labelstudio.accounts import pseudonyms, read_register
from fire_toolkit.labelstudio.connection import SERVER_FOLDER
from fire_toolkit.pages.office import OwnPage
from fire_toolkit.pages.written import is_answer_file, take_files
from fire_toolkit.workspace.database import STORE, content_sha256
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.rounds import refuse_lost_record


def pull(
    *, full: bool = False, accept_loss: Annotated[bool, Option(needs="full")] = False, as_json: bool
) -> None:
    """Fetch new and changed answers into the ledger, then write judgments.csv and dropped.csv from it.

    The ledger (in campaign.sqlite) keeps every version of every answer. An ordinary pull reads what changed
    since the last one, and every project in which the server counts other answers than the ledger; an edit
    that the server does not date shows only in --full. Where one carrier cannot be read, the others are.

    Args:
        full: Read everything again: at the end of a round, before `resolve`.
        accept_loss: With --full: answers of deleted projects no longer count. They stay in the ledger.
    """
    root = needed_workspace().root
    with workspace_lock():
        pulled, failed = pull_once(root, is_full=full, accepts_loss=accept_loss)
        derive_judgments(root, pulled, as_json=as_json)
    if failed:
        raise failed
    say_following()


CARRIERS.add(BY_SERVER, lambda root: carrier_of(BY_SERVER, root))
CARRIERS.add(BY_PAGE, OwnPage)
_NAMES = {ANSWERED: "new"}


def pull_once(
    root: Path, *, is_full: bool = False, accepts_loss: bool = False
) -> tuple[Fetched, FireError | None]:
    """Bring the ledger up to what the server has, our own page and the carriers of plug-ins.

    Returns:
        What came in, and why a carrier could not be read where another one could.
    """
    rounds = Rounds(root)
    names = sorted({*rounds.carriers.values()} - {BY_HAND}) if rounds else [BY_SERVER]
    if rounds.campaign is None or not names:
        refuse_lost_record(root)
        raise UsageError(NOT_PUSHED)
    found, failed = [], None
    for name in names:
        try:
            carrier = carrier_of(name, root, accepts_loss=accepts_loss)
            with metered("tasks read", None) as meter:
                found.append(carrier.fetch(carried_at(root, name), is_full=is_full, report=meter))
        except FireError as error:
            failed = failed or error
    if failed and not found:
        raise failed
    try:
        return _together(found), failed
    except (AttributeError, TypeError, ValueError) as error:  # what a plug-in's carrier made
        raise PluginError(f"carrier {' or '.join(names)} fetched no Fetched with counts and notes") from error


def carrier_of(name: str, root: Path, *, accepts_loss: bool = False) -> Carrier:
    """Return the server, or a plug-in's carrier of that name."""
    if name == BY_SERVER:
        from fire_toolkit.labelstudio.carrier import LabelStudio  # with the HTTP library, which takes .2 s

        return LabelStudio(used_connection(), root, accepts_loss=accepts_loss)
    if not hasattr(carrier := CARRIERS.named(name)(root), "fetch"):
        raise PluginError(f"carrier {name!r} is a {type(carrier).__name__}, expected a Carrier")
    return carrier


def read_files(
    root: Path, paths: Sequence[Path], *, source: str | None = None, shown: Shown | None = None
) -> Fetched:
    """Add the answers in exports, sheets, files of written pages and other sites' records to the ledger.

    source: of the people in another campaign's record, shown: what the collection shows, see `merge_record`.
    """
    own = carried_at(root)
    saved = [path for path in paths if is_answer_file(path)] if own.known else []
    copies = [path for path in paths if is_record(path)]
    paths = [path for path in paths if path not in (*saved, *copies)]
    found = []
    if copies:
        with Store(root / STORE) as store:
            merge = partial(merge_record, store, labels=own.guideline.grades, source=source, shown=shown)
            notes = [note for path in copies for note in merge(path)]
            found.append(Fetched(store.counts, (*notes, *store.notes)))
    if saved:
        rules = replace(own.guideline, label_config=own.campaign.label_config)
        found.append(take_files(saved, replace(carried_at(root, BY_PAGE), guideline=rules)))
    if paths or not found:
        names = pseudonyms(read_register(root / SERVER_FOLDER))
        with metered("answers read", None) as meter:
            found.append(Folder(root, exports=paths, names=names).fetch(own, report=meter))
    return _together(found)


def _together(parts: Sequence[Fetched]) -> Fetched:
    counts = {state: sum(part.counts.get(state, 0) for part in parts) for state in STATES}
    return Fetched(counts, tuple(note for part in parts for note in part.notes))


def derive_judgments(
    root: Path, added: Fetched, *, stage: str = "pull", exports: Given | None = None, as_json: bool
) -> None:
    """Write judgments.csv and dropped.csv from the ledger, and say what came in.

    exports: the files that were read; those of earlier imports stay in the manifest.
    """
    out = relative_path(root / "judgments" / "judgments.csv")
    inputs = Given({"as_json": as_json})
    inputs.hashes = _inputs_before(root) | (exports.hashes if exports else {})
    inputs.hashes |= {STORE: content_sha256(root / STORE)} if (root / STORE).is_file() else {}
    rules = guideline_here()
    with Store.at(root / STORE) as store:
        moved = take_back_answered(store)
        found = record_to_judgments(store, guideline=rules)
    counts = found.counts
    files = {"judgments.csv": found.judgments, "dropped.csv": found.dropped}
    came = {_NAMES.get(state, state): added.counts.get(state, 0) for state in STATES}
    words = f"{numbers_of(came)}; {n_of(len(found.judgments), 'judgment')}"
    words += f"; dropped: {numbers_of(counts['dropped'])}" if len(found.dropped) else ""
    inputs.write(out, files, stage, rules.record, counts)
    inputs.summarise({**came, **counts}, words)
    say_notes((*added.notes, *moved, *found.notes))


def take_earlier_exports(root: Path) -> None:
    """Read into the ledger the exports that the judgments were made from before there was one."""
    judgments = root / "judgments" / "judgments.csv"
    refuse_lost_record(root, by_hand=False)
    with Store.at(root / STORE) as store:
        if not judgments.is_file() or store.has_answers():
            return
    inputs = manifest_of(judgments).inputs
    if STORE in inputs:
        return
    paths = [root / name for name in inputs]
    if not paths or not all(path.is_file() for path in paths):
        columns = "--columns annotator=annotator_id,query=query_id,doc=doc_id,label=label"
        raise UsageError(f"{relative_path(judgments)}: would be lost; move it away, or import it: {columns}")
    files = Given()
    added = read_files(root, [files.use(relative_path(path)) for path in paths])
    derive_judgments(root, added, stage="import", exports=files, as_json=False)


def not_read_yet(root: Path, paths: Sequence[Path]) -> list[Path]:
    """Return the files that are to be read into the ledger: all that it was not read from, or is changed."""
    known = _inputs_before(root)
    if known.get(STORE) != content_sha256(root / STORE):
        return list(paths)  # it was restored from a copy, or a command was cut short
    return [path for path in paths if known.get(name_in_manifest(path)) != sha256_of(path)]


def _inputs_before(root: Path) -> dict[str, str]:
    """Return what the judgments were made from, with hashes; nothing where that was no ledger."""
    found = manifest_of(root / "judgments" / "judgments.csv").inputs
    return found if STORE in found else {}
