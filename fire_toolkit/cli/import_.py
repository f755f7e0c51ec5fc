"""`import`: exports of Label Studio, and judgments made elsewhere, as judgments."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click

from fire_toolkit.campaign.store import Store, is_record, read_ledger
from fire_toolkit.campaign.tasks import split_pair_ids
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.cli.auditing import import_experts, is_expert_sheet
from fire_toolkit.cli.campaigns import begun_here, campaign_of
from fire_toolkit.cli.common import (
    current_workspace,
    n_of,
    named_files,
    numbers_of,
    say_next,
    say_notes,
    writes_workspace,
)
from fire_toolkit.cli.elsewhere import Elsewhere, import_elsewhere, is_judgments_table
from fire_toolkit.cli.fire_release import import_fire_release
from fire_toolkit.cli.following import say_following
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.pull import derive_judgments, not_read_yet, read_files, reasons_of
from fire_toolkit.commands.types import Option
from fire_toolkit.elsewhere.tables import how_to_read
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_bytes
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.formats.tables.fire_release import is_fire_release
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.judgments import latest_round
from fire_toolkit.tables.columns import code_pairs
from fire_toolkit.workspace.database import STORE


@writes_workspace
def import_(
    exports: Annotated[Sequence[str], Option(is_argument=True, metavar="EXPORT...")] = (),
    *,
    guideline: Annotated[str | None, Option(metavar="NAME")] = None,
    out: Annotated[str | None, Option(metavar="FILE")] = None,
    elsewhere: Elsewhere,
    as_json: bool,
) -> None:
    """Turn Label Studio's JSON exports into judgments, one for each annotator and pair.

    In a campaign answers go into its ledger, from which judgments are made: reading a file twice is harmless,
    and sheets (CSV) filled in by hand and another site's campaign.sqlite are read too. The file's name
    (tasks.A01.json), or the queue that the answers fit, says whose they are. Skips, drafts and replaced
    answers go to dropped.csv with their reason. Export as JSON: JSON_MIN and CSV leave out skips and names.

    --columns and --label read what other tools or other Label Studio projects wrote; people get pseudonyms.
    Begin with --dry-run.

    The sheet of an audit (`next-round --ask audit`) and FIRE's own release are recognised by their content.
    An audit's answers enter neither judgments nor labels. Of FIRE's release a text stands for all captions
    with that text; its tables go to the folder --out.

    Args:
        exports: The files.
        guideline: The guideline judged by. [default: caption-relevance-v1]
        out: The judgments (CSV); dropped.csv is written beside it.
        elsewhere: How judgments made elsewhere are read.
        as_json: Print the counts.
    """
    given = Given({"guideline": guideline, "out": out, "as_json": as_json})
    file = given.out("judgments/judgments.csv")
    paths = list(map(Path, exports)) or named_files("import", "exports")
    if not paths:
        raise click.UsageError("Missing argument 'EXPORT.json...': no export given.")
    sheets: list[Path] = []
    source = elsewhere.source if all(map(is_record, paths)) else None
    elsewhere = replace(elsewhere, source=None) if source else elsewhere
    if not elsewhere.is_asked:
        if len(paths) == 1 and is_fire_release(paths[0]):
            import_fire_release(given, paths[0])
            return
        sheets = [path for path in paths if is_expert_sheet(path)]
        if sheets:
            import_experts(given, sheets)
            paths = [path for path in paths if path not in sheets]
        if not paths:
            return
        if begun_here() is None and all(map(is_judgments_table, paths)):
            elsewhere = replace(elsewhere, columns=("label=label",))
    is_usual = out is None
    with _without_collection():
        if elsewhere.is_asked:
            import_elsewhere(given, paths, elsewhere)
        elif is_usual and (root := _ledger_here(paths)):
            _into_ledger(given, root, paths if exports else not_read_yet(root, paths), sheets, source)
        else:
            _at_once(given, paths, file)
    if not elsewhere.dry_run:
        if is_usual:
            say_following("agree")
        else:
            say_next(f"agree {file}")


def _ledger_here(paths: Sequence[Path]) -> Path | None:
    """Return the workspace whose ledger takes answers: of a campaign, with answers, or with some to merge."""
    campaign = begun_here()
    workspace = current_workspace()
    if campaign or workspace is None:
        return campaign.root if campaign else None
    with Store(workspace.root / STORE) as store:
        return workspace.root if store.has_answers() or any(map(is_record, paths)) else None


def _into_ledger(
    given: Given, root: Path, paths: Sequence[Path], sheets: Sequence[Path], source: str | None
) -> None:
    """Add the answers in files to the ledger, and make the judgments from it.

    sheets: of experts, already read; the manifest names them, so that no stage waits for them. source: of the
    people in another campaign's record.
    """
    if given.values["guideline"]:
        campaign_of(root, given.guideline)  # refuses another page than the campaign's
    files = Given()
    for path in sheets:
        files.use(path)
    paths = list(dict.fromkeys(paths))
    for path in paths:
        if path.resolve().is_relative_to((root / "tasks").resolve()):
            raise UsageError(f"{path}: this file was handed out; save the returned file in exports/")
    records = [path for path in paths if is_record(path)]
    at = given.path("queries", exists=True)
    known = set(given.queries["query_id"]) if records and at else set()
    for path in records if at else ():
        pairs = split_pair_ids(set(read_ledger(path)["pair_id"])).values()
        if n_other := sum(query_id not in known for query_id, _ in pairs):
            raise FormatError(
                f"{path}: {n_other:,} of its {n_of(len(pairs), 'pair')} are on queries that {at} does not "
                "have; expected another copy of this campaign's record"
            )
    paths = [path if path in records else files.use(path) for path in paths]
    with _hint_at_foreign([path for path in paths if path not in records], given.guideline):
        added = read_files(root, paths, source=source)
    derive_judgments(root, added, stage="import", exports=files, as_json=given.values["as_json"])


def _at_once(given: Given, paths: Sequence[Path], file: Path) -> None:
    """Write the judgments in exports, without a ledger."""
    rules = given.guideline
    used = [given.use(path) for path in paths]
    with _hint_at_foreign(used, rules):
        exported = ((str(path), read_bytes(path)) for path in used)
        result = judgments_from_export(exported, guideline=rules)
    dropped = reasons_of(result.dropped)
    n_judgments, n_pairs = len(result.judgments), len(code_pairs(result.judgments)[1])
    n_annotators = int(result.judgments["annotator_id"].nunique())
    counts: dict[str, Any] = {"judgments": n_judgments, "pairs": n_pairs, "annotators": n_annotators}
    counts |= {"dropped": dropped} | (
        {"round": latest} if (latest := latest_round(result.judgments)) > 1 else {}
    )
    contents = {file.name: delimited_bytes(result.judgments), "dropped.csv": delimited_bytes(result.dropped)}
    given.write(file, contents, "import", rules.record, counts)
    words = f"{n_judgments:,} judgments of {n_pairs:,} pairs by {n_annotators} annotators"
    words += f"; dropped: {numbers_of(dropped)} (dropped.csv)" if dropped else ""
    given.summarise(counts, words)
    say_notes(result.notes)


@contextmanager
def _hint_at_foreign(paths: Sequence[Path], rules: Guideline) -> Iterator[None]:
    """Say what to type where a file is refused because another tool, or another project, wrote it."""
    try:
        yield
    except FormatError as error:
        path = next((path for path in paths if str(error).startswith(f"{path}:")), None)
        if path and (words := how_to_read(path, str(error), [label.name for label in rules.labels])):
            raise FormatError(words) from None
        raise


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no circles among objects meanwhile: answers are millions of them, and none is in a circle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
