"""Files of the toolkit's own tables and of other tools' tables."""
