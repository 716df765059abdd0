"""The paper's protocol: its data sets, runner and result store, and its tables."""

from twofold.paper.comparison import Outcome, Pair, Table
from twofold.paper.data import DATA, DataSet
from twofold.paper.document import document
from twofold.paper.jobs import Result
from twofold.paper.objects import find_method
from twofold.paper.output import write_all
from twofold.paper.protocol import Protocol, data_at_hand
from twofold.paper.published import METRICS, Cell, paper_rows, paper_tables
from twofold.paper.runner import Progress, Report, run
from twofold.paper.store import Store, StoreError
from twofold.paper.summary import Summary, summarize
from twofold.paper.workers import ClusterError

__all__ = [
    "DATA",
    "METRICS",
    "Cell",
    "ClusterError",
    "DataSet",
    "Outcome",
    "Pair",
    "Progress",
    "Protocol",
    "Report",
    "Result",
    "Store",
    "StoreError",
    "Summary",
    "Table",
    "data_at_hand",
    "document",
    "find_method",
    "paper_rows",
    "paper_tables",
    "run",
    "summarize",
    "write_all",
]
