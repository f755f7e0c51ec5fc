"""A gallery on a port of this machine, with the items' files beside it, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Mount

from fire_toolkit.media.server import NamedFiles, content_type
from fire_toolkit.media.serving import LOOPBACK, LocalServer

_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}
_HEADERS = {"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY"}


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

        def type_of(path: str) -> str:  # no item's file can be a page or a script
            found = _TYPES.get(Path(path).suffix) if Path(path).is_relative_to(own) else None
            return found or content_type(path)

        files = NamedFiles(root, {name: name for name in names}, type_of=type_of, headers=_HEADERS)
        known = Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"], www_redirect=False)
        super().__init__(Starlette(routes=[Mount("/", files)], middleware=[known]), port=port)
        place = quote((own / "index.html").relative_to(root).as_posix())
        self.address = f"http://{LOOPBACK}:{self.server_port}/{place}"
