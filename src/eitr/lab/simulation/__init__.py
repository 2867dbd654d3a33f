"""From runs to recorded arrays: two engines for federations on pages, and one module for each other kind of run."""
