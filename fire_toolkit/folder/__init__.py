"""A folder of files as the carrier of a campaign: a file out for each annotator, exports and sheets in."""
