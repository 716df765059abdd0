"""The paper's protocol: its data sets, runner and result store, and its tables."""

from twofold.reproduce._data import DATA, DataSet
from twofold.reproduce._jobs import Result
from twofold.reproduce._paper import METRICS, Cell, paper_tables
from twofold.reproduce._protocol import Protocol
from twofold.reproduce._runner import Progress, run
from twofold.reproduce._store import Store, StoreError
from twofold.reproduce._workers import ClusterError

__all__ = [
    "DATA",
    "METRICS",
    "Cell",
    "ClusterError",
    "DataSet",
    "Progress",
    "Protocol",
    "Result",
    "Store",
    "StoreError",
    "paper_tables",
    "run",
]
