"""The command line: parses, calls, prints. Everything it does can be done from Python with the same few calls."""

from eitr.cli.commands import app, main

__all__ = ["app", "main"]
