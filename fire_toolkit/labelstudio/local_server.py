"""A Label Studio on this machine, in a folder that only its owner can enter.

It listens on the loopback only, calls nobody, and holds a lock from its first moment to its last, since it
inherits the locked handle.
"""

import json
import os
import secrets
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import urlsplit

import psutil

from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.labelstudio.accounts import SUBMIT_KEYS
from fire_toolkit.labelstudio.connection import (
    CONNECTION_FILE,
    PRIVATE,
    Connection,
    prepare_folder,
    read_connection_file,
)
from fire_toolkit.media.serving import is_free_port
from fire_toolkit.workspace.locks import POLL_S, hold_lock, is_locked, open_lock
from fire_toolkit.workspace.manifests import write_files

VERSION, ADMIN, FIRST_PORT = "1.23.2", "admin@localhost", 8080
LOCK, LOG, DATA = "server.lock", "server.log", "data"
START_LIMIT_S, END_LIMIT_S = 600.0, 15.0
# Label Studio reads bare names (DEBUG, HOST, PORT, CI …) as its settings, so no more of ours is handed to it.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE")


def start_server(folder: Path, program: Path, *, public_url: str | None = None) -> Connection:
    """Return how to reach the server of a folder once it is up: the running one, else a new one.

    folder: absolute, with all that the server needs; public_url: by default as the last time.

    Raises:
        UsageError: the server runs already with another public_url, or this is Windows.
        ServerError: it ends while starting, or is not up in time (it is left to go on).
    """
    if not hasattr(os, "killpg"):
        raise UsageError("a local server needs Linux or macOS; start one and set FIRE_LABEL_STUDIO_URL")
    prepare_folder(folder)
    if (lock := open_lock(folder / LOCK)) is not None:
        with os.fdopen(lock):
            _launch(folder, program, public_url, lock)
    server = _await_up(folder)
    if public_url not in (None, server.public_url):
        words = f"the server runs already at {server.url} with another --public-url"
        raise UsageError(f"{words}; stop it first (`fire-toolkit labelstudio stop`)")
    return server


def _launch(folder: Path, program: Path, public_url: str | None, lock: int) -> None:
    """Start a folder's server with its lock, in a session of its own; its files are for us alone."""
    path = folder / CONNECTION_FILE
    server = Connection("", secrets.token_hex(20), password=secrets.token_urlsafe(18))
    if path.exists() and not (server := read_connection_file(path)).password:
        raise UsageError(f"{path}: is of a server that was not started here; move it away")
    port, of_port = _taken_port(urlsplit(server.url).port or FIRST_PORT)
    public_url = server.public_url if public_url is None else public_url
    server = replace(server, url=f"http://127.0.0.1:{port}", public_url=public_url)
    content = {name: getattr(server, name) for name in ("url", "token", "public_url", "password")}
    write_files({path: f"{json.dumps(content, indent=1)}\n".encode()}, mode=PRIVATE)
    words = ["start", "--no-browser", "--internal-host", "127.0.0.1", "--log-level", "WARNING"]
    words += ["--port", str(port), "--data-dir", str(folder / DATA)]
    with os.fdopen(of_port):
        subprocess.run(
            ["/bin/sh", "-c", f'umask 077; "$@" >>{LOG} 2>&1 &', "sh", str(program), *words],
            stdin=subprocess.DEVNULL,
            pass_fds=(lock, of_port),
            start_new_session=True,
            cwd=folder,
            env=server_environment(folder, server),
            check=True,
        )


def _taken_port(first: int) -> tuple[int, int]:
    """Return the first free port, and a lock that keeps it from other workspaces until a server listens.

    The server inherits the lock too: it takes a minute before it listens.
    """
    for port in filter(is_free_port, [first, *range(FIRST_PORT, 1 << 16)]):
        lock = open_lock(Path(gettempdir()) / f"fire-toolkit-port-{port}.lock", mode=0o666)
        if lock is not None:
            return port, lock
    raise FireError("no port of this machine is free")


def server_environment(folder: Path, server: Connection) -> dict[str, str]:
    """Return the whole environment of the folder's server: who may enter, and that it calls nobody."""
    settings = {
        "LATEST_VERSION_CHECK": "false",
        "COLLECT_ANALYTICS": "false",
        "BASE_DATA_DIR": str(folder / DATA),
        "USERNAME": ADMIN,
        "PASSWORD": server.password,
        "USER_TOKEN": server.token,
        "ENABLE_LEGACY_API_TOKEN": "true",
        "DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "AZURE_MOUNT_FIX": "true",  # SQLite's write-ahead log: half the time where many answer at once
        "EDITOR_KEYMAP": json.dumps({"annotation:submit": {"key": SUBMIT_KEYS}}),
        "LOCAL_FILES_SERVING_ENABLED": "true",
        "LOCAL_FILES_DOCUMENT_ROOT": str(folder.parent.parent / "media"),
        # Django takes forms from pages of another address only where it is told so. The cookie against forged
        # forms may travel unencrypted on this machine, where accounts are made.
        "CSRF_TRUSTED_ORIGINS": server.public_url,
        "SESSION_COOKIE_SECURE": str(int(server.public_url.startswith("https:"))),
        "CSRF_COOKIE_SECURE": "0",
    }
    environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environ |= {"SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "PYTHONUNBUFFERED": "1"}
    return environ | {f"LABEL_STUDIO_{name}": value for name, value in settings.items()}


def _await_up(folder: Path) -> Connection:
    """Return how the folder's server is reached, once it is up and takes our token."""
    from fire_toolkit.labelstudio.api import Api, CallFailed

    deadline = time.monotonic() + START_LIMIT_S
    while is_locked(folder / LOCK):
        if server_process(folder):  # until then another start may still write how to reach it
            server = read_connection_file(folder / CONNECTION_FILE)
            try:
                with Api(server, timeout_s=20.0, attempts=1) as api:
                    if api.read("api/current-user/whoami")["email"] == ADMIN:
                        return server
            except CallFailed as error:
                if error.status == 401:  # its own token was switched off, or another server took its port
                    raise
        if time.monotonic() > deadline:
            raise ServerError(f"the server is not up yet; start again to wait for it, or see {folder / LOG}")
        time.sleep(POLL_S)
    raise ServerError(f"Label Studio ended while starting; see {folder / LOG}")


def server_process(folder: Path) -> psutil.Process | None:
    """Return the process of the folder's server, which holds its lock: the one started on its data."""
    for process in psutil.process_iter(["cmdline"]) if is_locked(folder / LOCK) else ():
        if (process.info["cmdline"] or [])[-2:] == ["--data-dir", str(folder / DATA)]:
            return process
    return None


def stop_server(folder: Path) -> bool:
    """End the folder's server and nothing else; return whether there was one.

    Raises:
        FireError: it has just been started, or does not end.
    """
    if not is_locked(folder / LOCK):
        return False
    if (process := server_process(folder)) is None:
        raise FireError(f"{folder}: a server is being started here; wait a moment and try again")
    with suppress(ProcessLookupError):  # Label Studio does no more at a milder signal
        os.killpg(os.getpgid(process.pid), signal.SIGKILL)
    with hold_lock(folder / LOCK, wait_s=END_LIMIT_S, what=f"the server (pid {process.pid})"):
        return True
