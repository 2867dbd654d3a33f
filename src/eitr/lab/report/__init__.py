"""The report of a lab run: one page for people, one file for machines, figures, verdicts and a tidy table."""

from eitr.lab.report.make import make_report

__all__ = ["make_report"]
