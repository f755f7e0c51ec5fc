"""The Label Studio of a workspace on this machine: start it, find it again, end it.

All it needs lies in one folder that only its owner can enter. It listens on the loopback only, calls nobody,
and holds a lock from its first moment to its last, since it inherits the locked handle.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.labelstudio.connection import CONNECTION_FILE, Connection, read_connection_file
from fire_toolkit.labelstudio.register import SUBMIT_KEYS
from fire_toolkit.labelstudio.secrets import prepare_folder, write_private
from fire_toolkit.media import serving
from fire_toolkit.workspace.locks import POLL_S, is_locked, open_lock

VERSION = "1.23.2"
ADMIN = "admin@localhost"
LOCK, LOG, DATA = "server.lock", "server.log", "data"
START_LIMIT_S, END_LIMIT_S = 600.0, 15.0
_FIRST_PORTS = range(8080, 8100)
# Label Studio reads bare names (DEBUG, HOST, PORT, CI …) as its settings, so no more of ours is handed to it.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE")


def start_server(
    folder: Path, program: Path, *, port: int | None = None, public_url: str | None = None
) -> Connection:
    """Return how to reach the folder's server once it is up: the running one, else a new one.

    Args:
        folder: absolute; holds all that the server needs, and is made if it is not there.
        program: the `label-studio` program.
        port: on 127.0.0.1; by default the last one, else the first free one from 8080 on.
        public_url: where a proxy makes it reachable to people elsewhere; by default as the last time.

    Raises:
        UsageError: the port is taken, the server runs already with other settings, or this is Windows.
        ServerError: it ends while starting, or is not up in time (it is left to go on).
    """
    if not hasattr(os, "killpg"):
        words = "a local server runs on Linux and macOS only; start Label Studio yourself and set "
        raise UsageError(f"{words}FIRE_LABEL_STUDIO_URL")
    prepare_folder(folder)
    if (lock := open_lock(folder / LOCK)) is not None:
        try:
            _launch(folder, program, port, public_url, lock)
        finally:
            os.close(lock)
    server = _await_up(folder)
    if port not in (None, urlsplit(server.url).port) or public_url not in (None, server.public_url):
        words = f"the server runs already at {server.url} with another --port or --public-url"
        raise UsageError(f"{words}; stop it first (`fire-toolkit labelstudio stop`)")
    return server


def _launch(folder: Path, program: Path, port: int | None, public_url: str | None, lock: int) -> None:
    """Write how the server is reached, as before but for what is given; start it with the lock."""
    path = folder / CONNECTION_FILE
    server = Connection("", secrets.token_hex(20), password=secrets.token_urlsafe(18))
    if path.exists() and not (server := read_connection_file(path)).password:
        raise UsageError(f"{path}: is of a server that was not started here; move it away")
    wanted = [port] if port else [*filter(None, [urlsplit(server.url).port]), *_FIRST_PORTS]
    free = next((each for each in wanted if serving.is_free_port(each)), None)
    if free is None:
        raise UsageError(f"port {wanted[0]} of 127.0.0.1 is in use by another program; give another --port")
    public_url = server.public_url if public_url is None else public_url
    server = replace(server, url=f"http://127.0.0.1:{free}", public_url=public_url)
    content = {"url": server.url, "token": server.token, "public_url": server.public_url}
    write_private(path, json.dumps(content | {"email": ADMIN, "password": server.password}, indent=1) + "\n")
    words = ["start", "--no-browser", "--internal-host", "127.0.0.1", "--log-level", "WARNING"]
    words += ["--port", str(free), "--data-dir", str(folder / DATA)]
    with os.fdopen(os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        subprocess.run(  # in a session of its own; its files are for us alone
            ["/bin/sh", "-c", 'umask 077; "$@" &', "sh", str(program), *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            start_new_session=True,
            cwd=folder,
            env=server_environment(folder, server),
            check=True,
        )


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
        # SQLite's write-ahead log, under the one name by which Label Studio switches it on. With 12 people
        # answering during an import it halves the time of all and lets the import through.
        "AZURE_MOUNT_FIX": "true",
        "EDITOR_KEYMAP": json.dumps({"annotation:submit": {"key": SUBMIT_KEYS}}),
        "LOCAL_FILES_SERVING_ENABLED": "true",
        "LOCAL_FILES_DOCUMENT_ROOT": str(folder.parent.parent / "media"),
    }
    if server.public_url:  # Django takes forms from pages of another address only where it is told so
        settings["CSRF_TRUSTED_ORIGINS"] = server.public_url
    if server.public_url.startswith("https:"):
        # The cookie against forged forms may travel unencrypted on this machine, where accounts are made.
        settings |= {"SESSION_COOKIE_SECURE": "1", "CSRF_COOKIE_SECURE": "0"}
    environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environ |= {"SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "PYTHONUNBUFFERED": "1"}
    return environ | {f"LABEL_STUDIO_{name}": value for name, value in settings.items()}


def is_running(folder: Path) -> bool:
    """Whether the folder's server runs, or is about to."""
    return is_locked(folder / LOCK)


