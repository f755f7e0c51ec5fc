"""The one order of docs, and runs joined with qrels once, as integer codes.

Read `ranking` first: score descending, then doc id descending, for lists and for matrices. `blocks` are runs
as integers, and `coded` qrels as integers. `joining` looks up the pairs of qrels in runs of every form, read
equally deep under all labels; what it makes is `judged_ranking`: where the docs of the qrels stand in each
ranking.

The others change what is read: `own_items` leaves out a query's own item, `groups` ranks some docs alone,
`ties` settles equal scores by other rules.
"""
