"""A Dask cluster: futures, and nothing else of Dask.

Dask unpickles what its peers send, so who reaches the scheduler runs code here and on the workers: a
scheduler is asked for by TLS with certificates of both sides, or on this machine's loopback.
"""

from __future__ import annotations

import asyncio
import platform
import re
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from fire_toolkit import __version__
from fire_toolkit.engines.engine import AnyPart
from fire_toolkit.engines.local import ranges_for
from fire_toolkit.errors import FireError, FormatError, ServerError, StaleError, UsageError
from fire_toolkit.files import sha256_of

_ADDRESS = re.compile(r"(tls|tcp)://(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")
_CONNECT_S = 10
_TRIES = 3  # of a part whose worker was lost
_SAME = ("python", "distributed", "cloudpickle")


def check_address(address: str) -> str:
    """Return the address of a scheduler.

    Raises:
        UsageError: it is not such an address, or is plain tcp to another machine.

    Examples:
        >>> check_address("tcp://127.0.0.1:8786")
        'tcp://127.0.0.1:8786'
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found[3]) > 65535:
        raise UsageError(f"--scheduler {address!r}: expected tls://HOST:PORT, or tcp://127.0.0.1:PORT")
    if found[1] == "tcp" and not _is_loopback(found[2].strip("[]")):
        raise UsageError(
            f"--scheduler {address}: plain tcp is taken to this machine only, since Dask runs what its peers "
            "send; start the cluster with TLS and give tls://HOST:PORT"
        )
    return address


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class Cluster:
    """The workers of the scheduler at `address`; see `check_address`."""

    address: str
    takes_whole: bool = False

    def __post_init__(self) -> None:
        check_address(self.address)

    def ranges(self, n_units: int) -> int:
        """Return how many ranges of each unit keep all workers busy."""
        with self._client() as client:
            return ranges_for(len(_workers(client)), n_units)

    def map(self, function: Callable[[AnyPart], bytes], parts: Sequence[AnyPart]) -> list[bytes]:
        """Return what the function gives for each part; a part whose worker is lost is done by another.

        Raises:
            ServerError: no scheduler answers, it has no workers, or it or they were lost.
            FireError: versions differ; a worker lacks a file, or has another; what the function raises.
        """
        from distributed import CancelledError, KilledWorker

        with self._client() as client:
            _check_versions(client, self.address)
            try:
                name = f"fire-toolkit-{uuid.uuid4().hex}"
                keys = [f"{name}-{place}" for place in range(len(parts))]
                futures = [
                    client.submit(_checked, function, part, key=key, retries=0, pure=False)
                    for part, key in zip(parts, keys, strict=True)
                ]
                return [bytes(content) for content in client.gather(futures)]
            except KilledWorker:
                raise ServerError(
                    f"{self.address}: workers died of one part again and again, as they do for lack of "
                    "memory; give them more, and run it again"
                ) from None
            except (CancelledError, OSError, asyncio.CancelledError, TimeoutError):
                raise ServerError(
                    f"{self.address}: the scheduler was lost; nothing is written: start it and run it again"
                ) from None

    def _client(self) -> Any:
        """Return a connected client.

        Raises:
            UsageError: Dask is not installed.
            ServerError: nobody answers as a scheduler.
        """
        try:
            import dask
            from distributed import Client
        except ImportError:
            raise UsageError("--engine dask needs Dask: pip install distributed") from None
        _quiet()
        settings = {"distributed.comm.timeouts.connect": f"{_CONNECT_S}s", "distributed.comm.retry.count": 0}
        dask.config.set(settings | {"distributed.scheduler.allowed-failures": _TRIES})
        try:
            asyncio.run(asyncio.wait_for(_ask(self.address), _CONNECT_S))
            return Client(self.address, timeout=_CONNECT_S, set_as_default=False)
        except Exception as error:  # whatever a peer's answer makes Dask raise
            reason = str(error).split("\n", 1)[0][:150] or type(error).__name__
            raise ServerError(
                f"{self.address}: no Dask scheduler answers ({reason}); start one with `dask scheduler`, and "
                "workers; tls:// needs certificates in Dask's settings (distributed.comm.tls)"
            ) from None


async def _ask(address: str) -> None:
    """Ask a scheduler who it is: a client that nobody answers leaves threads behind which go on trying."""
    from distributed.comm.core import connect
    from distributed.security import Security

    own = Security().get_connection_args("client")
    comm = await connect(address, timeout=_CONNECT_S / 2, **own)
    try:
        await comm.write({"op": "identity", "reply": True})
        found = await comm.read()
        if not isinstance(found, dict) or found.get("type") != "Scheduler":
            raise ValueError(f"a {found.get('type') if isinstance(found, dict) else 'peer'} of another kind")
    finally:
        comm.abort()


def _quiet() -> None:
    """Leave Dask's own lines and tracebacks about lost connections out: what matters is raised."""
    import logging

    for name in ("distributed", "distributed.client", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _workers(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    if not found:
        raise ServerError("the scheduler has no workers; start some with `dask worker SCHEDULER`")
    return found


def _check_versions(client: Any, address: str) -> None:
    """Raise an error where workers have another Python, Dask or fire-toolkit than this process."""
    _workers(client)
    try:
        found = client.get_versions(check=False)
        own = _versions_in(found["client"])
        for name, about in found["workers"].items():
            for what, version in _versions_in(about).items():
                if version != own[what]:
                    _refuse(name, what, version, own[what])
        replies = client.run(about_worker, on_error="return")
    except (OSError, TimeoutError, TypeError, KeyError) as error:
        raise ServerError(f"{address}: the scheduler does not tell versions ({error})") from None
    for name, versions in replies.items():
        if not isinstance(versions, dict):
            raise ServerError(
                f"worker {name} has no fire-toolkit {__version__} ({versions}); install there what is here"
            )
        for what, version in about_worker().items():
            if versions.get(what) != version:
                _refuse(name, what, str(versions.get(what)), version)


def _refuse(worker: str, what: str, found: str, expected: str) -> None:
    raise ServerError(f"worker {worker} has {what} {found}, expected {expected}; install there what is here")


def _versions_in(about: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions that both sides must share: Python's to the minor one."""
    host = dict(about["host"])
    python = ".".join(str(host.get("python", "")).split(".")[:2])
    return {"python": python} | {name: str(about["packages"].get(name)) for name in _SAME[1:]}


def about_worker() -> dict[str, str]:
    """Return the versions that this process computes with."""
    import numpy
    import pandas

    versions = {"fire-toolkit": __version__, "numpy": numpy.__version__, "pandas": pandas.__version__}
    return versions | {"python": ".".join(platform.python_version_tuple()[:2])}


def _checked(function: Callable[[AnyPart], bytes], part: AnyPart) -> bytes:
    """Return what the function gives, on a worker that has the files that this process has."""
    for path, sha256 in part.files.items():
        check_file(path, sha256)
    return function(part)


def check_file(path: str, sha256: str) -> None:
    """Check that a file is here, and is the one that is meant.

    Raises:
        FormatError: it is not here.
        StaleError: it has other bytes.
    """
    where = f"worker on {socket.gethostname()}"
    try:
        about = Path(path).stat()
        found = _sha256(path, about.st_size, about.st_mtime_ns, about.st_ino)
    except (OSError, FireError):
        raise FormatError(
            f"{path}: the {where} does not see this file; put it where all workers see it under this path"
        ) from None
    if found != sha256:
        raise StaleError(f"{path}: the {where} has another file of this name (sha256 {found[:12]}, here "
                         f"{sha256[:12]}); copy it there again")  # fmt: skip


@lru_cache(maxsize=1024)
def _sha256(path: str, size: int, changed_ns: int, number: int) -> str:
    return sha256_of(path)
