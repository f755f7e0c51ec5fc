"""Machine judges: annotators of another kind, with a ledger of their own that no stage of people's reads.

Read `judge` first (what a user writes down of a judge, and how it is asked), then `run`, which asks about
pairs, nothing twice. `pictures` says what it is shown, `chat` speaks the protocol and reads one word or a
failure. `table` and `scores` make `machine.csv` and one number of each pair; `check` holds a judge against
people's labels.
"""
