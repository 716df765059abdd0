"""A clustering as one HTML page: typed data first, then the page from the data."""

from twofold.app.report.duplicates import near_duplicates
from twofold.app.report.page import render
from twofold.app.report.summary import LARGEST_REPORT, Report, read_report, summarize

__all__ = [
    "LARGEST_REPORT",
    "Report",
    "near_duplicates",
    "read_report",
    "render",
    "summarize",
]
