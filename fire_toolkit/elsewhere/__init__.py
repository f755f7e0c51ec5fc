"""Judgments that people made elsewhere, with other tools or on other pages: read, and into the ledger.

`tables` reads files as they are, by columns that the user names; `presets.toml` has those that a tool always
has. `meaning` says what is in them before anything is written; `rows` makes rows of the ledger, in which
people go by pseudonyms.
"""
