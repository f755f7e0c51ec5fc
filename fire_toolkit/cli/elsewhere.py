"""What `import` does with judgments that people made elsewhere: options, what is refused, what is said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from fire_toolkit.campaign.carrier import Fetched
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_files import rounds_handed_out
from fire_toolkit.cli.campaigns import private_folder
from fire_toolkit.cli.common import current_workspace, relative_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.pull import derive_judgments, guideline_of, read_files
from fire_toolkit.commands.types import Option
from fire_toolkit.elsewhere.answers import ROLES, read_elsewhere
from fire_toolkit.elsewhere.meaning import Labels, control_of, lines_of, notes_of, understand
from fire_toolkit.elsewhere.rows import BY_SERVER, BY_TABLE, PEOPLE_KEY, new_rows, pseudonym_of
from fire_toolkit.elsewhere.tables import LABEL_STUDIO, FoundFile, read_submissions
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.tables.table_files import has_columns
from fire_toolkit.labelstudio.secrets import key_at
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_of

_LOSS = "without it, the same people get other pseudonyms, and their answers count twice when imported again"


@dataclass(frozen=True)
class Elsewhere:
    """How judgments made elsewhere are read.

    Args:
        columns: Read a table of another tool by its columns, or a Label Studio project that was not made here
            by its fields; ROLE: annotator, query, doc, pair, label, time, seconds, status, round, comment.
        mapping: Which label of the guideline a value is; - for no vote (may be repeated).
        split: The separator between the two ids in the column pair.
        submissions: Prolific's export of submissions: only approved work counts.
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

    @property
    def is_asked(self) -> bool:
        """Whether any of them was given."""
        given = (self.columns, self.mapping, self.split, self.submissions, self.source, self.round)
        return any((*given, self.skip_unknown, self.dry_run))


def is_judgments_table(path: Path) -> bool:
    """Whether a file is a table of judgments as this toolkit writes and releases them."""
    names = ("query_id", "doc_id", "annotator_id", "label")
    return path.suffix in (".csv", ".tsv") and path.is_file() and has_columns(path, *names)


def import_elsewhere(given: Given, paths: Sequence[Path], asked: Elsewhere) -> None:
    """Read, check and add to the ledger what people answered elsewhere; then make the judgments from it."""
    workspace = current_workspace()
    if given.values["out"] or workspace is None:
        raise UsageError(
            "judgments made elsewhere go into a workspace's ledger: run it in one, without --out"
        )
    if not asked.columns:
        raise UsageError("--columns says where the ids are, as in --columns query=caption_id,doc=video_id")
    rules = guideline_of(workspace.root)
    if given.values["guideline"] and given.guideline.name != rules.name:
        raise UsageError(
            f"the workspace judges by {rules.name}, as its tasks or fire.toml ([tasks] guideline) say"
        )
    labels = Labels(asked.mapping, [label.name for label in rules.labels])
    files = _read(given, paths, asked, labels)
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
    if all(file.answers.empty for file in files):
        refusals = ["no answer in it"]
    if refusals:
        raise FormatError(f"{', '.join(file.path for file in files)}: {'; '.join(refusals)}")
    _take_earlier_exports(workspace.root)
    is_of_server = all(file.tool == LABEL_STUDIO.name for file in files)
    name_of = partial(
        pseudonym_of,
        key=key_at(private_folder() / PEOPLE_KEY, _LOSS),
        source=asked.source or (BY_SERVER if is_of_server else BY_TABLE),
    )
    asked_in = rounds_handed_out(workspace.root)
    with Store(workspace.root / STORE) as store:
        for file in files:
            store.add_answers(new_rows(file, labels, store, name_of=name_of, known=known, asked_in=asked_in))
        notes = [*notes_of(files), *understood.notes, *store.notes]
        added = Fetched(store.counts, tuple(notes))
    exports = Given()
    for path in paths:
        exports.use(path)
    derive_judgments(workspace.root, added, stage="import", exports=exports, as_json=given.values["as_json"])


def _read(given: Given, paths: Sequence[Path], asked: Elsewhere, labels: Labels) -> list[FoundFile]:
    """Return what is in the files; those of Label Studio must have the controls that --label names."""
    columns = named_columns(asked.columns, ROLES)
    used = [given.use(path) for path in dict.fromkeys(paths)]
    kept = read_submissions(given.use(asked.submissions)) if asked.submissions else None
    files = [
        read_elsewhere(path, columns, split=asked.split, kept=kept, controls=labels.controls) for path in used
    ]
    projects = [file for file in files if file.tool == LABEL_STUDIO.name]
    controls = list(dict.fromkeys(name for file in projects for name in file.controls))
    for value, label in labels.given.items() if len(projects) == len(files) else ():
        if not control_of(value, controls):
            raise UsageError(
                f"--label {value}={label}: names no control of the file; expected "
                f"CONTROL:VALUE=LABEL with one of {', '.join(controls) or 'none (nobody answered anything)'}"
            )
    if projects and not labels.given:
        raise UsageError(
            "say what the answers mean, as in --label CONTROL:VALUE=LABEL; "
            f"controls: {', '.join(controls) or 'none'}; labels: {', '.join(labels.names)}"
        )
    return files


def _take_earlier_exports(root: Path) -> None:
    """Read into the ledger the exports that the judgments were made from before there was a ledger."""
    judgments = root / "judgments" / "judgments.csv"
    with Store(root / STORE) as store:
        if not judgments.is_file() or store.has_answers():
            return
    paths = [root / name for name in manifest_of(judgments, is_folder=False).inputs]
    if not paths or not all(path.is_file() for path in paths):
        raise UsageError(
            f"{relative_path(judgments)}: not made from files that are here, so it would be lost; move it "
            "away, or import it: --columns annotator=annotator_id,query=query_id,doc=doc_id,label=label"
        )
    read_files(root, [relative_path(path) for path in paths])


_SAME = ({"query", "query_id"}, {"doc", "doc_id"}, {"annotator", "annotator_id"})


def named_columns(texts: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """Return role → column of texts `ROLE=COLUMN,ROLE=COLUMN`; a column may hold commas and `=`.

    `query` and `query_id` are one role, so are `doc` and `doc_id`, and `annotator` and `annotator_id`.

    Examples:
        >>> named_columns(["doc=file_name,text=caption_*"], ["doc_id", "query_id", "text"])
        {'doc_id': 'file_name', 'text': 'caption_*'}
    """
    meant = {name: role for role in roles for name in next((same for same in _SAME if role in same), {role})}
    found: dict[str, str] = {}
    for text in texts:
        for part in re.split(rf",(?=\s*(?:{'|'.join(meant)})=)", text):
            name, equals, column = (each.strip() for each in part.partition("="))
            if name not in meant or not equals or not column:
                raise UsageError(f"--columns {part}: expected ROLE=NAME with one of {', '.join(roles)}")
            if found.setdefault(meant[name], column) != column:
                raise UsageError(f"--columns: {meant[name]} is named twice")
    return found
