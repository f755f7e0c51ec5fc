"""Measures: one small file each, registered by name, over a run joined with qrels."""

from fire_toolkit.measures.definition import Definition, Measure, Parameter
from fire_toolkit.measures.judged_ranking import (
    CodedQrels,
    FoundPositives,
    JudgedRanking,
    code_qrels,
    judge_run,
)
from fire_toolkit.measures.names import list_measures, parse_measure

__all__ = [
    "CodedQrels",
    "Definition",
    "FoundPositives",
    "JudgedRanking",
    "Measure",
    "Parameter",
    "code_qrels",
    "judge_run",
    "list_measures",
    "parse_measure",
]
