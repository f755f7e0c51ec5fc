"""`import`: exports of Label Studio, and judgments made elsewhere, as judgments."""

import gc
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import click

from fire_toolkit.campaign.beginning import campaign_of
from fire_toolkit.campaign.carrier import Fetched
from fire_toolkit.campaign.store import Store, is_record
from fire_toolkit.campaign.task_files import rounds_handed_out
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.cli.campaigns import begun_here, guideline_here, private_folder
from fire_toolkit.cli.common import give_back_memory, n_of, numbers_of, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import current_workspace, named_files, needed_workspace, say_next, workspace_lock
from fire_toolkit.cli.pull import (
    derive_judgments,
    not_read_yet,
    read_files,
    take_earlier_exports,
)
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.elsewhere.answers import ROLES, read_elsewhere
from fire_toolkit.elsewhere.meaning import Labels, lines_of, notes_of, understand
from fire_toolkit.elsewhere.rows import BY_SERVER, BY_TABLE, PEOPLE_KEY, add_new, pseudonym_of
from fire_toolkit.elsewhere.tables import LABEL_STUDIO, hinting, read_submissions
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_bytes
from fire_toolkit.folder.sheets import LABEL, MARK, is_sheet
from fire_toolkit.formats.columns import named_columns
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.fire_release import ABOUT, is_fire_release, read_fire_release
from fire_toolkit.formats.tables.table_files import has_columns
from fire_toolkit.formats.written import delimited_bytes
from fire_toolkit.guidelines.model import Guideline, choose_grades
from fire_toolkit.labelstudio.connection import key_at
from fire_toolkit.tables.columns import PAIR, code_pairs
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.rounds import refuse_lost_record

_LOSS = "without it, the same people get other pseudonyms, and their answers count twice when imported again"
_OF_TABLE = ("query_id", "doc_id", "annotator_id", "label")  # of judgments as this toolkit writes them


@dataclass(frozen=True)
class Elsewhere:
    """How judgments made elsewhere are read.

    Args:
        columns: Read a table of another tool by its columns, or a Label Studio project that was not made here
            by its fields; ROLE: annotator, query, doc, pair, label, time, seconds, status, round, comment.
        mapping: Which label of the guideline a value is; - for no vote (may be repeated).
        split: The separator between the two ids in the column pair.
        submissions: Prolific's export of submissions: no rejected work counts.
        source: Where account names come from: in one source, one name is one person. For another campaign's
            record: what goes before its people's names; - if they are the same people as here.
        round: The round in which they were asked, where no column says it. [default: 1]
        skip_unknown: Leave out pairs that the collection does not have.
        dry_run: Show what is understood, and write nothing.
    """

    columns: Annotated[Sequence[str], Option(metavar="ROLE=COLUMN,...")] = ()
    mapping: Annotated[Sequence[str], Option(("--label",), metavar="[CONTROL:]VALUE=LABEL")] = ()
    split: Annotated[str, Option(metavar="TEXT")] = ""
    submissions: Annotated[str | None, Option(metavar="FILE")] = None
    source: Annotated[str | None, Option(metavar="NAME")] = None
    round: Annotated[int | None, click.IntRange(1, 2**31 - 1)] = None
    skip_unknown: bool = False
    dry_run: bool = False


