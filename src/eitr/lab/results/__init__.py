"""The folder of a lab run: one file per run, what the folder says about itself, and one long table of all numbers."""
