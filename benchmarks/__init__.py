"""Measurements of speed, memory and robustness. Not part of the package; run from the root of the repository."""
