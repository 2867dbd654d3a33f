"""What determines a result: the kinds of runs, and the profiles that say how large they are."""
