"""Judgments that people made elsewhere, with other tools or on other pages: read, and into the ledger.

Files are read as they are (`exports`: Label Studio's; `tables`: everybody else's), by columns that the user
names (`tools` knows those that a tool always has). `understood` says what is in them before anything is
written; `rows` makes rows of the ledger, in which people go by pseudonyms.
"""