@workspace_lock()
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
    """
    given = Given({"guideline": guideline, "out": out, "as_json": as_json})
    file = given.out("judgments/judgments.csv")
    paths = list(map(Path, exports)) or named_files("import", "exports")
    if not paths:
        raise click.UsageError(
            "no file is named, and none has come back yet to [import] exports of fire.toml"
        )
    sheets: list[Path] = []
    source = elsewhere.source if all(map(is_record, paths)) else None
    elsewhere = replace(elsewhere, source=None) if source else elsewhere
    if elsewhere == Elsewhere():
        if len(paths) == 1 and is_fire_release(paths[0]):
            _from_fire_release(given, paths[0])
            return
        sheets = [path for path in paths if is_sheet(path, MARK)]
        if sheets:
            from fire_toolkit.cli.again import import_experts  # heavy

            import_experts(given, sheets)
            paths = [path for path in paths if path not in sheets]
        if not paths and not (begun_here() and {*sheets} & {*named_files("import", "exports")}):
            return
    is_told = replace(elsewhere, dry_run=False) != Elsewhere()  # that they were made elsewhere
    is_plain = not elsewhere.columns and (is_told or begun_here() is None)
    are_files = all(path.suffix in (".csv", ".tsv") and path.is_file() for path in paths)
    if is_plain and are_files and all(has_columns(path, *_OF_TABLE) for path in paths):
        elsewhere = replace(elsewhere, columns=("label=label",))
    is_usual = out is None
    if is_usual and (workspace := current_workspace()) and not any(map(is_record, paths)):
        refuse_lost_record(workspace.root)
    gc.disable()  # millions of objects are made, none of which is in a cycle
    try:
        if elsewhere != Elsewhere():
            _from_elsewhere(given, paths, elsewhere)
        elif is_usual and (root := _ledger_here(paths)):
            _into_ledger(given, root, paths if exports else not_read_yet(root, paths), sheets, source)
        else:
            _at_once(given, paths, file)
    finally:
        gc.enable()
    if is_usual and not elsewhere.dry_run:
        say_following("agree")
    elif not elsewhere.dry_run:
        say_next(f"agree {quote(str(file))}")


def _refuse_renamed(root: Path) -> None:
    """Refuse more answers where the guideline has lost a label: the record would be of two guidelines."""
    with Store.at(root / STORE) as store:
        choose_grades(store.labels(), guideline=guideline_here())


def _ledger_here(paths: Sequence[Path]) -> Path | None:
    """Return the workspace whose ledger takes answers: of a campaign, with some, or given sheets."""
    campaign = begun_here()
    workspace = current_workspace()
    if campaign or workspace is None:
        return campaign.root if campaign else None
    with Store.at(workspace.root / STORE) as store:
        takes = store.has_answers() or any(is_record(path) or is_sheet(path) for path in paths)
        return workspace.root if takes else None


def _into_ledger(
    given: Given, root: Path, paths: Sequence[Path], sheets: Sequence[Path], source: str | None
) -> None:
    """Add the answers in files to the ledger, and make the judgments from it.

    sheets: of experts, already read; the manifest names them, so that no stage waits for them. source: of the
    people in another campaign's record.
    """
    if given.values["guideline"]:
        campaign_of(root, given.guideline)  # refuses another page than the campaign's
    _refuse_renamed(root)
    files = Given()
    for path in sheets:
        files.use(path)
    paths = list(dict.fromkeys(paths))
    for path in paths:
        if path.resolve().is_relative_to((root / "tasks").resolve()):
            raise UsageError(f"{path}: this file was handed out; save the returned file in exports/")
        _refuse_unknown_ids(path, given)
    records = [path for path in paths if is_record(path)]
    has_queries = bool(records and given.path("queries", exists=True))
    shown = (given.queries, given.items_if_any) if has_queries else None
    paths = [path if path in records else files.use(path) for path in paths]
    with hinting([path for path in paths if path not in records], _names_of(given.guideline)):
        added = read_files(root, paths, source=source, shown=shown)
    give_back_memory()
    derive_judgments(root, added, stage="import", exports=files, as_json=given.values["as_json"])


def _refuse_unknown_ids(path: Path, given: Given) -> None:
    """Raise `FormatError` at an answer in a sheet to a query or a doc that the collection does not have."""
    if path.suffix not in (".csv", ".tsv") or not has_columns(path, *PAIR, LABEL):
        return
    table = read_delimited(path, required=[*PAIR, LABEL], only=(*PAIR, LABEL))
    for name, kind in zip(PAIR, ("queries", "items"), strict=True):
        if (at := given.path(kind, exists=True)) is None:
            continue
        known = set((given.queries if kind == "queries" else given.items_if_any)[name])
        strange = table[(table[LABEL].str.strip() != "") & ~table[name].isin(known)]
        if len(strange):
            row, found = strange.index[0] + 1, strange[name].iloc[0]
            raise FormatError(
                f"{path}: row {row}: {name} {found!r} is not in {at}; correct it, or leave such rows out: "
                "--columns label=label --skip-unknown"
            )


def _at_once(given: Given, paths: Sequence[Path], file: Path) -> None:
    """Write the judgments in exports, without a ledger."""
    rules = given.guideline
    used = [given.use(path) for path in paths]
    with hinting(used, _names_of(rules)):
        exported = ((str(path), read_bytes(path)) for path in used)
        result = judgments_from_export(exported, guideline=rules)
    pairs, people = len(code_pairs(result.judgments)[1]), result.judgments["annotator_id"].nunique()
    counts = {"judgments": 0, "pairs": pairs, "annotators": int(people)} | result.counts
    words = f"{n_of(counts['judgments'], 'judgment')} of {n_of(pairs, 'pair')} by {n_of(people, 'annotator')}"
    words += f"; dropped: {numbers_of(counts['dropped'])} (dropped.csv)" if len(result.dropped) else ""
    contents = {file.name: delimited_bytes(result.judgments), "dropped.csv": delimited_bytes(result.dropped)}
    given.write(file, contents, "import", rules.record, counts, words)
    say_notes(result.notes)


def _from_elsewhere(given: Given, paths: Sequence[Path], asked: Elsewhere) -> None:
    """Read, check and add to the ledger what people answered elsewhere; then make the judgments from it."""
    workspace = current_workspace()
    if given.values["out"] or workspace is None:
        raise UsageError("judgments made elsewhere go into a workspace: run it in one, without --out")
    if not asked.columns:
        raise UsageError("--columns says where the ids are, as in --columns query=caption_id,doc=video_id")
    rules = guideline_here()
    if given.values["guideline"] and given.guideline.name != rules.name:
        raise UsageError(f"--guideline: the workspace judges by {rules.name}; leave it out")
    labels, exports = Labels(asked.mapping, _names_of(rules)), Given()
    columns = {role: own for role, (own,) in named_columns(asked.columns, ROLES).items()}
    kept = read_submissions(given.use(asked.submissions)) if asked.submissions else None
    read = partial(read_elsewhere, columns=columns, split=asked.split, kept=kept, controls=labels.controls)
    files = [read(exports.use(path)) for path in dict.fromkeys(paths)]
    labels.refuse_unclear(files)
    if asked.round:
        files = [file.asked_in(asked.round) for file in files]
    queries = set(given.queries["query_id"]) if given.path("queries", exists=True) else None
    items = set(given.items_if_any["doc_id"]) if given.path("items", exists=True) else None
    known = {"query": queries, "doc": items}
    understood = understand(files, labels, known, skips_unknown=asked.skip_unknown)
    refusals = list(understood.refusals)
    if asked.dry_run:
        if given.values["as_json"]:
            record = {**understood.record, "refused": refusals}
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            notes = [f"note       {note}" for note in understood.notes]
            click.echo("\n".join([*lines_of(understood.record), *notes, "nothing was written"]))
        if refusals:
            raise FormatError(f"this would be refused: {'; '.join(refusals)}")
        return
    if not any(file.n_answers for file in files):
        refusals = ["no answer in it"]
    if refusals:
        raise FormatError(f"{', '.join(file.path for file in files)}: {'; '.join(refusals)}")
    take_earlier_exports(workspace.root)
    _refuse_renamed(workspace.root)
    is_of_server = all(file.tool == LABEL_STUDIO.name for file in files)
    name_of = partial(
        pseudonym_of,
        key=key_at(private_folder() / PEOPLE_KEY, _LOSS),
        source=asked.source or (BY_SERVER if is_of_server else BY_TABLE),
    )
    asked_in = rounds_handed_out(workspace.root)
    with Store(workspace.root / STORE) as store:
        for file in files:
            add_new(store, file, labels, name_of=name_of, known=known, asked_in=asked_in)
        notes = [*notes_of(files), *understood.notes, *store.notes]
        added = Fetched(store.counts, tuple(notes))
    derive_judgments(workspace.root, added, stage="import", exports=exports, as_json=given.values["as_json"])


def _names_of(rules: Guideline) -> list[str]:
    return [label.name for label in rules.labels]


def _from_fire_release(given: Given, path: Path) -> None:
    """Write the tables of a release into `--out`, joined to the workspace's captions."""
    needed_workspace(": the texts of a release are looked up among the captions of a workspace")
    folder = given.out(None)
    release = read_fire_release(given.use(path), given.queries, items=given.items_if_any)
    say_notes(release.notes)
    about = json.dumps(release.about, ensure_ascii=False, indent=1) + "\n"
    contents: dict[str, Any] = {**release.tables, "qrels.txt": release.qrels, ABOUT: about}
    counts = {name.removesuffix(".csv"): len(table) for name, table in release.tables.items()}
    called = {"outside": "entries outside"}
    words = ", ".join(f"{n:,} {called.get(name, name)}" for name, n in counts.items())
    given.write(folder, contents, "import", {"notes": release.notes}, counts, words)
    labels, out = (quote(str(folder / name)) for name in ("labels.csv", "augmented.txt"))
    say_next(f"augment --labels {labels} --out {out}")
