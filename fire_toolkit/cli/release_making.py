"""How `release` gathers a workspace's tables and answers, and writes the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.campaign.records import BY_HAND, BY_SERVER, read_rounds
from fire_toolkit.cli.common import relative_path, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import judgments_from
from fire_toolkit.cli.methods_facts import workspace_facts
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.release_files import Material, hashes_of, release_contents
from fire_toolkit.cli.release_people import refuse_people, release_key
from fire_toolkit.errors import FireError, StaleError, UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.releases import STAGE, release_version, scores_in
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import (
    read_labels,
    read_pool,
    read_pool_sources,
    read_query_design,
)
from fire_toolkit.media.places import is_public_address
from fire_toolkit.release.answers import VERSION, check_answers
from fire_toolkit.release.facts import ReleaseFacts
from fire_toolkit.release.people import make_pseudonyms, published_judgments
from fire_toolkit.reporting.methods import MethodFacts
from fire_toolkit.scoring.drawn import drawn_scores
from fire_toolkit.tables import Qrels, Scores, check_changes, check_disputes
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import MANIFEST, Manifest, write_folder, writer_of
from fire_toolkit.workspace.stages import stage_states

_MADE = ("pool", "resolve", "augment", "score")
_BROUGHT = ("import", "pull")  # judgments may be a file of somebody's own


@dataclass(frozen=True)
class Wanted:
    """What the command line says of a release; allowed: annotators' names that documents may hold."""

    version: str
    date: str
    out: Path
    previous: Path | None
    is_anonymous: bool
    allowed: Sequence[str]


def make_release(workspace: Workspace, wanted: Wanted, tell: Progress) -> Mapping[str, int]:
    """Write a release of the workspace and return its counts; `tell` shows what is being done.

    Raises:
        UsageError: no version, or an answer that is missing or wrong.
        StaleError: a stage that is not done, or no longer fits what it was made from.
        FireError: it is there already, or would publish what it must not.
    """
    if not VERSION.fullmatch(wanted.version):
        raise UsageError(f"--version {wanted.version!r}, expected numbers and dots, such as 1.0")
    if wanted.out.exists():
        raise FireError(f"{wanted.out}: already exists and is not overwritten; choose another version")
    answers, study, licences = (workspace.settings[name] for name in ("release", "study", "licences"))
    check_answers(answers, study, licences, is_anonymous=wanted.is_anonymous)
    tell("checking that all stages are done")
    _refuse_unfinished(workspace)
    tell("reading the tables")
    given = Given({})
    material = _gather(workspace, given, wanted)
    previous = wanted.previous or _version_before(workspace, wanted.version)
    facts = _facts(workspace, given, wanted, material, previous)
    tell("making the files")
    contents = release_contents(workspace, facts, material, previous)
    tell(f"looking for names, addresses and tokens in {len(contents)} files")
    refuse_people(workspace, contents, material, allowed=wanted.allowed, is_anonymous=wanted.is_anonymous)
    tell(f"writing {wanted.out}")
    _write(wanted, contents, given, facts)
    return facts.counts


def _refuse_unfinished(workspace: Workspace) -> None:
    for state in stage_states(workspace):
        name, is_stale = state.stage.name, state.state == "stale"
        if (name in _MADE and state.state != "done") or (name in _BROUGHT and is_stale):
            raise StaleError(
                f"{state.stage.name} is {state.state} ({state.reason}), so nothing sound can be released; "
                f"run `fire-toolkit {state.stage.name}`"
            )


def _gather(workspace: Workspace, given: Given, wanted: Wanted) -> Material:
    """Read the workspace's tables and return them as they are published."""
    root = relative_path(workspace.root)
    answers, licences = workspace.settings["release"], workspace.settings["licences"]
    judgments = judgments_from(given.use(root / "judgments/judgments.csv"))
    names = make_pseudonyms(
        judgments["annotator_id"].unique(), key=release_key(workspace.root), version=wanted.version
    )
    with_comments = bool(answers["comments_consent"].strip())
    published, withheld = published_judgments(judgments, names, with_comments=with_comments)
    if withheld:
        say(f"note: columns of the judgments that are not published: {', '.join(withheld)}")
    corrected = read_qrels(given.use(root / "augmented/qrels.txt"))
    changes, disputes = root / "augmented/changes.csv", root / "labels/disputes.csv"
    pool, sources, design = (
        root / "pool" / name for name in ("pool.csv", "pool_sources.csv", "query_design.csv")
    )
    queries = _queries(given, with_text=bool(licences["captions"]))
    corpus = _corpus(given, licences, [corrected, read_pool(pool)])
    tables = {
        "corpus": corpus,
        "queries": queries,
        "qrels": _as_beir(corrected),
        "original": _as_beir(given.original_as_read),
        "changes": check_changes(read_delimited(given.use(changes)), where=str(changes)),
        "labels": read_labels(given.use(root / "labels/labels.csv")),
        "judgments": published,
        "disputes": _with_numbers(check_disputes(read_delimited(given.use(disputes)), where=str(disputes))),
        "pool": read_pool(given.use(pool)),
        "pool_sources": read_pool_sources(given.use(sources)),
        **({"query_design": read_query_design(given.use(design))} if design.is_file() else {}),
        "runs": _runs(workspace, given),
        "leaderboard": scores_in(given.use(root / "scores/scores.csv")),
    }
    has_media = "media_url" in corpus
    return Material(tables, given.original_as_read, corrected, names, "text" in queries, has_media)


