"""The toolkit's own tables as files, and tables of other tools."""
