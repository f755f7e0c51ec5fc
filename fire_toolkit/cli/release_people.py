"""Who must not be named by a release: the key of the pseudonyms, and what the workspace keeps secret."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from fire_toolkit.cli.elsewhere import PEOPLE_KEY
from fire_toolkit.cli.release_files import Material
from fire_toolkit.labelstudio.annotators import NO_MAIL, read_register
from fire_toolkit.labelstudio.connection import CONNECTION_FILE, SERVER_FOLDER, read_secret
from fire_toolkit.labelstudio.media_key import MEDIA_KEY, make_key
from fire_toolkit.release.answers import spoken_name
from fire_toolkit.release.people import find_private, refuse_private
from fire_toolkit.workspace.config import Workspace

_KEY = "release.key"
_LOSS = "without it, another release of this version gives annotators other pseudonyms"
_LONG_ENOUGH = 3  # characters of a name that is looked for in documents


def release_key(root: Path) -> bytes:
    """Return the workspace's key for pseudonyms, made where there is none, which only its owner can read."""
    return make_key(root / SERVER_FOLDER / _KEY, _LOSS)


def refuse_people(
    workspace: Workspace,
    contents: Mapping[str, bytes],
    material: Material,
    *,
    allowed: Collection[str],
    is_anonymous: bool,
) -> None:
    """Refuse a release that would name somebody, or hold a secret, in any of its files.

    Args:
        workspace: whose register and secrets count.
        contents: file name → bytes.
        material: with the annotators.
        allowed: names of annotators that documents may hold.
        is_anonymous: whether the creators count as people not to be named.
    """
    answers, folder = workspace.settings["release"], workspace.root / SERVER_FOLDER
    register = read_register(folder)
    people = {*material.names, *(row.pseudonym for row in register)} - set(allowed)
    names = [name for name in people if len(name) >= _LONG_ENOUGH and not name.isdigit()]
    hidden = [row.password for row in register] + _secrets(folder)
    emails = [answers["contact"]]
    hidden += [
        row.email
        for row in register
        if not row.email.endswith(NO_MAIL) and row.email not in emails[0].lower()
    ]
    if is_anonymous:
        names += [
            part for name in answers["creators"] for part in (name, spoken_name(name), name.split(",")[0])
        ]
        hidden += [text for text in (answers["contact"], answers["url"], answers["files_url"]) if text]
        emails = []
    texts = {name: content.decode() for name, content in contents.items() if not name.endswith(".parquet")}
    if "comment" in material.tables["judgments"]:
        written = material.tables["judgments"]["comment"].fillna("").astype("str")
        texts["judgments.csv, comments"] = "\n".join(["", *written])
    found = find_private(texts, names=names, secrets=[word for word in hidden if word], allowed=emails)
    refuse_private(list(found))


def _secrets(folder: Path) -> list[str]:
    """Return the tokens, passwords and keys in the workspace's private folder."""
    found = [
        read_secret(folder / name).strip()
        for name in (MEDIA_KEY, _KEY, PEOPLE_KEY)
        if (folder / name).exists()
    ]
    if (folder / CONNECTION_FILE).exists():
        stored = json.loads(read_secret(folder / CONNECTION_FILE))
        found += [str(stored[name]) for name in ("token", "password") if stored.get(name)]
    return found
