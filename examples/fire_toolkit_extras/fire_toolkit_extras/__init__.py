"""One of each thing that can be added to fire-toolkit from outside."""
