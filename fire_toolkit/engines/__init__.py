"""Work beyond one machine: ranges of queries on the workers of a Dask cluster, the bytes of one process.

Read `cluster` first, how parts of a work are spread; then `work`: runs in files, whose ranks and tops workers
find, and vectors. What workers refuse is done again here, and refused in the words of one process.
"""
