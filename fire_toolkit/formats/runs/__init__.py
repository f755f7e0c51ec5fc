"""Predictions of any tool as a Run: formats recognised by content, and the ids of matrices.

Read `reader` (what a format is, and which are there), then `read` (a run from any file) and `trec`, the
simplest format. `matrices`, `named_arrays` and `axis_ids` read matrices and their ids;
`embeddings` and `candidates` what vectors and vector search give; `json_runs` and `parquet_files`
other lists.

`ingest` is what `add-run` does: recognise, orient, rank (`ranked`), refuse what no model can mean and keep
the top and the positives (`score_anomalies`) in our own file (`native`).
"""
