"""The annotators' links: a token of 128 bits for each, of which only a hash is kept.

The token stands in the fragment of the link, which browsers send to nobody. The page exchanges it once for a
session, a cookie that scripts cannot read; the hash of that session is what is kept, so neither link nor
session can be read from the workspace.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.records import FOLDER
from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.manifests import write_files

_TOKEN_BYTES = 16
PLACE = Path(FOLDER) / "page"
_FILE = PLACE / "links.json"


def session_of(token: str) -> str:
    """Return the session that a link's token is exchanged for."""
    return hashlib.sha256(b"session of " + token.encode("utf-8", "replace")).hexdigest()


def session_hash(session: str) -> str:
    """Return what is kept of a session."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()


def read_links(root: Path) -> dict[str, str]:
    """Return the hash of each annotator's session; empty if no link was made.

    Raises:
        FormatError: the file is damaged.
    """
    path = root / _FILE
    content: Any = parse_json(read_text(path), str(path)) if path.is_file() else {}
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise FormatError(f"{path}: damaged; delete it and `fire-toolkit page serve` makes new links")
    return content


def make_links(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Return a new token for each annotator; links that they had before end."""
    tokens = {name: secrets.token_urlsafe(_TOKEN_BYTES) for name in names}
    hashes = {name: session_hash(session_of(token)) for name, token in tokens.items()}
    _write(root, read_links(root) | hashes)
    return tokens


def end_links(root: Path, names: Iterable[str]) -> None:
    """End annotators' links."""
    gone = set(names)
    _write(root, {name: value for name, value in read_links(root).items() if name not in gone})


def _write(root: Path, hashes: dict[str, str]) -> None:
    write_files({root / _FILE: (json.dumps(dict(sorted(hashes.items())), indent=1) + "\n").encode()})
