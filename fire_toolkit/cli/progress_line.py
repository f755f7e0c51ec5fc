"""The line of progress on a terminal, and what wipes it before something else is printed."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import click

_WIPES = f"{__name__}.wipes"  # where the context keeps what wipes the line that stands


@dataclass(eq=False)
class Progress:
    """One line on a terminal's stderr that each report overwrites; nothing elsewhere.

    first: the first report.
    """

    first: str = ""
    _width: int = 0

    def __call__(self, words: str) -> None:
        """Show these words."""
        if sys.stderr.isatty():
            if context := click.get_current_context(silent=True):
                if not self._width:
                    wipe_progress()  # of another
                context.find_root().meta[_WIPES] = self.clear
            click.echo("\r" + words.ljust(self._width), nl=False, err=True)
            self._width = len(words)

    def clear(self, *error: object) -> None:
        """Wipe the line."""
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)
            self._width = 0

    def __enter__(self) -> Progress:
        if self.first:
            self(self.first)
        return self

    __exit__ = clear


def wipe_progress() -> None:
    """Wipe the line of progress, if one stands on the terminal, before something else is printed."""
    context = click.get_current_context(silent=True)
    if context and (wipe := context.find_root().meta.get(_WIPES)):
        wipe()


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
