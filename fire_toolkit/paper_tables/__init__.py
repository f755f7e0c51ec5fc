"""The tables and findings of the FIRE paper, for any benchmark: one function each."""
