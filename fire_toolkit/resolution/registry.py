"""The rules by name: a new one is a function and a line here, or comes from a plug-in."""

from collections.abc import Callable

from fire_toolkit.plugins import Registry
from fire_toolkit.resolution.dawid_skene import dawid_skene
from fire_toolkit.resolution.rules import adjudicator, fire, majority, unanimous
from fire_toolkit.resolution.votes import Verdicts, Votes

RULES: Registry[Callable[[Votes], Verdicts]] = Registry("rules", "rule")
RULES.add("fire", fire)
RULES.add("majority", majority)
RULES.add("unanimous", unanimous)
RULES.add("adjudicator", adjudicator)
RULES.add("dawid-skene", dawid_skene)
