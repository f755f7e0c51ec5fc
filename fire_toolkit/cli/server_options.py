"""What the commands that talk to a server share: which server, and the local server's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fire_toolkit.cli.common import current_workspace, needed_workspace
from fire_toolkit.labelstudio.connection import (
    CONNECTION_FILE,
    URL_VARIABLE,
    read_connection,
    read_connection_file,
)
from fire_toolkit.labelstudio.secrets import SERVER_FOLDER

if TYPE_CHECKING:
    from fire_toolkit.labelstudio.connection import Connection


ON_A_SERVER = "or on a server: fire-toolkit labelstudio start, then fire-toolkit push"


def used_connection() -> Connection:
    """Return how to reach the server that the environment names, else the workspace's."""
    workspace = current_workspace()
    return read_connection(workspace.root if workspace else None)


def stored_connection() -> Connection | None:
    """Return the connection to the workspace's own server, or None if it has none."""
    workspace = current_workspace()
    path = workspace.root / SERVER_FOLDER / CONNECTION_FILE if workspace else None
    return read_connection_file(path) if path and path.exists() else None


def knows_server() -> bool:
    """Whether the environment names a Label Studio, or the workspace here has started one."""
    workspace = current_workspace()
    stored = workspace.root / SERVER_FOLDER / CONNECTION_FILE if workspace else None
    return bool(os.environ.get(URL_VARIABLE)) or (stored is not None and stored.is_file())


def private_folder() -> Path:
    """Return the workspace's private folder; a usage error outside a workspace."""
    return needed_workspace().root / SERVER_FOLDER
