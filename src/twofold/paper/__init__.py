"""The paper's protocol: data sets, methods, runner, result store and tables."""

from twofold.paper.comparison import Outcome, Pair, Table
from twofold.paper.data import DATA, DataSet
from twofold.paper.document import markdown_page
from twofold.paper.jobs import Result
from twofold.paper.objects import find_method
from twofold.paper.output import write_all
from twofold.paper.protocol import Protocol, data_at_hand
from twofold.paper.published import METRICS, Cell, paper_rows, paper_tables
from twofold.paper.runner import RunStatus, run
from twofold.paper.store import Store, StoreError
from twofold.paper.summary import Reproduction, summarize
from twofold.paper.workers import ClusterError

__all__ = [
    "DATA",
    "METRICS",
    "Cell",
    "ClusterError",
    "DataSet",
    "Outcome",
    "Pair",
    "Protocol",
    "Reproduction",
    "Result",
    "RunStatus",
    "Store",
    "StoreError",
    "Table",
    "data_at_hand",
    "find_method",
    "markdown_page",
    "paper_rows",
    "paper_tables",
    "run",
    "summarize",
    "write_all",
]
