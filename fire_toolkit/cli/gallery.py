"""`gallery`: a folder in which a browser shows captions, the top docs of each run, and their labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import click

from fire_toolkit import __version__
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import task_links
from fire_toolkit.cli.asking_readers import grades_of
from fire_toolkit.cli.common import Progress, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import needed_workspace, relative_path
from fire_toolkit.cli.media import known_server, media_root
from fire_toolkit.commands.command import rests_on
from fire_toolkit.commands.types import Option
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.releases import machine_labels_in
from fire_toolkit.gallery import Beside, Shown, gallery_files, seen_items, shown_pairs, texts_of, votes_on
from fire_toolkit.media.places import ShownMedia, shown_media
from fire_toolkit.media.server import GalleryServer
from fire_toolkit.media.serving import stoppable, wait_to_be_stopped
from fire_toolkit.resolution.judgments import number_annotators
from fire_toolkit.tables import Items, Queries
from fire_toolkit.tables.ids import BLANKS, decoded_id
from fire_toolkit.words import n_of, text_in
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import MANIFEST, Manifest, write_folder

_STAGE = "gallery"
_SITE = ("index.html", "gallery.css", "gallery.js")


def gallery(
    *,
    out: Annotated[Path | None, Option(metavar="FOLDER")] = None,
    depth: Annotated[int, click.IntRange(1, 100)] = 5,
    public: bool = False,
    copy_media: bool = False,
    serve: bool = False,
) -> None:
    """Write a gallery: each caption with the top docs of each run, playing, and their labels.

    A static folder: open its index.html in a browser. It loads nothing from elsewhere but items that are
    addresses. Pairs that you mark there are saved as recheck.csv, for `next-round --recheck recheck.csv`. It
    shows models, ranks, labels and votes (annotators by numbers): keep it away from people who judge.

    Args:
        out: [default: gallery in the workspace]
        depth: How many docs of each run.
        public: For others: no single votes, comments or links to tasks; captions and media only where
            [licences] of fire.toml names their licence.
        copy_media: Copy the items' files into the folder, as --public does: it can move.
        serve: Then serve it to browsers of this machine, at a free port, until Ctrl-C.
    """
    workspace = needed_workspace(": a gallery is made from a workspace")
    folder = out or relative_path(workspace.root / "gallery")
    made = _Gallery(workspace, folder, depth, public, copy_media or public)
    with Progress("captions, lists and labels") as tell:
        write_folder(folder, made.contents(tell), replaces=_STAGE)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    n_items, shown = n_of(len(made.media.seen), "item"), made.shown
    words = f"{n_of(len(shown.queries), 'query')}, {n_of(len(shown.query), 'pair')}, media of {n_items}"
    say(f"{folder}: {words}, {size / 1e6:,.1f} MB")
    if not serve:
        say(f"open {folder / 'index.html'} in a browser")
        return
    beside = [] if made.copies_media else list(made.media.files.values())
    with stoppable() as stopped, GalleryServer(folder, beside, port=0) as server:
        click.echo(server.address)
        say("for browsers of this machine alone; Ctrl-C stops")
        wait_to_be_stopped(stopped)
    say("stopped")


@dataclass(frozen=True)
class _Gallery:
    """A gallery to be: of which workspace, where, and what it shows to whom."""

    workspace: Workspace
    out: Path
    depth: int
    is_public: bool
    copies_media: bool

    @cached_property
    def given(self) -> Given:
        return Given({"own_item": None, "qrels": None})

    def contents(self, tell: Progress) -> Iterator[tuple[str, bytes | Path]]:
        """Yield every file of the folder, the manifest last."""
        outputs: dict[str, str] = {}
        for name, content in self._files():
            tell(name)
            outputs[name] = sha256_of(content) if isinstance(content, Path) else sha256(content).hexdigest()
            yield name, content
        parameters = {"depth": self.depth, "public": self.is_public, "policy": self.given.known.policy}
        counts = {"captions": len(self.shown.queries)}
        yield (
            MANIFEST,
            Manifest(_STAGE, __version__, parameters, self.given.published, outputs, counts).as_bytes(),
        )

    def _files(self) -> Iterator[tuple[str, bytes | Path]]:
        given = self.given
        judgments = given.judgments_if_any
        shown = self.shown
        numbers = number_annotators(judgments) if judgments is not None else {}
        grades = (grades_of(judgments, None) or {}) if judgments is not None else {}
        votes = votes_on(shown, judgments, grades=grades, numbers=numbers)
        server, record = known_server(), relative_path(self.workspace.root) / STORE
        links = {}  # to where the task of each pair can be opened in the workspace's Label Studio
        if server is not None and record.is_file() and not self.is_public:
            with Store.at(record) as store:
                links = task_links(store, server.page_url)
        own_id = decoded_id if given.encoded_ids == BLANKS else str
        texts: Mapping[str, str] = {}
        if self._items is not None and "text" in self._items and self._may_show("captions"):
            texts = texts_of(self._items)
        beside = Beside(self.media.seen, texts, links, *self._starts, own_id)
        title = self.workspace.name
        alone = ["people's labels alone are shown"] if machine_labels_in(given.corrected_file) else []
        basis = rests_on({"qrels": given.original, "labels": given.labels_if_any}, more=alone, **given.said)
        subtitle = f"top {self.depth} of {n_of(len(shown.runs), 'run')}; {basis}"
        tables = (shown, votes, beside)
        yield from gallery_files(*tables, title=title, subtitle=subtitle, is_public=self.is_public)
        for name in _SITE:
            yield name, text_in("gallery", f"site/{name}").replace("{{ORIGINS}}", self.media.origins).encode()
        yield from ((name, self.media.files[doc]) for doc, name in self.media.copies.items())

    @cached_property
    def shown(self) -> Shown:
        given = self.given
        labels = given.labels_if_any
        validity = given.validity_if_any
        has_disputes = labels is not None and given.needed("labels").with_name("disputes.csv").is_file()
        return shown_pairs(
            given.runs_to(self.depth),
            given.original,
            given.queries if self._may_show("captions") else Queries(given.queries.assign(text="")),
            labels=labels,
            disputes=given.disputes if has_disputes else None,
            policy=given.known.policy,
            unusable=[] if validity is None else list(validity.loc[~validity["is_usable"], "query_id"]),
            own_items=given.own.of_query,
            depth=self.depth,
        )

    def _may_show(self, what: str) -> bool:
        """Whether a gallery may show captions or media; it is said once where it may not."""
        if not self.is_public or self.workspace.settings["licences"][what].strip():
            return True
        say(f"note: no {what}: [licences] {what} of fire.toml names no licence")
        return False

    @cached_property
    def _items(self) -> Items | None:
        path = self.given.path("items")
        return self.given.items_if_any if path and path.is_file() else None

    @cached_property
    def media(self) -> ShownMedia:
        """The media of the items that are shown, where they may be."""
        if self._items is None or not self._may_show("media"):
            return ShownMedia()
        starts = self._starts[0]
        items = seen_items(self._items, self.given.queries, starts)
        found = shown_media(
            items,
            {*self.shown.shown_docs, *starts.values()},
            root=media_root(),
            out=self.out,
            copies_files=self.copies_media,
            is_public=self.is_public,
        )
        if found.n_lost:
            say(f"note: {n_of(found.n_lost, 'file')} of items not there (see `fire-toolkit media check`)")
        return found

    @property
    def _starts(self) -> tuple[Mapping[str, str], str]:
        """Under which name what is seen of each query is shown, and what it is called."""
        if "media_url" in self.given.queries:  # no doc has such an id
            return {query: f"\0{query}" for query in self.given.queries["query_id"]}, "The query"
        return self.given.queries_own_items, "The reference"
