"""The rules by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable

from fire_toolkit.resolution.ballots import Ballots, Verdicts
from fire_toolkit.resolution.fire import fire
from fire_toolkit.resolution.majority import majority
from fire_toolkit.resolution.unanimous import unanimous

Rule = Callable[[Ballots], Verdicts]

RULES: dict[str, Rule] = {
    "fire": fire,
    "majority": majority,
    "unanimous": unanimous,
}
