"""The tables and findings of the FIRE paper, for any benchmark: one function each."""

from fire_toolkit.findings.captions import by_length, by_similarity, saturation
from fire_toolkit.findings.contributions import all_and_new
from fire_toolkit.findings.data import describe_data

__all__ = ["all_and_new", "by_length", "by_similarity", "describe_data", "saturation"]
