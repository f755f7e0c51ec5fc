"""A publication of corrected labels: its tables and documents, and checks of anybody's.

Pure: tables and answers in, tables, texts and findings out. Files are read in `formats.releases` and
written by `cli.release`.
"""
