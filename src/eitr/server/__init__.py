"""The server: hands out models, collects updates, runs rounds. It knows no mathematics: rules and models come from the
same modules as everywhere."""
