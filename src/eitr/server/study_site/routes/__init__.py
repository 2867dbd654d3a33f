"""The parts of the study site."""
