"""The tables and findings of the FIRE paper, for any benchmark: one function each."""

from fire_toolkit.paper_tables.captions import by_length, by_similarity, saturation
from fire_toolkit.paper_tables.contributions import all_and_new
from fire_toolkit.paper_tables.data import describe_data

__all__ = ["all_and_new", "by_length", "by_similarity", "describe_data", "saturation"]
