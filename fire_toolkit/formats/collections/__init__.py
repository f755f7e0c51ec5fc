"""Benchmarks' own files, recognised by content and read into queries, items and positives.

Read `registry` first: the first reader that recognises a file reads it. `source` is a file that several
readers look at. Most benchmarks are a layout in `benchmarks.toml`, which `layouts` reads;
`tables` reads plain tables by their columns, and lists of ids, `qrels` qrels of every form.
"""
