"""The parts of the site."""
