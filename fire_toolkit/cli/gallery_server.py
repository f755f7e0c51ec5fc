"""A gallery on a port of this machine, with the items' files beside it, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Scope

from fire_toolkit.media.server import NamedFiles
from fire_toolkit.serving import LOOPBACK, LocalServer

_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}


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
        files = _Pages(root, {name: name for name in names}, own)
        known = Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"], www_redirect=False)
        super().__init__(Starlette(routes=[Mount("/", files)], middleware=[known]), port=port)
        place = quote((own / "index.html").relative_to(root).as_posix())
        self.address = f"http://{LOOPBACK}:{self.server_port}/{place}"


class _Pages(NamedFiles):
    """Files by name; those of the gallery as pages and scripts, which no item's file can be."""

    def __init__(self, root: Path, names: dict[str, str], own: Path) -> None:
        super().__init__(root, names)
        self._own = own

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return the answer with its type and what keeps other pages from showing it."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        path = Path(full_path)
        if path.is_relative_to(self._own) and path.suffix in _TYPES and response.status_code == status_code:
            response.headers["Content-Type"] = _TYPES[path.suffix]
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["X-Frame-Options"] = "DENY"
        return response
