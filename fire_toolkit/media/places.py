"""Where an item is: a file here, an address, or what Label Studio looks up; and where a page finds it."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from fire_toolkit.errors import FileNote, UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.recognised import content_type

if TYPE_CHECKING:
    import pandas as pd

    from fire_toolkit.tables import Items

PORT = 8790  # of `media serve`
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_SECONDS = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_PART_BEHIND = re.compile(rf"#t=(?:npt:)?({_SECONDS}|)(?:,({_SECONDS}))?\Z")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,5}")
OF_LABEL_STUDIO = ("/data/local-files/", "/data/upload/")
BUCKETS = ("s3://", "s3s://", "gs://", "gcs://", "azure-blob://", "azure_blob://")


def is_address(media_url: str) -> bool:
    """Whether `media_url` is an address on the network."""
    return media_url.lower().startswith(("http://", "https://"))


def file_at(media_url: str, root: Path) -> Path | None:
    """Return the path that `media_url` names, there or not; a relative one starts at `root`.

    None for addresses, and for what Label Studio resolves itself: its local files and uploads, and buckets
    (`s3://`, `gs://`, ...).

    Examples:
        >>> file_at("videos/v1.mp4", Path("/data")).as_posix()
        '/data/videos/v1.mp4'
        >>> file_at("https://example.org/v1.mp4", Path("/data")), file_at("s3://bucket/v1.mp4", Path("/data"))
        (None, None)
    """
    if media_url.lower().startswith("file:"):
        return Path(unquote(urlsplit(media_url).path))
    is_elsewhere = media_url.startswith(OF_LABEL_STUDIO) or _SCHEME.match(media_url)
    return None if is_elsewhere else root / media_url


def without_part(media_url: str) -> str:
    """Return a medium without the fragment behind it; in the name of a file `#` is a mark like any other.

    Examples:
        >>> without_part("rain #2.wav#t=3,5"), without_part("https://example.org/v1.mp4#x")
        ('rain #2.wav', 'https://example.org/v1.mp4')
    """
    return media_url.partition("#")[0] if is_address(media_url) else _PART_BEHIND.sub("", media_url)


def part_of(media_url: str) -> tuple[float, float | None] | None:
    """Return from which second to which a media fragment plays; None where there is none.

    Examples:
        >>> part_of("clip.mp4#t=3,5.5"), part_of("clip.mp4#t=,4"), part_of("clip.mp4#t=1.2.3")
        ((3.0, 5.5), (0.0, 4.0), None)
    """
    found = _PART_BEHIND.search(media_url)
    return (float(found[1] or 0), float(found[2]) if found[2] else None) if found else None


def files_of(media_urls: Iterable[str], root: Path) -> dict[str, Path]:
    """Return the path of each media_url that names one, there or not, without links and dots."""
    paths = {url: file_at(url, root) for url in media_urls if url}
    return {url: path.resolve() for url, path in paths.items() if path}


def own_files(media_urls: Iterable[str], root: Path) -> dict[str, Path]:
    """Return the file of each media_url that names one which is there, below the resolved folder `root`."""
    paths = files_of(media_urls, root)
    return {url: path for url, path in paths.items() if path.is_relative_to(root) and path.is_file()}


def item_file_hashes(items: Items, folder: Path) -> pd.DataFrame:
    """Return the sha256 of the items' files, by `media_url` in a folder.

    Returns:
        Columns doc_id and sha256, a row for each item that has a file, in the order of the items. Only files
        of one size are read; the hash of others is empty.

    A `FileNote` says how many items have none.

    Raises:
        UsageError: there is no such folder.
    """
    import pandas as pd  # heavy

    if not folder.is_dir():
        raise UsageError(f"--media {folder}: no such folder")
    paths = {doc: folder / url for doc, url in zip(items["doc_id"], items["media_url"], strict=True)}
    sizes = pd.Series(
        {doc: path.stat().st_size for doc, path in paths.items() if path.is_file()}, dtype="int64"
    )
    if n := len(items) - len(sizes):
        warnings.warn(f"{n:,} of {len(items):,} items have no file in {folder}", FileNote, stacklevel=2)
    is_alike = sizes.duplicated(keep=False)
    hashes = [sha256_of(paths[doc]) if alike else "" for doc, alike in is_alike.items()]
    return pd.DataFrame({"doc_id": sizes.index, "sha256": hashes}, dtype="str")


def is_public_address(address: str) -> bool:
    """Whether an address leads to the network, beyond this machine, and holds no name or password.

    Examples:
        >>> is_public_address("https://example.org/v1.mp4"), is_public_address("http://127.0.0.1:8790/v1.mp4")
        (True, False)
    """
    parts = urlsplit(address)
    is_web = parts.scheme in ("http", "https") and "@" not in parts.netloc
    return is_web and parts.hostname not in (None, *LOOPBACK_HOSTS)


def checked_url(url: str, what: str = "the server URL") -> str:
    """Return a server's address without trailing slash.

    Raises:
        UsageError: no http(s) address, or one with a user, password, query or fragment, which is not shown.

    Examples:
        >>> checked_url("https://labels.example.org/team/")
        'https://labels.example.org/team'
    """
    expected = "expected an address such as http://127.0.0.1:8080"
    try:
        parts = urlsplit(url.strip())
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise UsageError(f"{what} is invalid; {expected}") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"{what} has a user, a password, a query or a fragment; give the address alone, and a key in "
            "the environment"
        )
    if parts.scheme not in ("http", "https") or not has_host or has_odd_marks(url.strip()):
        raise UsageError(f"{what} {url!r}: {expected}")
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def has_odd_marks(text: str) -> bool:
    """Whether a text has marks that no address and no key has: blanks, and what is not printed."""
    return any(mark.isspace() or not mark.isprintable() for mark in text)


def opaque_name(key: bytes, media_url: str) -> str:
    """Return the name under which an item is served: `m/`, 32 hexadecimal digits, and the file's suffix.

    The digits are the first half of HMAC-SHA256 of `media_url` as the table of items has it, so that the same
    item keeps its address as long as the key is kept, and nobody without the key can tell which item it is.

    Examples:
        >>> opaque_name(b"secret of a workspace", "media/video7010.mp4")
        'm/abf01af76a1b40bedf1f8199393bfc29.mp4'
    """
    digits = hmac.new(key, media_url.encode(), hashlib.sha256).hexdigest()[:32]
    suffix = PurePosixPath(media_url).suffix.lower()
    return f"m/{digits}{suffix if _SUFFIX.fullmatch(suffix) else ''}"


@dataclass(frozen=True)
class OwnMedia:
    """The files of a workspace that its pages show: below `root`, at addresses below `base`.

    key: of the names that do not tell which file it is; empty: there are no such addresses.
    """

    root: Path
    base: str
    key: bytes

    @property
    def base_here(self) -> str:
        """How the addresses begin that only `media serve` of this machine answers; empty: none do."""
        return f"{self.base}/" if urlsplit(self.base).hostname in LOOPBACK_HOSTS else ""

    def names(self, media_urls: Iterable[str]) -> dict[str, str]:
        """Return under which name each medium is served; their own files are looked for elsewhere."""
        return {url: opaque_name(self.key, url) for url in media_urls}

    def addresses(self, media_urls: Iterable[str]) -> dict[str, str]:
        """Return the address of each media_url that names a file which is there; none without a key."""
        names = self.names(own_files(media_urls, self.root)) if self.key else {}
        return {url: f"{self.base}/{name}" for url, name in names.items()}

    def files(self, media_urls: Iterable[str]) -> dict[str, Path]:
        """Return the file behind each media_url that names one, and behind each address that it has had."""
        found = own_files(media_urls, self.root)
        names = [{url: path.relative_to(self.root).as_posix() for url, path in found.items()}]
        names += [self.names(found)] if self.key else []
        served = {f"{self.base}/{quote(shown[url])}": path for shown in names for url, path in found.items()}
        return found | served

    def names_in(self, shown: Iterable[str]) -> set[str]:
        """Return the names of the files that texts of tasks ask for at these addresses."""
        start = f"{self.base.rstrip('/')}/m/"
        return {
            unquote("m/" + url.partition("#")[0].rpartition("/m/")[2])
            for url in shown
            if url.startswith(start) or (urlsplit(url).hostname in LOOPBACK_HOSTS and "/m/" in url)
        }


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
    rows = items[items["doc_id"].isin(docs)].reindex(columns=["doc_id", "media_url", "start_s", "end_s"])
    paths, n_lost = files_of(rows["media_url"], root), 0
    seen, files, copies = dict[str, Seen](), dict[str, Path](), dict[str, str]()
    for doc, url, *span in rows.itertuples(index=False, name=None):
        address = url
        if path := paths.get(url):
            if not path.is_file():
                n_lost += 1
                continue
            if copies_files:
                copies[doc] = f"media/{len(files):06}{path.suffix.lower()}"
            files[doc] = path
            address = quote(copies.get(doc) or Path(os.path.relpath(path, out.resolve())).as_posix())
        elif not is_address(url) or (is_public and not is_public_address(url)):
            continue
        kind = content_type(urlsplit(address).path).partition("/")[0]
        start_s, end_s = (None if math.isnan(moment) else moment for moment in span)
        seen[doc] = (address, kind if kind in ("image", "audio") else "video", start_s, end_s)
    return ShownMedia(seen, files, copies, n_lost)
