"""Where the parts of a command's work are done: in this process, in others, on a cluster, or as shards.

A part is a pure function over files and a range of queries; an engine only maps it. What it gives is bytes,
which are joined in the order of the parts: every engine and every number of parts gives the same result.
"""
