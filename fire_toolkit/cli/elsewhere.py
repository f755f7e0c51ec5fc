"""What `import` does with judgments that people made elsewhere: options, what is refused, what is said."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import click

from fire_toolkit.campaign.carrier import Fetched, fetched
from fire_toolkit.campaign.store import Store
from fire_toolkit.cli.columns import named_columns
from fire_toolkit.cli.common import current_workspace, relative_path
from fire_toolkit.cli.fetching import derive_judgments, guideline_of, read_files
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.server_options import private_folder
from fire_toolkit.commands.types import Option
from fire_toolkit.elsewhere.exports import LABEL_STUDIO, controls_of, read_elsewhere_export, tasks_of
from fire_toolkit.elsewhere.found import FoundFile
from fire_toolkit.elsewhere.labels import LabelMap
from fire_toolkit.elsewhere.rows import ledger_rows, new_rows, pseudonym_of
from fire_toolkit.elsewhere.tables import ROLES, read_elsewhere_table, read_submissions
from fire_toolkit.elsewhere.tools import TOOLS
from fire_toolkit.elsewhere.understood import Understood, lines_of, lines_of_all, record_of, understand
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_text
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.media_key import make_key
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_path, read_manifest

PEOPLE_KEY = "people.key"
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
        source: Where account names come from: in one source, one name is one person.
        skip_unknown: Leave out pairs that the collection does not have.
        dry_run: Show what is understood, and write nothing.
    """

    columns: Annotated[Sequence[str], Option(metavar="ROLE=COLUMN,...")] = ()
    mapping: Annotated[Sequence[str], Option(("--label",), metavar="[CONTROL:]VALUE=LABEL")] = ()
    split: Annotated[str, Option(metavar="TEXT")] = ""
    submissions: Annotated[str | None, Option(metavar="FILE")] = None
    source: Annotated[str | None, Option(metavar="NAME")] = None
    skip_unknown: bool = False
    dry_run: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether any of them was given."""
        given = (self.columns, self.mapping, self.split, self.submissions, self.source)
        return any((*given, self.skip_unknown, self.dry_run))


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
        raise UsageError(f"the workspace judges by {rules.name}; fire.toml names it ([tasks] guideline)")
    files, labels = _read(given, paths, asked, rules)
    known = _known_ids(given)
    understood = understand(files, labels, known)
    refusals = understood.refusals(skips_unknown=asked.skip_unknown)
    if asked.dry_run:
        _show(files, understood, refusals, known, as_json=given.as_json)
        return
    if not any(file.answers for file in files):
        refusals = ["no answer in it"]
    if refusals:
        raise FormatError(f"{', '.join(file.path for file in files)}: {'; '.join(refusals)}")
    added = _add(workspace.root, files, labels, known, source=asked.source or _source(files))
    notes = (*understood.notes(files, known), *added.notes)
    derive_judgments(workspace.root, replace(added, notes=notes), stage="import", as_json=given.as_json)


def _source(files: Sequence[FoundFile]) -> str:
    return "labelstudio" if all(file.tool == LABEL_STUDIO for file in files) else "table"


def _read(
    given: Given, paths: Sequence[Path], asked: Elsewhere, rules: Guideline
) -> tuple[list[FoundFile], LabelMap]:
    names = [label.name for label in rules.labels]
    used = [given.use(path) for path in dict.fromkeys(paths)]
    columns = named_columns(asked.columns, ROLES)
    if set(columns) == {"query", "doc"}:  # all that the tasks of a Label Studio project do not say
        named = [str(relative_path(path)) for path in used]
        exports = [tasks_of(read_text(path), name) for path, name in zip(used, named, strict=True)]
        if all(exports):
            labels = LabelMap(asked.mapping, names)
            controls = _controls(labels, exports, names)
            pairs = zip(exports, named, strict=True)
            return [read_elsewhere_export(*each, columns, controls=controls) for each in pairs], labels
    kept = read_submissions(given.use(asked.submissions)) if asked.submissions else None
    files = [read_elsewhere_table(path, columns, split=asked.split, kept=kept) for path in used]
    own = {tool.name: tool.labels for tool in TOOLS if tool.labels}
    defaults = {value: label for file in files for value, label in own.get(file.tool, {}).items()}
    return files, LabelMap(asked.mapping, names, defaults=defaults)


def _controls(
    labels: LabelMap, exports: Sequence[Sequence[Mapping[str, Any]]], names: Sequence[str]
) -> list[str]:
    """Return the controls of a Label Studio project whose values are labels."""
    known = list(dict.fromkeys(name for tasks in exports for name in controls_of(tasks)))
    controls = labels.controls(known)
    if not controls:
        raise UsageError(
            "say what the answers mean, as in --label CONTROL:VALUE=LABEL; "
            f"controls: {', '.join(known) or 'none'}; labels: {', '.join(names)}"
        )
    return controls


def _known_ids(given: Given) -> dict[str, Collection[str] | None]:
    """Return the ids of the workspace's queries and items; None where it names none."""
    queries = set(given.queries["query_id"]) if given.found("queries") else None
    items = set(given.items_if_any["doc_id"]) if given.found("items") else None  # type: ignore[index]
    return {"query": queries, "doc": items}


def _show(
    files: Sequence[FoundFile],
    understood: Understood,
    refusals: Sequence[str],
    known: Mapping[str, Collection[str] | None],
    *,
    as_json: bool,
) -> None:
    """Print what was understood; an error after it where that cannot be imported."""
    if as_json:
        click.echo(json.dumps(record_of(files, understood) | {"refused": list(refusals)}, ensure_ascii=False))
    else:
        lines = [line for file in files for line in lines_of(file)] + lines_of_all(understood)
        lines += [f"note       {note}" for note in understood.notes(files[:0], known)[1:]]
        click.echo("\n".join([*lines, "nothing was written"]))
    if refusals:
        raise FormatError(f"this would be refused: {'; '.join(refusals)}")


def _add(
    root: Path,
    files: Sequence[FoundFile],
    labels: LabelMap,
    known: Mapping[str, Collection[str] | None],
    *,
    source: str,
) -> Fetched:
    """Add the answers to the ledger. The files themselves, with people's names, can be deleted after that."""
    _take_earlier_exports(root)
    key = make_key(private_folder() / PEOPLE_KEY, _LOSS)

    def name_of(worker: str) -> str:
        return pseudonym_of(worker, key=key, source=source)

    with Store(root / STORE) as store:
        for file in files:
            rows = ledger_rows(file, labels, name_of=name_of, known=known, seen_at=store.now())
            store.add_answers(new_rows(rows, store))
        return fetched(store.counts, n_projects=len(files), notes=store.notes)


def _take_earlier_exports(root: Path) -> None:
    """Read into the ledger the exports that the judgments were made from before there was a ledger."""
    judgments = root / "judgments" / "judgments.csv"
    if not judgments.is_file() or (root / STORE).is_file():
        return
    at = manifest_path(judgments, is_folder=False)
    inputs = read_manifest(at).inputs if at.is_file() else {}
    paths = [root / name for name in inputs]
    if not paths or not all(path.is_file() for path in paths):
        raise UsageError(
            f"{relative_path(judgments)}: not made from files that are here, so it would be lost; move it "
            "away, or import it: --columns annotator=annotator_id,query=query_id,doc=doc_id,label=label"
        )
    read_files(root, [relative_path(path) for path in paths])
