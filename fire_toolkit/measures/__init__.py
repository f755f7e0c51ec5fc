"""Measures: one small file each, registered by name, over a run joined with qrels."""

from fire_toolkit.matching.coded import CodedQrels, CodedRun, Strata, code_qrels, code_run
from fire_toolkit.matching.groups import count_missing_members, restrict_run, restrict_to_groups
from fire_toolkit.matching.judged_ranking import FoundPositives, JudgedRanking, judge_run
from fire_toolkit.measures.definition import Definition, Measure, Parameter
from fire_toolkit.measures.names import list_measures, parse_measure, parse_measures
from fire_toolkit.measures.views import score_coded

__all__ = [
    "CodedQrels",
    "CodedRun",
    "Definition",
    "FoundPositives",
    "JudgedRanking",
    "Measure",
    "Parameter",
    "Strata",
    "code_qrels",
    "code_run",
    "count_missing_members",
    "judge_run",
    "list_measures",
    "parse_measure",
    "parse_measures",
    "restrict_run",
    "restrict_to_groups",
    "score_coded",
]
