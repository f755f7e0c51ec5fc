"""The rules by name: a new one is a file and a line here, or comes from a plug-in."""

from __future__ import annotations

from collections.abc import Callable

from fire_toolkit.plugins import Registry
from fire_toolkit.resolution.adjudicator import adjudicator
from fire_toolkit.resolution.dawid_skene import dawid_skene
from fire_toolkit.resolution.fire import fire
from fire_toolkit.resolution.majority import majority
from fire_toolkit.resolution.unanimous import unanimous
from fire_toolkit.resolution.votes import Verdicts, Votes

RULES: Registry[Callable[[Votes], Verdicts]] = Registry("rules", "rule")
RULES.add("fire", fire)
RULES.add("majority", majority)
RULES.add("unanimous", unanimous)
RULES.add("adjudicator", adjudicator)
RULES.add("dawid-skene", dawid_skene)
