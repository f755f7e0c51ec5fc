"""A campaign: what is asked of whom, what was answered, and how far it is, whatever carries the tasks.

Read `tasks` first (a pool becomes blind tasks), then `queues` and `rounds` (who judges what, for the first
time or again, and what changes hands). `schema` reads the tables and views of the record, which stand in SQL
beside it, `store` opens it, `numbers` has the numbers of people and pairs there, and `records` writes what
was drawn before anything is sent; `merging` takes in the record of another site. `due` says which
stages wait for people's answers, and `following` which command comes next. `carrier` is what a carrier must
do.

For answers read `answers` (Label Studio's JSON, typed by `answer_columns`), `ledger` (rows that are never
changed), `votes` (which answers count, and why others do not), `said` (what each answer says, read once) and
`views` (judgments, open tasks). `asking` leaves out what was asked before, `progress` counts, and
`salvage` mends a damaged record. `queue_pages` and `page_json` put several captions of an item on one page;
`task_files` and `task_json` are tasks as files. Nothing here knows a server.
"""