def _with_numbers(disputes: pd.DataFrame) -> pd.DataFrame:
    """Return disputes with the votes for each answer as numbers."""
    counts = [name for name in disputes.columns if name.startswith("n_")]
    return disputes.assign(**{name: pd.to_numeric(disputes[name]) for name in counts})


def _queries(given: Given, *, with_text: bool) -> pd.DataFrame:
    """Return the queries by `_id`, with the item that each changes; texts and the rest by their licence."""
    table = given.queries
    kept = [name for name in table.columns if with_text or name in ("query_id", "reference")]
    return table[kept].rename(columns={"query_id": "_id"})


def _corpus(given: Given, licences: Mapping[str, str], others: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the items by `_id`; addresses and texts by their licences.

    Where the workspace lists no items, these are the ones that qrels and pool name.
    """
    items = given.items_if_any
    if items is None:
        say("note: no table of items: the corpus holds only those that the qrels and the pool name")
        named = pd.concat([given.original["doc_id"], *(table["doc_id"] for table in others)])
        return pd.DataFrame({"_id": named.drop_duplicates().sort_values(ignore_index=True)})
    columns = {"_id": items["doc_id"]}
    if licences["captions"] and "text" in items:
        columns["text"] = items["text"]
    if licences["media"]:
        urls = items["media_url"].where(items["media_url"].map(is_public_address), "")
        if (urls != "").any():
            columns["media_url"] = urls
        if (urls == "").any():
            say(
                f"note: {int((urls == '').sum()):,} items are files, not public addresses; these are left out"
            )
    return pd.DataFrame(columns)


def _as_beir(qrels: Qrels) -> pd.DataFrame:
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    return qrels[list(names)].rename(columns=names)


def _runs(workspace: Workspace, given: Given) -> pd.DataFrame:
    """Return the name and hash of every run's file."""
    paths = [relative_path(path) for path in workspace.paths("runs", "files")]
    for path in paths:
        given.use(path)
    hashes = [given.hashes[path.resolve().relative_to(workspace.root.resolve()).as_posix()] for path in paths]
    return pd.DataFrame({"file": [path.name for path in paths], "sha256": hashes}, dtype="str")


def _version_before(workspace: Workspace, version: str) -> Path | None:
    """Return the release of the highest version below this one in the workspace's folder of releases."""
    folder = relative_path(workspace.root / "releases")
    known = [path for path in folder.glob("*") if VERSION.fullmatch(path.name) and path.is_dir()]
    below = [path for path in known if _numbers(path.name) < _numbers(version)]
    return max(below, key=lambda path: _numbers(path.name), default=None)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _facts(
    workspace: Workspace, given: Given, wanted: Wanted, material: Material, previous: Path | None
) -> ReleaseFacts:
    tables = material.tables
    counts = {name: len(table) for name, table in tables.items()}
    counts |= {
        "positives": int((material.corrected["relevance"] >= 1).sum()),
        "original_positives": int((material.original["relevance"] >= 1).sum()),
        "judged": len(tables["judgments"][PAIR].drop_duplicates()),
        "annotators": len(material.names),
    }
    return ReleaseFacts(
        version=wanted.version,
        date=wanted.date,
        tool=f"fire-toolkit {__version__}",
        answers=workspace.settings["release"],
        licences=workspace.settings["licences"],
        methods=_by_pseudonyms(workspace_facts(workspace, given), material.names),
        counts=counts,
        platform=_platform(workspace),
        leaderboard=drawn_scores(Scores(tables["leaderboard"]), "markdown", transpose=True),
        is_anonymous=wanted.is_anonymous,
        has_captions=material.has_captions,
        has_media=material.has_media,
        has_comments="comment" in tables["judgments"],
        previous=release_version(previous) or previous.name if previous else "",
    )


def _platform(workspace: Workspace) -> str:
    """Return where people judged: as fire.toml says, else as the campaign's carriers or `import` show.

    Raises:
        UsageError: the judgments are a file of somebody's own, and fire.toml does not say it.
    """
    stated = str(workspace.setting("release", "platform")).strip()
    carriers = sorted({entry.carrier for entry in read_rounds(workspace.root)})
    if stated:
        return stated
    if not carriers and writer_of(workspace.root / "judgments/judgments.csv") is None:
        raise UsageError(
            "judgments/judgments.csv was not written by `import` or `pull`; write into fire.toml, [release] "
            "platform (where people judged)"
        )
    known = {BY_SERVER: "Label Studio", BY_HAND: "Label Studio, by files"}
    return "; ".join(known.get(name, name) for name in carriers) or "Label Studio"


def _by_pseudonyms(methods: MethodFacts, names: Mapping[str, str]) -> MethodFacts:
    """Return the facts with annotators whose answers were left out by their pseudonyms."""
    labels_by = methods.labels_by
    if not labels_by or not labels_by.get("excluded"):
        return methods
    excluded = {names.get(name, "an annotator"): reason for name, reason in labels_by["excluded"].items()}
    return replace(methods, labels_by={**labels_by, "excluded": excluded})


def _write(wanted: Wanted, contents: dict[str, bytes], given: Given, facts: ReleaseFacts) -> None:
    """Write the folder with its manifest; files outside the workspace are named without their place."""
    parameters = {"version": wanted.version, "date": wanted.date, "name": facts.name}
    counts = {**facts.counts, **facts.by_machine}
    manifest = Manifest(STAGE, __version__, parameters, given.published, hashes_of(contents), counts)
    write_folder(wanted.out, {**contents, MANIFEST: manifest.as_bytes()})
