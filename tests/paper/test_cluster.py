"""The same jobs on a Dask cluster of several worker processes."""

import os
import signal
import threading
import time

import pytest

from twofold.paper import ClusterError, Protocol, Store, run

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

SLOW = Protocol(data=("tiny:faces",), methods=("tiny:slow",), subsets=2)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def scores(store):
    return {r.key: (r.accuracy, r.nmi, r.purity) for r in store.results()}


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    monkeypatch.setenv("TWOFOLD_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("TWOFOLD_NAP", "0.1")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as started:
        yield started


def test_a_worker_is_killed_and_nothing_is_missing(tmp_path, cluster, monkeypatch):
    killed, log = [], tmp_path / "log"

    def kill_one():
        """When the first fit is done."""
        while not log.exists() and running.is_set():
            time.sleep(0.02)
        with distributed.Client(cluster) as client:
            pids = client.run(os.getpid)
        killed.append(next(iter(pids.values())))
        os.kill(killed[0], signal.SIGKILL)

    killer, running = threading.Thread(target=kill_one), threading.Event()
    running.set()
    with Store(tmp_path / "cluster.sqlite") as store:
        killer.start()
        try:
            done = run(SLOW, store, scheduler=cluster.scheduler_address)
        finally:
            running.clear()
            killer.join()
        found = scores(store)
    monkeypatch.delenv("TWOFOLD_NAP")
    with Store(tmp_path / "here.sqlite") as store:
        run(SLOW, store, n_jobs=1)
        expected = scores(store)
    assert killed
    assert (done.fits_done, done.failed) == (15, 0)
    assert found == expected


def test_a_scheduler_that_is_not_there_is_said(tmp_path, monkeypatch):
    client = distributed.Client
    monkeypatch.setattr(  # it would try for so long
        distributed, "Client", lambda address, timeout: client(address, timeout=0.5)
    )
    with (
        Store(tmp_path / "s.sqlite") as store,
        pytest.raises(ClusterError, match=r"127\.0\.0\.1:9 cannot be reached"),
    ):
        run(SLOW, store, scheduler="tcp://127.0.0.1:9")
