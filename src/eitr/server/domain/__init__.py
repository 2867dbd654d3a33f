"""What the server does, without HTTP: participants, rounds, updates, models, operators and the worker."""
