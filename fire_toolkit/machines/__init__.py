"""Machine judges: annotators of another kind, with a ledger of their own that no stage of people's reads."""
