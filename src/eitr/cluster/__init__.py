"""Other machines to compute on: what `--engine` and `EITR_ENGINE` name, and the connection to a Ray cluster."""
