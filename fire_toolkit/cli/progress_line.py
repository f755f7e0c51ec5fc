"""The line of progress on a terminal, and what wipes it before something else is printed."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field

import click

_TICK_S = 1.0
_WIPES = f"{__name__}.wipes"  # where the context keeps what wipes the line that stands


@dataclass(eq=False)
class Progress:
    """One line on a terminal's stderr that each report overwrites; nothing elsewhere.

    While a report stands for seconds, the line counts them.

    first: the first report.
    """

    first: str = ""
    _words: str = ""
    _width: int = 0
    _since: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_over: threading.Event | None = None

    def __call__(self, words: str) -> None:
        """Show these words."""
        if sys.stderr.isatty():
            if context := click.get_current_context(silent=True):
                if not self._width:
                    wipe_progress()  # of another
                context.find_root().meta[_WIPES] = self.clear
            with self._lock:
                self._words, self._since = words, time.monotonic()
                self._draw(words)
                if self._is_over is None:
                    self._is_over = threading.Event()
                    threading.Thread(target=self._count, args=(self._is_over,), daemon=True).start()

    def _draw(self, words: str) -> None:
        click.echo("\r" + words.ljust(self._width), nl=False, err=True)
        self._width = len(words)

    def _count(self, is_over: threading.Event) -> None:
        while not is_over.wait(_TICK_S):
            with self._lock:
                seconds = time.monotonic() - self._since
                if self._width and seconds >= 2 * _TICK_S and not is_over.is_set():
                    self._draw(f"{self._words} {seconds:.0f} s")

    def clear(self, *error: object) -> None:
        """Wipe the line."""
        with self._lock:
            if self._is_over is not None:
                self._is_over.set()
                self._is_over = None
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
