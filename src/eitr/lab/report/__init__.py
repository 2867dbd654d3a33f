"""The report of a lab run: an HTML page, a JSON file, figures, verdicts and one long table of all numbers."""

from eitr.lab.report.make import make_report

__all__ = ["make_report"]
