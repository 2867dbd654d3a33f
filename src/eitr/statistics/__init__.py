"""Statistics of studies and reports: how far raters agree, and how well a classifier does."""
