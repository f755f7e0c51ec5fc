"""The measures by name: a new one is a new file here and its line in `FILES`, or comes from a plug-in."""

from importlib import import_module

from fire_toolkit.measures.definition import Definition
from fire_toolkit.plugins import Registry

FILES = (
    "first_positive",
    "positives_found",
    "average_precision",
    "cumulated_gain",
    "judged",
    "tiers",
    "bpref",
    "rank_biased_precision",
    "interpolated_precision",
    "sampled_estimates",
)

# Every definition under its name with its variant (`AP/min`), in the order of `FILES`.
MEASURES: Registry[Definition] = Registry("measures", "measure", Definition)
for _file in FILES:
    for _definition in vars(import_module(f"fire_toolkit.measures.{_file}")).values():
        if isinstance(_definition, Definition):
            MEASURES.add(_definition.key, _definition)
