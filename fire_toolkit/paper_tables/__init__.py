"""The tables and findings of the FIRE paper, for any benchmark: one function each."""

from fire_toolkit.paper_tables.captions import by_length as by_length
from fire_toolkit.paper_tables.captions import by_similarity as by_similarity
from fire_toolkit.paper_tables.captions import saturation as saturation
from fire_toolkit.paper_tables.contributions import all_and_new as all_and_new
from fire_toolkit.paper_tables.data import describe_data as describe_data
