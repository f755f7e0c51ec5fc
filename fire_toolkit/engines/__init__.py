"""Work beyond one machine: ranges of queries on the workers of a Dask cluster, the bytes of one process.

`cluster` spreads parts of a work. What workers refuse is done again here, and refused in the words of one
process.
"""
