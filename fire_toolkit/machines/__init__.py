"""Machine judges: annotators of another kind, with a ledger of their own that no stage of people's reads.

Read `judge` first (what a user writes down of a judge), then `run`, which asks about pairs within a budget.
`prompts` says how it is asked, `pictures` what it is shown, `chat` speaks the protocol, `answers` reads one
word or a failure, and `cache` keeps what was said, so that nothing is asked twice. `table` and `scores` make
`machine.csv` and one number of each pair; `check` and `groups` hold a judge against people's labels.
"""
