"""Label Studio as a carrier: a server that promises little, looked at before and after each write.

Read `carrier` first, then `push` (queues to projects: look, write what is missing, look again), `pull` (what
is new, changed or gone) and `places` (a campaign's projects, and where they lie). `connection` and `api`
speak to the server, with what only the owner may read; `accounts` keeps annotators and their pseudonyms.
`doctor` says what can be wrong, and whether annotators will see the media.
"""
