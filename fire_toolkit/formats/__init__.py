"""Outside formats, read into tables and written from them; errors name the path and the place."""
