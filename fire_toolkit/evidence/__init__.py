"""Evidence: all that is known of each pair, in one table."""