def server_process(folder: Path) -> psutil.Process | None:
    """Return the process of the folder's server: the one that was started on its data."""
    for process in psutil.process_iter(["cmdline"]) if is_running(folder) else ():
        if (process.info["cmdline"] or [])[-2:] == ["--data-dir", str(folder / DATA)]:
            return process
    return None


def _await_up(folder: Path) -> Connection:
    deadline = time.monotonic() + START_LIMIT_S
    while is_running(folder):
        if process := server_process(folder):  # until then another start may still write how to reach it
            server = read_connection_file(folder / CONNECTION_FILE)
            if _has_its_port(process, server) and _accepts_us(server):
                return server
        if time.monotonic() > deadline:
            words = f"the server is not up yet; start again to wait for it, or see {folder / LOG}"
            raise ServerError(f"{words}; `fire-toolkit labelstudio stop` stops it")
        time.sleep(POLL_S)
    raise ServerError(f"Label Studio ended while starting; see {folder / LOG}")


def _has_its_port(process: psutil.Process, server: Connection) -> bool:
    """Whether the process listens where it should; Label Studio moves on, unasked, from a taken port."""
    try:
        found = process.net_connections("tcp")
    except psutil.Error:  # the system does not tell, or it has just ended
        return process.is_running()
    ports = {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}
    if ports and urlsplit(server.url).port not in ports:
        os.killpg(os.getpgid(process.pid), signal.SIGKILL)
        raise ServerError(f"another program took the port of {server.url}; start the server again")
    return bool(ports)


def _accepts_us(server: Connection) -> bool:
    """Whether the server is up; it takes both kinds of tokens from then on."""
    from fire_toolkit.labelstudio.calls import Browser, CallFailed

    headers = {"Authorization": f"Token {server.token}"}
    with suppress(CallFailed, ValueError), Browser(server, timeout_s=20.0, headers=headers) as http:
        if http.get("/health").json() != {"status": "UP"}:
            return False
        if http.get("/api/current-user/whoami").json().get("email") != ADMIN:
            raise ServerError(
                f"{server.url} does not accept the token in {CONNECTION_FILE}; log in there as {ADMIN}, and "
                "allow legacy tokens under Organization, API Tokens Settings"
            )
        both = {"legacy_api_tokens_enabled": True, "api_tokens_enabled": True}
        return http.post("/api/jwt/settings", json=both).is_success
    return False


def stop_server(folder: Path) -> bool:
    """End the folder's server and nothing else; return whether there was one.

    Raises:
        FireError: it has just been started, or does not end.
    """
    if not is_running(folder):
        return False
    if (process := server_process(folder)) is None:
        raise FireError(f"{folder}: a server is being started here; wait a moment and try again")
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(os.getpgid(process.pid), sign)
        deadline = time.monotonic() + END_LIMIT_S
        while is_running(folder) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        if not is_running(folder):
            return True
    raise FireError(f"the server (pid {process.pid}) does not stop; inspect it with `ps -p {process.pid}`")
