"""One page that shows a clustering: a summary of plain values, then HTML from it."""

from twofold.app.report.check import check_summary
from twofold.app.report.duplicates import near_duplicates
from twofold.app.report.page import render
from twofold.app.report.search import UNSURE
from twofold.app.report.summary import summarize

__all__ = ["UNSURE", "check_summary", "near_duplicates", "render", "summarize"]
