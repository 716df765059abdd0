"""One page that shows a clustering: a summary of plain values, then HTML from it."""

from twofold.report._check import check_summary
from twofold.report._duplicates import near_duplicates
from twofold.report._page import render
from twofold.report._search import UNSURE
from twofold.report._summary import summarize

__all__ = ["UNSURE", "check_summary", "near_duplicates", "render", "summarize"]
