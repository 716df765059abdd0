"""The paper's protocol: its data sets, runner and result store, and its tables."""

from twofold.reproduce._comparison import Outcome, Pair, Table
from twofold.reproduce._data import DATA, DataSet
from twofold.reproduce._document import document
from twofold.reproduce._jobs import Result
from twofold.reproduce._objects import find_method
from twofold.reproduce._output import write_all
from twofold.reproduce._paper import METRICS, Cell, paper_rows, paper_tables
from twofold.reproduce._protocol import Protocol, data_at_hand
from twofold.reproduce._runner import Progress, Report, run
from twofold.reproduce._store import Store, StoreError
from twofold.reproduce._summary import Summary, summarize
from twofold.reproduce._workers import ClusterError

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
