"""The one order of docs, and runs joined with qrels once, as integer codes."""
