"""Evidence: all that is known of each pair, in one table.

Read `qrels` first: original positives and people's labels become augmented qrels under a named policy, and
every change is counted apart. `making` joins to them what else is known: votes by design, strata and chances
of being drawn, disputes, a machine's scores, whether the query is usable. `inference.background` reads the
table, and `formats.tables.table_files` keeps it.
"""
