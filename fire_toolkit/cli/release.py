"""`release`: a folder that publishes a workspace's labels; what is wrong with one, or has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import click
import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.campaign.store import Store, check_record
from fire_toolkit.cli.common import FORMATS, Progress, say, say_notes
from fire_toolkit.cli.given import Given, name_in_manifest
from fire_toolkit.cli.here import made_file, needed_workspace, relative_path, say_next, workspace_lock
from fire_toolkit.cli.readers import counted
from fire_toolkit.cli.report_readers import workspace_facts
from fire_toolkit.cli.status import command_of
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import FireError, StaleError, UsageError
from fire_toolkit.files import read_text
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.releases import (
    STAGE,
    release_files,
    said_at,
    scores_in,
    tables_of_release,
    text_files,
)
from fire_toolkit.formats.tables.delimited import check_header, read_delimited
from fire_toolkit.formats.tables.fire_release import ABOUT, PROVENANCE, fire_release_json, read_about
from fire_toolkit.formats.tables.guideline_files import (
    guideline_files,
    guideline_name,
    place_of,
    read_guideline,
)
from fire_toolkit.formats.tables.table_files import checked_table, read_pool_sources
from fire_toolkit.formats.tables.table_text import LONG, table_text
from fire_toolkit.formats.written import delimited_bytes, parquet_bytes
from fire_toolkit.labelstudio.accounts import private_words
from fire_toolkit.labelstudio.connection import SERVER_FOLDER, key_at
from fire_toolkit.media.places import is_public_address
from fire_toolkit.release.answers import ANONYMOUS, VERSION, check_answers, draft, version_before
from fire_toolkit.release.changes import compare_releases
from fire_toolkit.release.check import check_release, qrels_in
from fire_toolkit.release.facts import documents, platform_of
from fire_toolkit.release.published import (
    MUST,
    Finding,
    Published,
    make_pseudonyms,
    publish,
    refuse_people,
    with_own_ids,
)
from fire_toolkit.release.rankings import rankings_of
from fire_toolkit.reporting.methods import MethodFacts
from fire_toolkit.results import drawn_text
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables import check_changes
from fire_toolkit.tables.ids import BLANKS
from fire_toolkit.words import n_of
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import MANIFEST, Manifest, write_folder, writer_of
from fire_toolkit.workspace.stages import stage_states

_NEEDED = ": a release is made from a workspace"
_MADE = ("pool", "resolve", "augment", "score")
_BROUGHT = ("import", "pull")  # judgments may be a file of somebody's own
_KEY = "release.key"
_OF_FOLDERS = ("version", "date", "previous", "include_runs", "anonymous", "as_draft", "allow_name")
_LOSS = "without it, another release of this version gives annotators other pseudonyms"


def release(
    *,
    version: Annotated[str | None, Option(metavar="VERSION")] = None,
    out: Annotated[Path | None, Option(metavar="FOLDER")] = None,
    date: Annotated[str | None, Option(metavar="YYYY-MM-DD")] = None,
    previous: Annotated[Path | None, Option(metavar="FOLDER")] = None,
    include_runs: Annotated[int | None, Option(metavar="N", least=1)] = None,
    anonymous: bool = False,
    as_draft: Annotated[bool, Option(("--draft",))] = False,
    allow_name: Annotated[Sequence[str], Option(metavar="NAME")] = (),
    form: Annotated[
        Literal["folder", "fire"], Option(("--format",), needs="out", apart=_OF_FOLDERS)
    ] = "folder",
    tables: Annotated[Path | None, Option(metavar="FOLDER", needs="form")] = None,
) -> None:
    """Write a folder that publishes a workspace's labels, or check one.

    docs/release.md lists its files. What no file of the workspace knows is asked for by name, in [release],
    [licences] and [study] of fire.toml.

    It holds ids and labels; captions and media are included where [licences] names their licence, comments
    where [release] comments_consent says how annotators agreed. Annotators get new pseudonyms. A release that
    would hold a registered name, an e-mail, a token or an absolute path is refused.

    --format fire writes judgments, labels and disputes into the file --out, for tools that read FIRE's
    release, with the creator, dates and licence of the one that --tables was read from.

    Args:
        version: Version of the release, such as 1.0.
        out: [default: releases/VERSION]
        date: Date of the release. [default: today]
        previous: The release before, for the changes since. [default: the highest version below in releases/]
        include_runs: Publish the top N of every run and the exact ranks of labelled pairs, from which others
            compute AP again.
        anonymous: Name no creator: for double-blind review.
        as_draft: Print what fire.toml still lacks for a release, as lines to fill in, and write nothing.
        allow_name: A word that documents may hold though an annotator is called so (may be repeated).
        form: A folder as described here, or one JSON file in the shape of FIRE's release.
        tables: For --format fire: what `import` made of such a file. [default: the workspace's own]
    """
    if form == "fire" and out:
        with workspace_lock():
            _write_fire_release(needed_workspace(_NEEDED), tables, out)
        return
    if as_draft:
        own = needed_workspace(_NEEDED)
        is_judged = (own.root / "judgments/judgments.csv").is_file()
        lacking = draft(own.settings, platform=_platform_of(own)[0] if is_judged else "known")
        click.echo(lacking, nl=False)
        say("fill in these lines of fire.toml, where they are empty" if lacking else "nothing is missing")
        return
    if version is None:
        raise click.UsageError("--version is needed, such as 1.0; or `release check FOLDER`")
    workspace = needed_workspace(_NEEDED)
    folder = out or relative_path(workspace.root / "releases" / version)
    try:
        day = datetime.strptime(date, "%Y-%m-%d") if date else datetime.now(UTC)
    except ValueError:
        raise UsageError(f"--date {date!r}, expected a day such as 2026-11-22") from None
    on = day.date().isoformat()
    made = _Release(workspace, folder, version, on, previous, include_runs, anonymous)
    with workspace_lock(), Progress() as tell:
        n = made.write(allow_name, tell)
    pairs = f"{n_of(n['qrels'], 'pair')} of which {n['positives']:,} are relevant"
    answers = f"{n_of(n['judgments'], 'judgment')} by {n_of(n['annotators'], 'annotator')}"
    say(f"{folder}: version {version}, {pairs}, {answers}")
    say(f"next: fire-toolkit release check {folder}")


@dataclass(frozen=True)
class _Release:
    """A release to be: of which workspace, where, and what the command line says of it."""

    workspace: Workspace
    out: Path
    version: str
    date: str
    before: Path | None
    depth: int | None
    is_anonymous: bool

    def write(self, allowed: Sequence[str], tell: Progress) -> Mapping[str, int]:
        """Write the folder and return its counts; `allowed` are annotators' names that documents may hold.

        Raises:
            UsageError: no version, or an answer that is missing or wrong.
            StaleError: a stage that is not done, or no longer fits what it was made from.
            FireError: it is there already, or would publish what it must not.
        """
        if not VERSION.fullmatch(self.version):
            raise UsageError(f"--version {self.version!r}, expected numbers and dots, such as 1.0")
        if self.out.exists():
            raise FireError(f"{self.out}: already exists and is not overwritten; choose another version")
        check_answers(self.workspace.settings)
        answers = self.workspace.settings["release"]
        tell("checking that all stages are done")
        for state in stage_states(self.workspace):
            name, is_stale = state.stage.name, state.state == "stale"
            if (name in _MADE and state.state != "done") or (name in _BROUGHT and is_stale):
                todo = command_of(state, self.workspace)
                raise StaleError(f"{name} is {state.state} ({state.reason}); run `fire-toolkit {todo}` first")
        tell("reading the tables")
        given = Given({"own_item": None})
        published = self._read(given)
        say_notes(published.notes)
        tell("making the files")
        study, contents = self._contents(published, given)
        tell(f"looking for names, addresses and tokens in {len(contents)} files")
        comments = published.tables["judgments"].get("comment", pd.Series(dtype="str")).fillna("")
        names, emails, secrets = private_words(self.workspace.root / SERVER_FOLDER)
        refuse_people(
            contents,
            comments.astype("str"),
            people=[*published.names, *names],
            passwords=secrets,
            addresses=emails,
            answers=answers,
            allowed=allowed,
            is_anonymous=self.is_anonymous,
        )
        tell(f"writing {self.out}")
        parameters = {"version": self.version, "date": self.date, "name": answers["name"]}
        if published.rankings:
            parameters |= {"include_runs": self.depth, "not_scored_again": published.rankings.lost}
        if given.own.of_query:
            parameters["own_item"] = given.own.parameters.get("own_item", "")
        by_machine = {key: value for key, value in (study.augmented or {}).items() if "machine" in key}
        counts = {**published.counts, **by_machine}
        hashes = {name: sha256(content).hexdigest() for name, content in sorted(contents.items())}
        manifest = Manifest(STAGE, __version__, parameters, given.published, hashes, counts)
        write_folder(self.out, [*contents.items(), (MANIFEST, manifest.as_bytes())])
        return published.counts

    def _read(self, given: Given) -> Published:
        """Return the workspace's tables as they are published."""
        root, settings = relative_path(self.workspace.root), self.workspace.settings
        check_record(root / STORE)
        judgments = given.all_judgments
        key = key_at(self.workspace.root / SERVER_FOLDER / _KEY, _LOSS)
        corrected = read_qrels(given.use(root / "augmented/qrels.txt"))
        queries, items, original = given.queries, given.items_if_any, counted(given, given.original_as_read)
        runs = [given.use(relative_path(path)) for path in self.workspace.paths("runs", "files")]
        hashes = [given.hashes[name_in_manifest(path)] for path in runs]
        files = {"file": [path.name for path in runs], "sha256": hashes}
        stages = {
            "changes": checked_table(check_changes, given.use(root / "augmented/changes.csv")),
            "labels": given.labels_as_read,
            "disputes": given.disputes_if_any,
            "pool": given.pool_if_any,
            "pool_sources": read_pool_sources(given.use(root / "pool/pool_sources.csv")),
            **({"query_design": design} if (design := given.query_design) is not None else {}),
            "runs": pd.DataFrame(files, dtype="str"),
            "leaderboard": scores_in(given.use(root / "scores/scores.csv")),
        }
        board, rankings = stages["leaderboard"], None
        if self.depth is not None:
            rankings = rankings_of(given.stored_runs, self.depth, original, corrected, board)
        return publish(
            stages,
            *(judgments, original, corrected, queries, items),
            names=make_pseudonyms(judgments["annotator_id"].unique(), key=key, version=self.version),
            licences=settings["licences"],
            with_comments=bool(settings["release"]["comments_consent"].strip()),
            is_public=is_public_address,
            rankings=rankings,
        )

    def _contents(self, published: Published, given: Given) -> tuple[MethodFacts, dict[str, bytes]]:
        """Return what is known of the study, and every file of the release but the manifest."""
        workspace, tables, before, changes, earlier = self.workspace, published.tables, self.before, None, ""
        folder = relative_path(workspace.root / "releases")
        names = (path.name for path in folder.glob("*") if path.is_dir())
        if not before and (name := version_before(self.version, names)):
            before = folder / name
        named = published.tables["judgments"].get("guideline", pd.Series(dtype="str")).unique()
        guideline = place_of(named[0] if len(named) == 1 else "", workspace) or guideline_name(workspace)
        rules, answers = read_guideline(guideline), {**workspace.settings["release"]}
        platform, why = _platform_of(workspace)
        if not platform:
            raise UsageError(f"judgments/judgments.csv {why}; write into fire.toml, [release] platform")
        if self.is_anonymous:
            answers |= {"creators": [ANONYMOUS], **dict.fromkeys(("url", "files_url", "contact"), "")}
        study = workspace_facts(workspace, given, named=published.names)
        if given.encoded_ids == BLANKS:
            tables = {name: with_own_ids(table) for name, table in tables.items()}
        full = {
            name: table for name, table in tables.items() if len(table)
        }  # `datasets` loads no empty split
        found = {f"data/{name}.parquet": parquet_bytes(table) for name, table in full.items()}
        if before is not None:
            now = {"qrels": published.corrected, "scores": published.tables["leaderboard"]}
            changes = compare_releases(tables_of_release(before), {**published.tables, **now})
            pairs = with_own_ids(changes.pairs) if given.encoded_ids == BLANKS else changes.pairs
            found["changed_pairs.csv"] = delimited_bytes(pairs)
            earlier = read_text(log) if (log := before / "CHANGELOG.md").is_file() else ""
        texts = documents(
            *(published, study, answers, found),
            changes=changes,
            earlier=earlier,
            licences=workspace.settings["licences"],
            version=self.version,
            date=self.date,
            tool=f"fire-toolkit {__version__}",
            platform=platform,
            item_kind=rules.item_kind,
            is_composed=rules.shows_reference,
            own_item=given.own.parameters.get("own_item", ""),
            previous=said_at(before, "version") or before.name if before else "",
            encoded=given.encoded_ids,
        )
        texts |= {f"guideline/{name}": text for name, text in guideline_files(guideline).items()}
        found |= text_files(tables, published.original, published.corrected)
        found |= published.rankings.files() if published.rankings else {}
        return study, found | {name: text.encode() for name, text in texts.items()}


def _platform_of(workspace: Workspace) -> tuple[str, str]:
    """Return where people judged, as fire.toml says, else the answers in the ledger; if empty, why."""
    if stated := str(workspace.settings["release"]["platform"]).strip():
        return stated, ""
    if not writer_of(workspace.root / "judgments/judgments.csv"):
        return "", "was not written by `import` or `pull`"
    with Store.at(workspace.root / STORE) as store:
        tool = "coalesce(json_extract(answer, '$.elsewhere'), '')"
        query = f"select distinct source, {tool} from answers order by 1, 2"
        answered = store.select(query)
    # without a ledger `import` reads exports of Label Studio alone
    return platform_of(answered or [("", "")]), "came from a table that names no tool"


def _write_fire_release(workspace: Workspace, tables: Path | None, out: Path) -> None:
    """Write judgments, labels and disputes as FIRE's release has them: of `tables`, else the workspace's.

    Raises:
        UsageError: nothing says under which licence they may be passed on.
    """
    given = Given({} if tables is None else dict.fromkeys(("judgments", "labels"), str(tables)))
    folder = given.needed("labels").parent
    about, own, path = {}, workspace.settings["release"], folder / ABOUT
    if path.is_file():  # the labels are of a release that was read
        about = read_about(given.use(path))
        say(f"{path}: fields of the release that was read are written again")
    licence = about.get("license", own["licence"])
    dataset = next(iter(about.get("datasets", [own["name"]])), "")
    if not licence:
        raise UsageError("no licence is known for these judgments; write into fire.toml, [release] licence")
    of_workspace = (given.all_judgments, given.labels, given.disputes, given.queries)
    beside, provenance = folder / PROVENANCE, None
    file = beside if beside.is_file() else made_file("pool/pool_sources.csv")
    if file is None:
        say("note: which model proposed a pair is not known: the workspace has no pool")
    else:
        say(f"which model proposed a pair: {file}")
        provenance = read_delimited(given.use(file)).rename(columns={"run_id": "model"})
        check_header(list(provenance.columns), ["query_id", "doc_id", "model"], file)
    more = {"provenance": provenance, "dataset": dataset, "licence": licence, "about": about}
    content = fire_release_json(*of_workspace, **more)
    written = parse_json(content, str(out))  # captions of one text share an entry
    counts = {name: len(written[name]) for name in ("annotations", "disagreements")}
    given.write(out, {out.name: content}, "release", {"format": "fire", "licence": licence}, counts)
    say(" and ".join(f"{n:,} {name}" for name, n in counts.items()) + f" written to {out}")
    say_next(f"import {quote(str(out))} --out {quote(str(out.with_suffix('')) + '-read')}")


def check(
    folder: Annotated[Path, Option(metavar="NEW", is_argument=True)],
    *,
    against: Annotated[Path | None, Option(metavar="OLD")] = None,
    form: Annotated[str, click.Choice(FORMATS), Option(("--format",))] = "table",
) -> None:
    """Check anybody's release: layout, metadata, hashes, qrels, privacy; or show what changed from another.

    Each finding is a line on stdout, with its level: it must be mended (a loader fails, a number is wrong or
    somebody is exposed), or should. Exit code 1 where something must. Scores are computed again from the runs
    that a release includes. With --against the table shows changed
    scores of runs, and stderr counts pairs whose relevance or label changed, or that became a dispute; csv,
    tsv and json have a row for each pair and score.

    Args:
        folder: The release.
        against: Compare with this release, from which it was changed, and check nothing.
        form: Format of the output.
    """
    if against is not None:
        changes = compare_releases(*map(tables_of_release, (against, folder)))
        rows = changes.shown_scores
        if form in LONG:
            click.echo(table_text(changes.rows, form), nl=False)
        elif rows:
            click.echo(drawn_text(rows, ["run", "measure", "before", "after"], form))
        say(changes.in_words)
        return
    with Progress(f"checking {folder}"):
        files = release_files(folder)
        found = check_release(files)
    if form == "table":
        click.echo("".join(f"{each.level + ':':8}{each}\n" for each in found), nl=False)
    else:
        click.echo(table_text(pd.DataFrame(found, columns=Finding._fields), form), nl=False)
    named = ", ".join(name for name, pairs in qrels_in(files).items() if pairs) or "none"
    words = f"{folder}: {n_of(len(files), 'file')}, qrels: {named}"
    n_must = sum(each.level == MUST for each in found)
    counted = f"{n_must:,} that must and {len(found) - n_must:,} that should be mended"
    words = f"{words}; {counted if found else 'nothing found'}"
    if n_must:
        raise FireError(words)
    say(words)


COMMANDS = (check,)
