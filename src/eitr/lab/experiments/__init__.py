"""One experiment per file: what to run, and what the table, the figure and the verdicts are made of."""
