"""Queries, items and original positives of a benchmark: put together, audited, compared by text.

Read `parts` first, what each file says, and `assembly`, the collection that they make. `audit` lists
where ids mislead, with `duplicates` for equal captions, which may share judgments, and the pairs that like
ones suggest; `similarity` compares captions. Files are read in `formats.collections`.
"""

from fire_toolkit.collections.assembly import Collection as Collection
