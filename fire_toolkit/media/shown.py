"""The media of items on a page of files: where each is seen from there, as what, and what may be loaded."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from fire_toolkit.errors import UsageError
from fire_toolkit.files import content_type
from fire_toolkit.media.places import files_of, is_address, is_public_address
from fire_toolkit.tables import Items

Seen = tuple[str, str, float | None, float | None]


@dataclass(frozen=True)
class ShownMedia:
    """The media of items beside a page.

    seen: doc id → address from the page, kind (`video`, `image`, `audio`), start and end in seconds, None
    where whole; files: doc id → the file here; copies: doc id → the name of its copy beside the page;
    n_lost: how many items name a file that is not there.
    """

    seen: Mapping[str, Seen] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    n_lost: int = 0

    @property
    def origins(self) -> str:
        """What the page may load from beside its own folder, for its Content-Security-Policy.

        Raises:
            UsageError: a host that would end the policy, or add to it.
        """
        parts = (urlsplit(url) for url, *_ in self.seen.values())
        origins = {f"{part.scheme}://{part.netloc.rpartition('@')[2]}" for part in parts if part.netloc}
        if any(sign in origin for origin in origins for sign in " ;,'\"<>"):
            raise UsageError("items: an address whose host has a space, a comma, a quote or a semicolon")
        return "".join(f" {origin}" for origin in sorted(origins))


def shown_media(
    items: Items, docs: Collection[str], *, root: Path, out: Path, copies_files: bool, is_public: bool
) -> ShownMedia:
    """Return where the items shown are seen from the folder `out`; items without media are left out.

    root: where relative paths start; copies_files: whether files are copied into `out`, under a number and
    their own ending; is_public: whether only addresses that everybody can open are linked.
    """
    rows = items[items["doc_id"].isin(docs)]
    urls = dict(zip(rows["doc_id"], rows["media_url"], strict=True))
    paths = files_of(urls.values(), root)
    named = {doc: paths[url] for doc, url in urls.items() if url in paths}
    there = {doc: path for doc, path in named.items() if path.is_file()}
    base = out.resolve()
    copies = {doc: f"media/{n:06}{path.suffix.lower()}" for n, (doc, path) in enumerate(there.items())}
    beside = {doc: Path(os.path.relpath(path, base)).as_posix() for doc, path in there.items()}
    addresses = {
        doc: url for doc, url in urls.items() if is_address(url) and (not is_public or is_public_address(url))
    }
    addresses |= {doc: quote(name) for doc, name in (copies if copies_files else beside).items()}
    spans = items.set_index("doc_id").reindex(columns=["start_s", "end_s"])
    ends = spans.loc[list(addresses)].astype(object).where(spans.notna(), None)
    kinds = {doc: content_type(urlsplit(url).path).partition("/")[0] for doc, url in addresses.items()}
    seen = {
        doc: (url, kinds[doc] if kinds[doc] in ("image", "audio") else "video", start, end)
        for (doc, url), (start, end) in zip(
            addresses.items(), ends.itertuples(index=False, name=None), strict=True
        )
    }
    return ShownMedia(seen, there, copies if copies_files else {}, len(named) - len(there))
