"""The environment of a local Label Studio: who may enter, whom it may call, which database."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fire_toolkit.errors import UsageError
from fire_toolkit.labelstudio.accounts import SUBMIT_KEYS
from fire_toolkit.labelstudio.connection import checked_url
from fire_toolkit.labelstudio.local_state import LocalState
from fire_toolkit.labelstudio.process import quiet_environment

# Where a server with hooks may still not call: all reserved networks (RFC 6890 and 5735) but 127.0.0.0/8, as
# Label Studio's own list has them. Its list goes as a whole, or not at all.
_BANNED = (
    "0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,192.0.2.0/24,"
    "192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,224.0.0.0/4,240.0.0.0/4,"
    "::/128,::1/128,::ffff:0:0/96,::ffff:0:0:0/96,64:ff9b::/96,64:ff9b:1::/48,100::/64,2001::/32,2001:20::/28,"
    "2001:db8::/32,2002::/16,fc00::/7,fe80::/10,ff00::/8"
)
_HOOKS = {"USE_DEFAULT_BANNED_SUBNETS": "false", "USER_ADDITIONAL_BANNED_SUBNETS": _BANNED}


def server_environment(data: Path, state: LocalState) -> dict[str, str]:
    """Return the whole environment of the server whose data lies in `data`."""
    settings = {
        "BASE_DATA_DIR": str(data),
        "USERNAME": state.email,
        "PASSWORD": state.password,
        "USER_TOKEN": state.token,
        "ENABLE_LEGACY_API_TOKEN": "true",
        "DISABLE_SIGNUP_WITHOUT_LINK": "true",
        # SQLite's write-ahead log, under the one name by which Label Studio switches it on. With 12 people
        # answering during an import it halves the time of all and lets the import through.
        "AZURE_MOUNT_FIX": "true",
        "EDITOR_KEYMAP": json.dumps({"annotation:submit": {"key": SUBMIT_KEYS}}),
        "LOCAL_FILES_SERVING_ENABLED": "true",
        "LOCAL_FILES_DOCUMENT_ROOT": state.media,
        **database_settings(state.postgres),
        **public_settings(state.public_url),
        **(_HOOKS if state.hooks else {}),
    }
    return quiet_environment(settings)


def public_settings(url: str) -> dict[str, str]:
    """Return Label Studio's settings behind a proxy that people reach at `url`; none for an empty one.

    Django takes forms from pages of another address only where it is told so.

    Examples:
        >>> public_settings("https://labels.example.org")["CSRF_TRUSTED_ORIGINS"]
        'https://labels.example.org'
        >>> public_settings("")
        {}
    """
    if not url:
        return {}
    # The cookie against forged forms may travel unencrypted on this machine, where accounts are made.
    cookies = {"SESSION_COOKIE_SECURE": "1", "CSRF_COOKIE_SECURE": "0"} if url.startswith("https:") else {}
    return {"CSRF_TRUSTED_ORIGINS": url, **cookies}


def checked_public_url(url: str) -> str:
    """Return the address at which people open a server; empty for none.

    Raises:
        UsageError: no http(s) address, or one with a path, which Label Studio cannot be served below.

    Examples:
        >>> checked_public_url("https://labels.example.org/")
        'https://labels.example.org'
    """
    if not url.strip():
        return ""
    checked = checked_url(url)
    if urlsplit(checked).path:
        raise UsageError(f"--public-url {checked}: has a path; expected scheme and host (and port) alone")
    return checked.lower()


def database_settings(postgres: str) -> dict[str, str]:
    """Return Label Studio's settings for a PostgreSQL URL; none for an empty one.

    Raises:
        UsageError: the URL names no host, user or database; it is not shown.

    Examples:
        >>> database_settings("postgresql://ls:pw@db.example.org/labels")["POSTGRE_PORT"]
        '5432'
        >>> database_settings("")
        {}
    """
    if not postgres:
        return {}
    try:
        parts = urlsplit(postgres)
        port = parts.port or 5432
    except ValueError:
        parts, port = urlsplit(""), 0
    name = parts.path.strip("/")
    if parts.scheme not in ("postgresql", "postgres") or not (parts.hostname and parts.username and name):
        raise UsageError("invalid --postgres URL; expected postgresql://user:password@host:port/name")
    return {
        "DJANGO_DB": "default",
        "POSTGRE_HOST": parts.hostname,
        "POSTGRE_PORT": str(port),
        "POSTGRE_USER": unquote(parts.username),
        "POSTGRE_PASSWORD": unquote(parts.password or ""),
        "POSTGRE_NAME": unquote(name),
    }
