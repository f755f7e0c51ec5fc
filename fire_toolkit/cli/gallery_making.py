"""How `gallery` gathers a workspace's tables and writes the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote, urlsplit

import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.campaign.records import LEDGER_FOLDER
from fire_toolkit.cli.common import n_of, relative_path, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, number_annotators
from fire_toolkit.cli.media import known_server
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.errors import UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.tables.table_files import read_query_labels
from fire_toolkit.gallery import Beside, Shown, gallery_files, shown_pairs, votes_on
from fire_toolkit.media.places import files_of, is_address, is_public_address
from fire_toolkit.media.server import content_type
from fire_toolkit.tables import Items, Judgments, Queries
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import MANIFEST, Manifest, write_folder

STAGE = "gallery"
_SITE = ("index.html", "gallery.css", "gallery.js")


@dataclass(frozen=True)
class Wanted:
    """What the command line says of a gallery."""

    out: Path
    depth: int
    is_public: bool
    copies_media: bool


def make_gallery(workspace: Workspace, wanted: Wanted) -> list[Path]:
    """Write the gallery of a workspace and return the files outside it that it shows.

    Raises:
        FireError: a table is missing or wrong; the folder is no gallery, or cannot be written.
    """
    made = _Gallery(workspace, wanted)
    with Progress("captions, lists and labels") as tell:
        write_folder(wanted.out, made.contents(tell), replaces=STAGE)
    size = sum(path.stat().st_size for path in wanted.out.rglob("*") if path.is_file())
    say(
        f"{wanted.out}: {n_of(len(made.shown.queries), 'caption')}, {n_of(len(made.shown.keys), 'pair')}, "
        f"media of {n_of(len(made.media), 'item')}, {size / 1e6:,.1f} MB"
    )
    return [] if wanted.copies_media else list(made.media_files.values())


class _Gallery:
    def __init__(self, workspace: Workspace, wanted: Wanted) -> None:
        self.root, self.wanted = relative_path(workspace.root), wanted
        self.title = workspace.root.resolve().name
        self.policy = str(workspace.setting("augment", "policy"))
        self.licences: Mapping[str, str] = workspace.settings["licences"]
        self.given = Given({"own_item": None, "qrels": None})

    def contents(self, tell: Progress) -> Iterator[tuple[str, bytes | Path]]:
        """Yield every file of the folder, the manifest last."""
        outputs: dict[str, str] = {}
        for name, content in self._files():
            tell(name)
            outputs[name] = sha256_of(content) if isinstance(content, Path) else sha256(content).hexdigest()
            yield name, content
        parameters = {"depth": self.wanted.depth, "public": self.wanted.is_public, "policy": self.policy}
        counts = {"captions": len(self.shown.queries)}
        manifest = Manifest(STAGE, __version__, parameters, self.given.published, outputs, counts)
        yield MANIFEST, manifest.as_bytes()

    def _files(self) -> Iterator[tuple[str, bytes | Path]]:
        judgments = self._judgments
        numbers = number_annotators(judgments) if judgments is not None else {}
        grades = (grades_of(judgments, None) or {}) if judgments is not None else {}
        votes = votes_on(self.shown, judgments, grades=grades, numbers=numbers)
        beside = Beside(self.media, self._item_texts, self._links)
        yield from gallery_files(
            self.shown,
            votes,
            beside,
            title=self.title,
            subtitle=self._subtitle,
            is_public=self.wanted.is_public,
        )
        for name in _SITE:
            text = (files("fire_toolkit.gallery") / "site" / name).read_text(encoding="utf-8")
            yield name, text.replace("{{ORIGINS}}", self._origins).encode()
        if self.wanted.copies_media:
            yield from ((self._copies[doc], path) for doc, path in self.media_files.items())

    @cached_property
    def shown(self) -> Shown:
        given = self.given
        labels = given.labels if given.found("labels") else None
        has_disputes = labels is not None and given.needed("labels").with_name("disputes.csv").is_file()
        return shown_pairs(
            given.runs_to(self.wanted.depth),
            given.original,
            self._queries,
            labels=labels,
            disputes=given.disputes if has_disputes else None,
            policy=self.policy,
            unusable=self._unusable,
            depth=self.wanted.depth,
        )

    @cached_property
    def _judgments(self) -> Judgments | None:
        return self.given.judgments if self.given.found("judgments") else None

    @property
    def _queries(self) -> Queries:
        if self._may_show("captions"):
            return self.given.queries
        return Queries(self.given.queries.assign(text=""))

    def _may_show(self, what: str) -> bool:
        """Whether a gallery may show captions or media; it is said once where it may not."""
        if not self.wanted.is_public or self.licences[what].strip():
            return True
        say(f"note: no {what}: [licences] {what} of fire.toml names no licence")
        return False

    @property
    def _unusable(self) -> list[str]:
        path = self.given.found("validity")
        if path is None:
            return []
        table = read_query_labels(self.given.use(path))
        return list(table.loc[~table["is_usable"], "query_id"])

    @cached_property
    def _items(self) -> Items | None:
        path = self.given.path("items")
        return self.given.items_if_any if path and path.is_file() else None

    @cached_property
    def media_files(self) -> dict[str, Path]:
        """The file of each item that is shown and has one here."""
        if self._items is None or not self._may_show("media"):
            return {}
        shown = dict(self._shown_urls())
        paths = files_of(shown.values(), self.root)
        found = {doc: paths[url] for doc, url in shown.items() if url in paths}
        there = {doc: path for doc, path in found.items() if path.is_file()}
        if len(there) < len(found):
            n_lost = len(found) - len(there)
            say(f"note: {n_of(n_lost, 'file')} of items not there (see `fire-toolkit media check`)")
        return there

    def _shown_urls(self) -> Iterator[tuple[str, str]]:
        if self._items is None:
            return
        is_shown = self._items["doc_id"].isin(self.shown.docs[pd.unique(self.shown.doc)])
        yield from self._items.loc[is_shown, ["doc_id", "media_url"]].itertuples(index=False, name=None)

    @property
    def _copies(self) -> dict[str, str]:
        """The name in the folder of each file that is copied: a number, and its own ending."""
        files = enumerate(self.media_files.items())
        return {doc: f"media/{number:06}{path.suffix.lower()}" for number, (doc, path) in files}

    @cached_property
    def media(self) -> dict[str, tuple[str, str, float | None, float | None]]:
        """The address of each item that can be shown, its kind, start and end."""
        if self._items is None or not self._may_show("media"):
            return {}
        addresses = {doc: url for doc, url in self._shown_urls() if self._is_linked(url)}
        addresses |= {doc: quote(place) for doc, place in self._file_names().items()}
        spans = self._items.set_index("doc_id").reindex(columns=["start_s", "end_s"])
        rows = spans.loc[list(addresses)].astype(object).where(spans.notna(), None)
        return {
            doc: (url, _kind(url), start, end)
            for (doc, url), (start, end) in zip(
                addresses.items(), rows.itertuples(index=False, name=None), strict=True
            )
        }

    def _file_names(self) -> dict[str, str]:
        if self.wanted.copies_media:
            return self._copies
        base = self.wanted.out.resolve()
        return {doc: Path(os.path.relpath(path, base)).as_posix() for doc, path in self.media_files.items()}

    def _is_linked(self, url: str) -> bool:
        return is_address(url) and (not self.wanted.is_public or is_public_address(url))

    @property
    def _origins(self) -> str:
        """What the page may load from beside its own folder, for its Content-Security-Policy."""
        parts = (urlsplit(url) for url, *_ in self.media.values())
        origins = {f"{part.scheme}://{part.netloc.rpartition('@')[2]}" for part in parts if part.netloc}
        if any(sign in origin for origin in origins for sign in " ;,'\"<>"):
            raise UsageError("items: an address whose host has a space, a comma, a quote or a semicolon")
        return "".join(f" {origin}" for origin in sorted(origins))

    @property
    def _item_texts(self) -> dict[str, str]:
        if self._items is None or "text" not in self._items or not self._may_show("captions"):
            return {}
        return dict(zip(self._items["doc_id"], self._items["text"].fillna(""), strict=True))

    @property
    def _links(self) -> dict[tuple[str, str], str]:
        """Where the task of each pair can be opened in the workspace's Label Studio."""
        from fire_toolkit.campaign.ledger import read_ledger
        from fire_toolkit.campaign.tasks import split_pair_ids

        connection = known_server()
        if self.wanted.is_public or connection is None or not (self.root / LEDGER_FOLDER).is_dir():
            return {}
        rows = read_ledger(self.root / LEDGER_FOLDER)
        is_there = ~rows["source"].str.startswith(("file:", "page:")) & (rows["task"].fillna("") != "")
        tasks = rows[is_there & (rows["pair_id"].fillna("") != "")].drop_duplicates("pair_id", keep="last")
        pairs = split_pair_ids(tasks["pair_id"])
        start = f"{connection.page_url}/projects"
        columns = (tasks["pair_id"], tasks["project"], tasks["task"])
        return {
            pairs[pair]: f"{start}/{quote(project)}/data?task={quote(task)}"
            for pair, project, task in zip(*columns, strict=True)
            if pair in pairs
        }

    @property
    def _subtitle(self) -> str:
        return f"top {self.wanted.depth} of {n_of(len(self.shown.runs), 'run')}; {self.given.basis()}"


def _kind(url: str) -> str:
    return "image" if content_type(urlsplit(url).path).startswith("image/") else "video"
