"""How far annotators agree, of whom, and how certain that is.

Read `resolution/votes.py` first: the one table of votes, which everything here counts. Then `statistic.py` (a
statistic is sums over pairs, and what is made of their totals) and any of its files: `alpha`, `chance`,
`specific`, and `cohen` (a mean over every two annotators); `registry.py` names them. `intervals.py`
gives the value of a statistic and how certain it is; `table.py` does so for all judgments or for groups.
`annotators.py` looks at people, `pages.py` at what pages of several captions do to answers.
"""
