"""Predictions of any tool as a Run: formats recognised by content, and the ids of matrices.

Read `reader` first: what a format is, and which are there. A file gives one of two things:

- pairs of a query and a doc with a score (`listed`): TREC text, tables, `json_runs`, Parquet, XML and our own
  files (`native`); of places in lists of ids, as in `candidates` of vector search, `axis_ids` finds the ids;
- `named_arrays`: a matrix, oriented by `matrices`, or vectors of two sides, whose products are `embeddings`.

What follows is the same for all. `ranked` ranks them by the one rule and says what is kept of them;
`score_anomalies` refuses what no model can mean. `ingest` is what `add-run` does, `read` gives a run from any
file to what scores it.
"""
