"""Our own page as the carrier of a campaign: a link for each annotator, answers in the campaign's record."""
