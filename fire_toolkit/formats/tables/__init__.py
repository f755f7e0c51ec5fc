"""Files of the toolkit's own tables and of other tools' tables.

Read `delimited` first (CSV and TSV, where every field is text until its table is checked), then
`table_files`, which reads each table, evidence, designs and machine scores too. `table_text` draws results
for people and programs. The others are one format each: guidelines, FIRE's release, TIFA, TRECVID.
"""
