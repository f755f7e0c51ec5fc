"""Correct the labels of a retrieval benchmark: pool, judge, resolve, rescore, compare.

The public face: readers give checked tables, and each stage is a pure function on tables.

    >>> import fire_toolkit
    >>> fire_toolkit.pool_runs.__name__
    'pool_runs'

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any
from warnings import warn

__version__ = "0.2.0"

if TYPE_CHECKING:
    from fire_toolkit.agreement import agreement as agreement_table
    from fire_toolkit.agreement import (
        agreement_intervals,
        annotator_matrix,
        annotator_profiles,
        krippendorff_alpha,
        leave_one_out,
    )
    from fire_toolkit.campaign.task_json import tasks_to_json
    from fire_toolkit.campaign.tasks import make_tasks
    from fire_toolkit.campaign.votes import judgments_from_export
    from fire_toolkit.errors import FireError
    from fire_toolkit.formats.collections import read_collection
    from fire_toolkit.formats.collections.qrels import read_qrels
    from fire_toolkit.formats.runs.held_runs import run_from_matrix
    from fire_toolkit.formats.runs.read import open_run, read_run
    from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
    from fire_toolkit.formats.tables.table_files import (
        read_items,
        read_judgments,
        read_labels,
        read_pool,
        read_pool_sources,
        read_queries,
    )
    from fire_toolkit.formats.tables.table_text import table_text
    from fire_toolkit.inference import (
        compare_orders,
        contributions,
        coverage,
        leave_out,
        score_differences,
        scores_with_uncertainty,
    )
    from fire_toolkit.inference.compare import compare_runs
    from fire_toolkit.matching.own_items import drop_own_items
    from fire_toolkit.matching.ranking import rank_run
    from fire_toolkit.measures import list_measures, parse_measure
    from fire_toolkit.pooling import pool_runs
    from fire_toolkit.qrels import augment_qrels, change_counts
    from fire_toolkit.resolution import next_round, plan_round, resolve
    from fire_toolkit.scoring import score_curves, score_runs
    from fire_toolkit.scoring.bidirectional import score_directions
    from fire_toolkit.scoring.breakdown import score_aspects
    from fire_toolkit.scoring.tifa import score_tifa

_HOMES = {
    "FireError": "errors",
    "agreement_intervals": "agreement",
    "agreement_table": "agreement:agreement",
    "annotator_matrix": "agreement",
    "annotator_profiles": "agreement",
    "augment_qrels": "qrels",
    "change_counts": "qrels",
    "compare_orders": "inference",
    "compare_runs": "inference.compare",
    "contributions": "inference",
    "coverage": "inference",
    "drop_own_items": "matching.own_items",
    "judgments_from_export": "campaign.votes",
    "krippendorff_alpha": "agreement",
    "leave_one_out": "agreement",
    "leave_out": "inference",
    "list_guidelines": "formats.tables.guideline_files",
    "list_measures": "measures",
    "make_tasks": "campaign.tasks",
    "next_round": "resolution",
    "open_run": "formats.runs.read",
    "parse_measure": "measures",
    "plan_round": "resolution",
    "pool_runs": "pooling",
    "rank_run": "matching.ranking",
    "read_collection": "formats.collections",
    "read_guideline": "formats.tables.guideline_files",
    "read_items": "formats.tables.table_files",
    "read_judgments": "formats.tables.table_files",
    "read_labels": "formats.tables.table_files",
    "read_pool": "formats.tables.table_files",
    "read_pool_sources": "formats.tables.table_files",
    "read_qrels": "formats.collections.qrels",
    "read_queries": "formats.tables.table_files",
    "read_run": "formats.runs.read",
    "resolve": "resolution",
    "run_from_matrix": "formats.runs.held_runs",
    "score_aspects": "scoring.breakdown",
    "score_curves": "scoring",
    "score_differences": "inference",
    "score_directions": "scoring.bidirectional",
    "score_runs": "scoring",
    "score_tifa": "scoring.tifa",
    "scores_with_uncertainty": "inference",
    "table_text": "formats.tables.table_text",
    "tasks_to_json": "campaign.task_json",
}

__all__ = [
    "FireError",
    "agreement_intervals",
    "agreement_table",
    "annotator_matrix",
    "annotator_profiles",
    "augment_qrels",
    "change_counts",
    "compare_orders",
    "compare_runs",
    "contributions",
    "coverage",
    "drop_own_items",
    "judgments_from_export",
    "krippendorff_alpha",
    "leave_one_out",
    "leave_out",
    "list_guidelines",
    "list_measures",
    "make_tasks",
    "next_round",
    "open_run",
    "parse_measure",
    "plan_round",
    "pool_runs",
    "rank_run",
    "read_collection",
    "read_guideline",
    "read_items",
    "read_judgments",
    "read_labels",
    "read_pool",
    "read_pool_sources",
    "read_qrels",
    "read_queries",
    "read_run",
    "resolve",
    "run_from_matrix",
    "score_aspects",
    "score_curves",
    "score_differences",
    "score_directions",
    "score_runs",
    "score_tifa",
    "scores_with_uncertainty",
    "table_text",
    "tasks_to_json",
]


_RENAMED = {"honest_scores": "scores_with_uncertainty"}  # old public names, which still work


def __getattr__(name: str) -> Any:
    """Load a public name from its home; one that was renamed says what it is called now."""
    if name in _RENAMED:
        warn(f"{name} is now called {_RENAMED[name]}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(__name__), _RENAMED[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(f"{__name__}.{home}"), attribute or name)
    if isinstance(value, FunctionType):
        from fire_toolkit.arguments import checked

        value = checked(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
