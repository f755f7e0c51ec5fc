"""Label Studio as a carrier: a server that promises little, looked at before and after each write.

Read `carrier` first, then `push` (queues to projects: look, write what is missing, look again), `pull` (what
is new, changed or gone) and `places` (where a queue lies on servers). `projects` sets up projects and
recognises them; `showing` tests whether annotators will see the media. `connection`, `calls` and `api` speak
to the server; `accounts` and `register` keep annotators and their pseudonyms, `secrets` what only the owner
may read. `doctor` says what can be wrong.
"""
