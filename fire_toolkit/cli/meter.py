"""What the campaign's commands share: the workspace, and a line that counts on a terminal."""

from __future__ import annotations

import time
from pathlib import Path

from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.server_options import private_folder


def workspace_root() -> Path:
    """Return the workspace's folder; a usage error outside a workspace."""
    return private_folder().parent.parent


class Meter:
    """Counts things on a terminal's stderr: how many of how many, how fast, how long still; silent elsewhere.

    total: how many there will be; None if nobody knows.
    """

    def __init__(self, things: str, total: float | None) -> None:
        self._things = things
        self._total = total
        self._n_done = 0.0
        self._started = time.monotonic()
        self._line = Progress()

    def __call__(self, n: float) -> None:
        """Count `n` more."""
        self._n_done += n
        rate = self._n_done / max(time.monotonic() - self._started, 1e-3)
        if self._total is None:
            self._line(f"{self._n_done:,.0f} {self._things}, {rate:,.0f}/s")
            return
        left = f", {(self._total - self._n_done) / rate:,.0f} s left" if rate else ""
        self._line(f"{self._n_done:,.0f} of {self._total:,.0f} {self._things}, {rate:,.0f}/s{left}")

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *error: object) -> None:
        self._line.clear()
