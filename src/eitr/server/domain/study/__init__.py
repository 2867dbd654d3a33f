"""Studies: people label given pages in their browsers, and experts rate the same pages."""
