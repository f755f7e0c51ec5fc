"""Judgments to labels and disputes, by named rules, one file each."""
