"""A publication of corrected labels: its tables and documents, and checks of anybody's.

Read `layout` first (the files of a release), then `published` (what of a workspace's tables may leave,
pseudonyms, and what no file may hold) and `answers` (what no file knows, asked in fire.toml). `facts` is all
that is known, put into templates. `changes` compares two releases, and `check` looks at anybody's; `rankings`
includes the runs. Pure: files are read in `formats.releases` and written by `cli.release`.
"""
