"""What a paper, a reviewer and a reader are shown: tables, methods, plots, and the page with all of it."""
