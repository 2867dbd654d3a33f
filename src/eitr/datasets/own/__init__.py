"""The user's own pages: files of rows (JSONL, CSV, TSV) and folders of HTML, checked once, as they are read."""
