"""The one order of docs, and runs joined with qrels once, as integer codes.

Read `ranking` first: score descending, then doc id descending, for lists and for matrices. `blocks` are runs
as integers, `stored_runs` runs in every form that they come in, read equally deep under all labels, and
`coded` qrels as integers. The join is `judged_ranking`: where the docs of the qrels stand in each ranking;
`pair_ranks` looks up any pairs.

The others change what is read: `own_items` leaves out a query's own item, `groups` ranks some docs alone,
`ties` settles equal scores by other rules.
"""
