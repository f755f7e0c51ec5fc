"""Label Studio in an environment of its own: its pins fit nobody else's, so it never enters ours.

The environment lies in a cache that all workspaces share. It counts once its completion mark is
written; what a killed installation left is removed and made again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.labelstudio.process import check_system, quiet_environment
from fire_toolkit.workspace.locks import hold_lock

VERSION = "1.23.2"
CACHE_VARIABLE = "FIRE_TOOLKIT_CACHE"
MARK = "complete.json"
DATABASE = "label_studio.sqlite3"
NEEDED_BYTES = 2_000_000_000
LIMIT_S = 1800.0

Report = Callable[[str], None]
# These would lead pip or Python out of the new environment.
_MISLEADING = (
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
)


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's cache of this toolkit: FIRE_TOOLKIT_CACHE, else the platform's place.

    Examples:
        >>> cache_folder({"FIRE_TOOLKIT_CACHE": "/data/cache"}).as_posix()
        '/data/cache'
    """
    environ = os.environ if environ is None else environ
    if environ.get(CACHE_VARIABLE):
        return Path(environ[CACHE_VARIABLE]).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fire-toolkit"
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "fire-toolkit"


def environment_folder(cache: Path) -> Path:
    """Return where the environment for this Python lies in a cache."""
    return cache / f"label-studio-{VERSION}-py{sys.version_info.major}.{sys.version_info.minor}"


def is_installed(cache: Path) -> bool:
    """Whether the environment is there and complete."""
    folder = environment_folder(cache)
    return (folder / MARK).is_file() and _executable(folder).is_file()


def _executable(folder: Path) -> Path:
    return folder / "bin" / "label-studio"


def _beside(folder: Path, ending: str) -> Path:
    return folder.with_name(f"{folder.name}.{ending}")


def template_of(program: Path) -> Path:
    """Return where the empty database lies that was made with a program; it need not be there."""
    return program.parent.parent / f"empty-{DATABASE}"


def install(cache: Path, report: Report, *, limit_s: float = LIMIT_S, package: str = "") -> Path:
    """Return the `label-studio` program of the pinned version, installing it if it is not there.

    Args:
        cache: the folder that holds environments.
        report: is told what goes on, in words.
        limit_s: how long the installation may take.
        package: what pip installs; by default the pinned version.

    Raises:
        FireError: pip fails, has too little disk, or takes too long; the log's path is named.
        UsageError: a server cannot be run on this system.
    """
    check_system()
    folder = environment_folder(cache)
    cache.mkdir(parents=True, exist_ok=True)
    with hold_lock(
        _beside(folder, "lock"), wait_s=limit_s, what="another installation of Label Studio"
    ) as lock:
        if not is_installed(cache):
            _make(folder, lock, report, limit_s, package or f"label-studio=={VERSION}")
    return _executable(folder)


def _make(folder: Path, lock: int, report: Report, limit_s: float, package: str) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < NEEDED_BYTES:
        raise FireError(
            f"{folder.parent}: {free / 1e9:.1f} GB free, Label Studio needs {NEEDED_BYTES / 1e9:.0f} GB; "
            f"free some space, or set {CACHE_VARIABLE} to another folder"
        )
    shutil.rmtree(folder, ignore_errors=True)
    steps = _Steps(_beside(folder, "log"), lock, report, time.monotonic() + limit_s)
    steps.log.write_bytes(b"")
    report(f"installing Label Studio {VERSION} into {folder} (once; about 4 minutes, 1 GB)")
    steps.run("making an environment", [sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    steps.run(f"installing Label Studio {VERSION}", [*pip, "install", package])
    if not _executable(folder).is_file():
        raise FireError(f"{folder}: pip installed no label-studio program; see {steps.log}")
    _make_template(folder, steps)
    part = folder / f"{MARK}.part"
    part.write_text(json.dumps({"package": package}) + "\n", encoding="utf-8")
    part.replace(folder / MARK)


def _make_template(folder: Path, steps: _Steps) -> None:
    """Make the empty database that each new server begins with; asking for the version makes its tables."""
    place = folder / "template"
    command = [str(_executable(folder)), "version", "--data-dir", str(place)]
    steps.run("making an empty database", command, quiet_environment({"BASE_DATA_DIR": str(place)}))
    if (place / DATABASE).is_file():
        (place / DATABASE).replace(template_of(_executable(folder)))
    shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True)
class _Steps:
    """How the steps of an installation run: their words go to `log`, and they inherit the lock.

    So nobody begins anew while a step still writes, even if we are killed.
    """

    log: Path
    lock: int
    report: Report
    deadline: float

    def run(self, what: str, command: list[str], environ: Mapping[str, str] | None = None) -> None:
        """Run a command, telling now and then how long it has been going on."""
        if environ is None:
            environ = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
        started = time.monotonic()
        with self.log.open("ab") as stream:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=environ,
                pass_fds=(self.lock,),
            )
            try:
                while _still_runs(process, 1.0):
                    if time.monotonic() > self.deadline:
                        raise FireError(f"{what} took too long; see {self.log}, then try again")
                    self.report(f"{what}: {time.monotonic() - started:.0f} s")
            finally:
                process.kill()
                process.wait()
        if process.returncode != 0:
            raise FireError(f"{what} failed: {_last_words(self.log)}; see {self.log}, then start again")


def _still_runs(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _last_words(log: Path) -> str:
    """Return the line of pip's log that says why: the last error, else the last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "ensurepip" in line]
    return (errors or lines or ["no words"])[-1][:300]
