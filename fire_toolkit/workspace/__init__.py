"""A workspace: its settings, its stages, and the manifests beside what they wrote.

Read `config` first (fire.toml, with `defaults.toml`), then `manifests`: files written as one change, and
refused where they are no longer what their manifest says. `stages` says what is done, what is stale and why.
`rounds` numbers the rounds, `database` opens SQLite files, and `locks` has the one lock.
"""
