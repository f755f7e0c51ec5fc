"""Files of the toolkit's own tables and of other tools' tables.

Read `delimited` first (CSV and TSV, where every field is text until its table is checked), then
`table_files`, which reads and writes each table, designs and
machine scores too. `columns_text` makes text of whole columns, and `table_text`
draws results for people and programs. The others are one format each: evidence, guidelines,
FIRE's release, TIFA, TRECVID.
"""
