"""Judgments to labels and disputes, and what to ask next.

Read `votes.py` first: the one table of votes, which rules and statistics of agreement count. Then
`rules.py` and `dawid_skene.py` (from votes to verdicts), `registry.py`, which names them, and `resolve.py`,
which makes labels and disputes of verdicts and says how often these are right.
`other_labels.py` looks at labels otherwise. `design.py` holds policies of second votes, `plan.py` what a
round asks, `judgments.py` which answers become votes.
"""
