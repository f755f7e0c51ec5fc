"""Plans before judging: power, cost, and what designs are expected to get wrong, by simulation.

Read `lists` (the pairs, and the pilot that is judged first), `relevance` (which of them may be positives),
`designs` (what can be asked), `outcomes` (what they cost, and what errors of votes make of scores) and
`plan`, which joins them and says what queries tell; `words` says it all in three sentences.
"""
