"""The commands as functions: tables and plain values in, a result out; one file for each.

Read `command` first: what a command has in Python, and how one that writes into a workspace is marked.
`types` says what parameters are given, by which `cli` knows where to read them. Then read any command, such
as `coverage` (short) or `score` (long). Each calls its stage and puts into a `Found` (`results`) what the
stage found: tables, notes, what they rest on, counts, and what comes next. Nothing here reads or writes a
file.
"""
