"""A publication of corrected labels: its tables and documents, and checks of anybody's.

Read `published` first (what of a workspace's tables may leave, pseudonyms, and what no file may hold), then
`answers` (what no file knows, asked in fire.toml). `facts` is all that is known, put into templates; words of
tables, columns and files stand in layout.toml. `changes` compares two releases, and `check` looks at
anybody's; `rankings` includes the runs. Pure: files are read in `formats.releases` and written by
`cli.release`.
"""
