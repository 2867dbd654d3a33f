"""A federation of page classifiers."""
