"""Evidence: all that is known of each pair, in one table.

`making` joins the original qrels, labels, and what else is known (votes by design, strata and chances of
being drawn, disputes, a machine's scores, whether the query is usable), and says under a named policy what
becomes of each pair. `qrels` takes augmented qrels and changes out of it, and counts them.
`inference.background` reads the table, and `formats.tables.table_files` keeps it.
"""
