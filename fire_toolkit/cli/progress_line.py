"""The line of progress on a terminal, and what wipes it before something else is printed."""

from __future__ import annotations

import sys

import click

_WIPES = f"{__name__}.wipes"  # where the context keeps what wipes the line that stands


class Progress:
    """One line on a terminal's stderr that each report overwrites; nothing elsewhere.

    words: the first report.
    """

    def __init__(self, words: str = "") -> None:
        self._width = 0
        self._words = words

    def __call__(self, words: str) -> None:
        """Show these words."""
        if sys.stderr.isatty():
            if context := click.get_current_context(silent=True):
                if not self._width:
                    wipe_progress()  # of another
                context.find_root().meta[_WIPES] = self.clear
            click.echo("\r" + words.ljust(self._width), nl=False, err=True)
            self._width = len(words)

    def clear(self) -> None:
        """Wipe the line."""
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)
            self._width = 0

    def __enter__(self) -> Progress:
        if self._words:
            self(self._words)
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()


def wipe_progress() -> None:
    """Wipe the line of progress, if one stands on the terminal, before something else is printed."""
    context = click.get_current_context(silent=True)
    if context and (wipe := context.find_root().meta.get(_WIPES)):
        wipe()
