"""A folder of files as the carrier of a campaign: a file out for each annotator, exports and sheets in.

The simplest carrier. Read `carrier` (what goes out and comes in, and whose answers a file contains), then
`sheets` (a queue as a CSV to fill in).
"""
