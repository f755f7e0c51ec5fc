"""A media server for one collection: its files and nothing else, to Label Studio's pages only."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from fire_toolkit.errors import FireError
from fire_toolkit.formats.recognised import content_type
from fire_toolkit.media.places import PORT, files_of
from fire_toolkit.media.serving import LOOPBACK, LocalServer
from fire_toolkit.tables import Items, check_items

_LOOPBACK_NAMES = (LOOPBACK, "localhost")
_HEADERS = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
_PAGES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}
_OF_PAGES = {"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY"}


def served_files(items: Items, *, root: Path) -> tuple[dict[str, str], int]:
    """Return the files of `items` below `root`, by media_url, relative to it, and how many are not there.

    Addresses are left out.

    Raises:
        FireError: a file lies outside of `root`, perhaps by a link; or there is no file at all.
    """
    base = root.resolve()
    paths = files_of(items["media_url"], base)
    if outside := [url for url, path in paths.items() if not path.is_relative_to(base)]:
        raise FireError(
            f"{len(outside)} files are outside {base} ({', '.join(outside[:3])}), perhaps through a link; "
            "name a folder that contains them all as [media] root in fire.toml: relative paths start there"
        )
    names = {url: path.relative_to(base).as_posix() for url, path in paths.items() if path.is_file()}
    if not names:
        raise FireError(
            f"none of the items' files is in {base}; name the folder their paths start from as [media] root "
            "in fire.toml"
        )
    return names, len(paths) - len(names)


def items_at(items: Items, base_url: str, addresses: Mapping[str, str]) -> Items:
    """Return the items with addresses below `base_url`; addresses: the name there, by media_url."""
    urls = {url: f"{base_url.rstrip('/')}/{quote(name)}" for url, name in addresses.items()}
    return check_items(items.assign(media_url=[urls.get(url, url) for url in items["media_url"]]))


def application(routes: Iterable[Route], *more: Middleware, hosts: Iterable[str] = ()) -> Starlette:
    """Return routes as an application that answers to its own names: another can be a page's trick."""
    known = sorted({*hosts, *_LOOPBACK_NAMES})
    names = Middleware(TrustedHostMiddleware, allowed_hosts=known, www_redirect=False)
    return Starlette(routes=list(routes), middleware=[names, *more])


def named_files(
    root: Path,
    names: Mapping[str, str],
    *,
    type_of: Callable[[Path], str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Route:
    """Return the files below a folder that are named (name in an address → file); others do not exist.

    type_of: the media type of a path, by our own list: the system's differ; headers: further ones. A file is
    not there either where a link has taken its place or that of a folder above it.
    """

    async def answer(request: Request) -> Response:
        name = names.get(request.path_params["name"])
        path = root / (name or "")
        if not (name and path.is_file() and path.resolve() == path and os.access(path, os.R_OK)):
            return Response("Not Found", status_code=404)
        more, kind = {**_HEADERS, **(headers or {})}, type_of(path) if type_of else content_type(path.name)
        whole = FileResponse(path, headers=more, media_type=kind, stat_result=path.stat())
        if whole.headers["ETag"] in request.headers.get("If-None-Match", ""):
            return Response(status_code=304, headers={"ETag": whole.headers["ETag"], **more})
        return whole

    return Route("/{name:path}", answer)


class MediaServer(LocalServer):
    """Serves files by name from a folder, in parts, to pages of given origins, while its block runs.

    Only the `files` given (name in an address → file) are answered, and only while they lead to plain files
    inside the folder. `report` is called with each refusal, except of ranges beyond a file's end.

    Raises:
        UsageError: the port cannot be used.
    """

    def __init__(
        self,
        root: Path,
        files: Mapping[str, str],
        *,
        origins: Iterable[str],
        host: str = LOOPBACK,
        port: int = PORT,
        base_url: str = "",
        report: Callable[[str], None] = lambda words: None,
    ) -> None:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=allowed_origins(origins),
            allow_methods=("GET", "HEAD"),
            allow_headers=("Range", "If-Range", "If-None-Match"),
            expose_headers=("Accept-Ranges", "Content-Length", "Content-Range", "ETag"),
        )
        hosts = (urlsplit(base_url).hostname or host, host)
        app = application([named_files(root.resolve(), files)], cors, hosts=hosts)

        async def reporting(scope: Scope, receive: Receive, send: Send) -> None:
            async def watch(message: Message) -> None:
                status = message.get("status", 200)
                if status >= 400 and status != 416:
                    report(f"{status}: {scope['method']} {scope['path'][:200]!a}")
                await send(message)

            await app(scope, receive, watch)

        super().__init__(reporting, host=host, port=port, idle_s=300)
        self.base_url = base_url.rstrip("/") or f"http://{host}:{self.server_port}"


class GalleryServer(LocalServer):
    """Serves a gallery and the files that it shows while its block runs, on the loopback address alone.

    folder: the gallery; media: files outside it that it shows.

    Raises:
        UsageError: the port cannot be used.
    """

    def __init__(self, folder: Path, media: Collection[Path], *, port: int) -> None:
        own = folder.resolve()
        pages = [path for path in own.rglob("*") if path.is_file()]
        root = Path(os.path.commonpath([own, *(path.parent for path in media)]))
        names = [path.relative_to(root).as_posix() for path in (*pages, *media)]

        def type_of(path: Path) -> str:  # no item's file can be a page or a script
            found = _PAGES.get(path.suffix) if path.is_relative_to(own) else None
            return found or content_type(path.name)

        files = named_files(root, {name: name for name in names}, type_of=type_of, headers=_OF_PAGES)
        super().__init__(application([files]), port=port)
        place = quote((own / "index.html").relative_to(root).as_posix())
        self.address = f"http://{LOOPBACK}:{self.server_port}/{place}"


def allowed_origins(origins: Iterable[str]) -> frozenset[str]:
    """Return the pages' origins that may read; a loopback one goes by both of its names.

    Examples:
        >>> sorted(allowed_origins(["http://127.0.0.1:8080"]))
        ['http://127.0.0.1:8080', 'http://localhost:8080']
    """
    found = set(origins)
    for parts in [urlsplit(origin) for origin in found]:
        if parts.hostname in _LOOPBACK_NAMES:
            port = f":{parts.port}" if parts.port else ""
            found |= {f"{parts.scheme}://{host}{port}" for host in _LOOPBACK_NAMES}
    return frozenset(found)
