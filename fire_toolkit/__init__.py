"""Correct the labels of a retrieval benchmark: pool, judge, resolve, rescore, compare.

The public face: readers give checked tables, and each stage is a pure function on tables.

    >>> import fire_toolkit
    >>> fire_toolkit.pool.__name__
    'pool'

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

# The one list of public names, which type checkers read as it stands, and `_HOME_OF` from this file.
if TYPE_CHECKING:
    from fire_toolkit.agreement.annotators import annotator_profiles as annotator_profiles
    from fire_toolkit.agreement.annotators import leave_one_out as leave_one_out
    from fire_toolkit.campaign.task_json import tasks_to_json as tasks_to_json
    from fire_toolkit.campaign.tasks import make_tasks as make_tasks
    from fire_toolkit.campaign.votes import judgments_from_export as judgments_from_export
    from fire_toolkit.commands.agree import agree as agree
    from fire_toolkit.commands.audit import audit as audit
    from fire_toolkit.commands.augment import augment as augment
    from fire_toolkit.commands.influence import influence as influence
    from fire_toolkit.commands.machine_check import machine_check as machine_check
    from fire_toolkit.commands.measure import compare as compare
    from fire_toolkit.commands.measure import difference as difference
    from fire_toolkit.commands.measure import tifa as tifa
    from fire_toolkit.commands.plan import plan as plan
    from fire_toolkit.commands.pool import pool as pool
    from fire_toolkit.commands.report import report as report
    from fire_toolkit.commands.resolve import resolve as resolve
    from fire_toolkit.commands.score import score as score
    from fire_toolkit.commands.study import coverage as coverage
    from fire_toolkit.commands.study import orders as orders
    from fire_toolkit.commands.study import own as own
    from fire_toolkit.commands.study import reuse as reuse
    from fire_toolkit.elsewhere.judgments import judgments_from_table as judgments_from_table
    from fire_toolkit.errors import FireError as FireError
    from fire_toolkit.evidence.qrels import augment_qrels as augment_qrels
    from fire_toolkit.evidence.qrels import change_counts as change_counts
    from fire_toolkit.formats.collections.registry import read_collection as read_collection
    from fire_toolkit.formats.plot_files import save_plot as save_plot
    from fire_toolkit.formats.runs.read import open_run as open_run
    from fire_toolkit.formats.tables.guideline_files import list_guidelines as list_guidelines
    from fire_toolkit.formats.tables.guideline_files import read_guideline as read_guideline
    from fire_toolkit.formats.tables.table_files import read_items as read_items
    from fire_toolkit.formats.tables.table_files import read_labels as read_labels
    from fire_toolkit.formats.tables.table_files import read_machine_judgments as read_machine_judgments
    from fire_toolkit.formats.tables.table_files import read_pool as read_pool
    from fire_toolkit.formats.tables.table_files import read_pool_sources as read_pool_sources
    from fire_toolkit.formats.tables.table_files import read_queries as read_queries
    from fire_toolkit.formats.tables.table_text import table_text as table_text
    from fire_toolkit.matching.own_items import drop_own_items as drop_own_items
    from fire_toolkit.measures import list_measures as list_measures
    from fire_toolkit.measures import parse_measure as parse_measure
    from fire_toolkit.public.held import judgments as judgments
    from fire_toolkit.public.held import qrels as qrels
    from fire_toolkit.public.held import run as run
    from fire_toolkit.public.held import to_dict as to_dict
    from fire_toolkit.public.held import to_ranx as to_ranx
    from fire_toolkit.reporting.plots import plot_annotators as plot_annotators
    from fire_toolkit.reporting.plots import plot_differences as plot_differences
    from fire_toolkit.reporting.plots import plot_judged as plot_judged
    from fire_toolkit.reporting.plots import plot_lengths as plot_lengths
    from fire_toolkit.reporting.plots import plot_orders as plot_orders
    from fire_toolkit.reporting.plots import plot_overlap as plot_overlap
    from fire_toolkit.reporting.plots import plot_scores as plot_scores
    from fire_toolkit.resolution.plan import plan_round as plan_round

_IMPORT = re.compile(r"^    from (fire_toolkit\.\S+) import (\w+) as (\w+)$", re.MULTILINE)
_HOME_OF = {name: (home, own) for home, own, name in _IMPORT.findall(Path(__file__).read_text("utf-8"))}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, its_name = _HOME_OF[name]
    value = getattr(import_module(home), its_name)
    if isinstance(value, FunctionType):
        from fire_toolkit.public.arguments import checked

        value = checked(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
