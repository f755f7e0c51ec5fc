"""Correct the labels of a retrieval benchmark: pool, judge, resolve, rescore, compare."""

__version__ = "0.1.0"
