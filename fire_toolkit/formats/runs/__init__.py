"""Predictions of any tool as a Run: formats recognised by content, and the ids of matrices."""
