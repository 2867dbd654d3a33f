"""The mathematics of attack detection: pure functions on arrays that know no files, no network, no framework."""
