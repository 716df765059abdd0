"""The same jobs on a Dask cluster of several worker processes."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from subprocess import PIPE
from unittest import mock

import pytest
from runner import begin, environment

from twofold.paper import ClusterError, Protocol, Store, run
from twofold.progress import listening

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


def after_the_first_job(do):
    """A listener that does something, once."""
    waiting = [do]

    def listener(event):
        if event.stage == "running" and event.done and waiting:
            waiting.pop()()

    return listening(listener)


def test_a_cluster_without_workers_is_said_and_goes_on_with_new_ones(
    tmp_path, cluster, monkeypatch
):
    address = cluster.scheduler_address
    monkeypatch.setattr("twofold.paper.cluster._LOOK_EVERY", 0.1)
    with (
        Store(tmp_path / "s.sqlite") as store,
        mock.patch("twofold.paper.cluster._PATIENCE", 0.5),
        after_the_first_job(lambda: cluster.scale(0)),
        pytest.raises(ClusterError, match=r"has had no workers for .* minutes; start"),
        pytest.warns(UserWarning, match=f"--scheduler {address} has no workers left"),
    ):
        run(SLOW, store, scheduler=address)
    said = []

    def start_one(message, *_, **__):
        said.append(str(message))
        cluster.scale(1)

    cluster.scale(1)
    cluster.wait_for_workers(1)
    with (
        Store(tmp_path / "s.sqlite") as store,
        warnings.catch_warnings(),
        after_the_first_job(lambda: cluster.scale(0)),
    ):
        warnings.simplefilter("always")
        warnings.showwarning = start_one
        done = run(SLOW, store, scheduler=address)
        assert len(store.keys()) == 15
    assert done.found > 0
    assert "wait for one for 10 minutes; Ctrl-C ends it" in said[0]


SCHEDULER = """
import time
from distributed import LocalCluster
here = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": None}
cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **here)
print(cluster.scheduler_address, flush=True)
time.sleep(1000)
"""


def test_a_scheduler_that_is_killed_is_one_line(tmp_path):
    log = tmp_path / "log"
    variables = environment(TWOFOLD_LOG=str(log), TWOFOLD_NAP="0.3")
    scheduler = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], env=variables, stdout=PIPE, text=True
    )
    try:
        address = scheduler.stdout.readline().strip()
        options = ["--data", "tiny:faces", "--method", "tiny:slow", "--subsets", "9"]
        command = begin("reproduce", *options, "--scheduler", address, folder=tmp_path)
        while not log.exists() and command.poll() is None:
            time.sleep(0.05)
    finally:
        scheduler.kill()
        scheduler.communicate()
    _, said = command.communicate(timeout=60)
    assert command.returncode == 1
    assert said.splitlines() == [
        f"Error: --scheduler {address} has ended or cannot be reached any more; when "
        "there is one, run it again to go on"
    ]


def test_a_scheduler_that_hangs_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.paper.cluster._ANSWER", 0.5)
    monkeypatch.setattr("twofold.paper.cluster._LOOK_EVERY", 0.1)
    variables = environment(TWOFOLD_LOG=str(tmp_path / "log"), TWOFOLD_NAP="0.1")
    scheduler = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], env=variables, stdout=PIPE, text=True
    )
    rescue = threading.Timer(30, scheduler.kill)
    rescue.start()
    try:
        address = scheduler.stdout.readline().strip()
        with (
            Store(tmp_path / "s.sqlite") as store,
            after_the_first_job(lambda: scheduler.send_signal(signal.SIGSTOP)),
            pytest.raises(ClusterError, match="cannot be reached any more; when"),
        ):
            run(SLOW, store, scheduler=address)
        assert scheduler.poll() is None  # it did not need to be killed
    finally:
        rescue.cancel()
        scheduler.kill()
        scheduler.communicate()


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
