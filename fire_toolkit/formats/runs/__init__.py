"""Predictions of any tool as a Run: readers recognised by content, and the ids of matrices."""
