"""Running, stopping and going on: nothing is lost, nothing runs twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from joblib.externals.loky import get_reusable_executor
from runner import hear_interrupts, inside

from twofold.paper import ClusterError, Protocol, Store, run
from twofold.paper.claims import Claims
from twofold.paper.estimate import rough_seconds
from twofold.paper.protocol import all_jobs
from twofold.paper.runner import part_of
from twofold.progress import listening

SLOW = Protocol(data=("tiny:faces",), methods=("tiny:slow",), subsets=4)
FITS = 3 * (4 + 4 + 1)
"""Three grid points on four subsets of two and of three classes, and on all four."""

WORKERS = 2


def arguments(store, jobs=WORKERS):
    return [
        *("reproduce", "--data", "tiny:faces", "--method", "tiny:slow"),
        *("--subsets", "4", "--jobs", str(jobs), "--store", str(store)),
        *("--out", str(store.parent / "out")),
    ]


@pytest.fixture
def logged(tmp_path, monkeypatch):
    """Makes each fit write a line, here and in processes to come; reads the lines."""
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("TWOFOLD_LOG", str(log))
    return lambda: Counter(log.read_text().splitlines())


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """joblib's, which outlive a run; what they fit is logged in this file."""
    log = tmp_path_factory.mktemp("workers") / "log"
    # Their environment is that which they are born in.
    get_reusable_executor().shutdown(wait=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWOFOLD_LOG", str(log))
        yield log
    get_reusable_executor().shutdown(wait=True)


def start(store, jobs=WORKERS):
    return subprocess.Popen(
        [sys.executable, "-m", "twofold", *arguments(store, jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )


def finish(store):
    """Give the same command here, without a worker."""
    return inside(*arguments(store, jobs=1), folder=store.parent)


def wait_for_results(store, count):
    for _ in range(600):
        if store.exists():
            with Store(store) as opened:
                if len(opened.keys()) >= count:
                    return
        time.sleep(0.05)
    raise AssertionError(f"no {count} results after half a minute")


def wait_for_workers(logged):
    """Until each has fitted something."""
    for _ in range(600):
        if len({line.split()[0] for line in logged()}) == WORKERS:
            return
        time.sleep(0.05)
    raise AssertionError("not all workers were there after half a minute")


def kill_all(process):
    """The process and its workers, at once and without a word."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def scores(path):
    with Store(path) as store:
        return {r.key: (r.accuracy, r.nmi, r.purity) for r in store.results()}


def test_all_is_run_once_and_a_second_run_does_nothing(tmp_path, workers):
    workers.write_text("")
    with Store(tmp_path / "s.sqlite") as store:
        first = run(SLOW, store, n_jobs=WORKERS)
        assert (first.fits, first.found, first.fits_done) == (FITS, 0, FITS)
        assert len(store.keys()) == FITS
        again = run(SLOW, store, n_jobs=WORKERS)
        assert (again.found, again.jobs, again.fits_done) == (FITS, 0, 0)
    assert len(workers.read_text().splitlines()) == FITS


@pytest.mark.usefixtures("workers")
def test_one_process_and_many_give_the_same(tmp_path):
    protocol = Protocol(data=("tiny:faces",), subsets=2, quick=True, max_iter=30)
    for name, n_jobs in (("one", 1), ("many", 2)):
        with Store(tmp_path / name) as store:
            run(protocol, store, n_jobs=n_jobs)
    assert scores(tmp_path / "one") == scores(tmp_path / "many")
    assert len(scores(tmp_path / "one")) > 50


def test_kill_9_loses_at_most_the_jobs_in_flight(tmp_path, logged, monkeypatch):
    path = tmp_path / "s.sqlite"
    monkeypatch.setenv("TWOFOLD_NAP", "0.3")  # it cannot end before the kill
    process = start(path)
    wait_for_results(path, 6)
    kill_all(process)
    monkeypatch.setenv("TWOFOLD_NAP", "0")
    before = logged()
    with Store(path) as store:
        kept = len(store.keys())
        done = run(SLOW, store, n_jobs=1)
        assert len(store.keys()) == FITS
    assert 6 <= kept < FITS
    assert (done.found, done.fits_done) == (kept, FITS - kept)
    # What had been fitted and not stored was in flight, one job per worker and those
    # that had come back and were about to be written.
    assert before.total() - kept <= 2 * WORKERS
    assert logged().total() - FITS == before.total() - kept


@pytest.mark.parametrize("how", ["Ctrl-C", "a batch system"])
def test_a_stop_is_one_line_and_the_same_command_goes_on(
    tmp_path, logged, monkeypatch, how
):
    path = tmp_path / "s.sqlite"
    monkeypatch.setenv("TWOFOLD_NAP", "0.5")
    process = start(path)
    wait_for_results(path, 4)
    wait_for_workers(logged)
    if how == "Ctrl-C":  # reaches the workers too
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("Stopped: the results are in")
    assert "Traceback" not in said
    monkeypatch.setenv("TWOFOLD_NAP", "0")
    kept = len(scores(path))
    assert 4 <= kept < FITS
    finished = finish(path)
    assert finished.returncode == 0, finished.stderr
    assert f"has {kept}" in finished.stdout
    assert len(scores(path)) == FITS
    assert logged().total() <= FITS + 2 * WORKERS


SLOW_TO_START = """
import pathlib, sys, time
if any("loky" in word and "popen" in word for word in sys.orig_argv):
    pathlib.Path({started!r}).touch()
    time.sleep(3)
"""


def test_ctrl_c_while_workers_start_is_one_line_too(tmp_path, monkeypatch):
    started = tmp_path / "started"
    code = SLOW_TO_START.format(started=str(started))
    (tmp_path / "sitecustomize.py").write_text(code)  # Python imports it by itself
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    monkeypatch.setenv("PYTHONPATH", path)
    process = start(tmp_path / "s.sqlite")
    while not started.exists() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("Stopped: the results are in")
    assert len(said.splitlines()) == 1


def test_workers_end_with_a_killed_parent(tmp_path, logged, monkeypatch):
    monkeypatch.setenv("TWOFOLD_NAP", "0.3")
    process = start(tmp_path / "s.sqlite")
    wait_for_workers(logged)
    process.kill()
    # The pipes end when the last process that has them ends.
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def test_two_processes_share_a_store_and_the_work(tmp_path, logged, monkeypatch):
    path = tmp_path / "s.sqlite"
    monkeypatch.setenv("TWOFOLD_NAP", "0.05")
    other = start(path, jobs=1)
    wait_for_results_of_claims(path)
    with Store(path) as store:
        here = run(SLOW, store, n_jobs=1)
    _, said = other.communicate(timeout=120)
    assert other.returncode == 0, said
    assert here.fits_done < FITS
    assert len(scores(path)) == FITS
    assert logged().total() == FITS


def test_a_job_of_a_killed_process_is_taken_over(tmp_path, logged, monkeypatch):
    path = tmp_path / "s.sqlite"
    monkeypatch.setenv("TWOFOLD_NAP", "1000")
    stuck = start(path, jobs=1)
    wait_for_results_of_claims(path)
    monkeypatch.setenv("TWOFOLD_NAP", "0")

    def kill_in_the_end():
        """When nothing is left but what the stuck process has claimed."""
        try:
            wait_for_results(path, FITS - len(all_jobs(SLOW)[0].grid_points))
        finally:
            kill_all(stuck)

    killer = threading.Thread(target=kill_in_the_end)
    killer.start()
    with Store(path) as store:
        run(SLOW, store, n_jobs=1)
    killer.join()
    assert len(scores(path)) == FITS


def wait_for_results_of_claims(path):
    """Until another process has claimed the first job."""
    first = all_jobs(SLOW)[0]
    path.parent.mkdir(exist_ok=True)
    for _ in range(600):
        claims = Claims(path)
        free = claims.take(first)
        claims.close()
        if not free:
            return
        time.sleep(0.05)
    raise AssertionError("nothing was claimed in half a minute")


def test_shards_are_disjoint_and_merge_into_the_whole(tmp_path):
    for part in (1, 2, 3):
        with Store(tmp_path / f"{part}.sqlite") as store:
            run(SLOW, store, n_jobs=1, shard=(part, 3))
    parts = [set(scores(tmp_path / f"{part}.sqlite")) for part in (1, 2, 3)]
    assert sum(map(len, parts)) == FITS
    names = (f"{name}.sqlite" for name in ("all", 1, 2, 3))
    merged = inside("reproduce", "merge", *names, folder=tmp_path)
    assert merged.returncode == 0, merged.stderr
    assert set(scores(tmp_path / "all.sqlite")) == set.union(*parts)
    with Store(tmp_path / "all.sqlite") as store:
        assert run(SLOW, store, n_jobs=1).jobs == 0


def test_parts_take_about_as_long_as_one_another():
    jobs = all_jobs(Protocol(data=("digits",)))
    for parts in (4, 8, 10):
        costs = [
            sum(
                len(j.grid_points) * rough_seconds(j)
                for j in part_of(jobs, i + 1, parts)
            )
            for i in range(parts)
        ]
        assert max(costs) < 1.1 * min(costs)
    split = [job for i in (1, 2, 3) for job in part_of(jobs, i, 3)]
    assert len(split) == len(jobs)
    assert set(split) == set(jobs)


def test_results_of_other_data_are_refused(tmp_path, monkeypatch):
    with Store(tmp_path / "s.sqlite") as store:
        monkeypatch.setattr(
            "twofold.paper.runner.run_here",
            lambda jobs, *_: ((job, []) for job in jobs),
        )
        with pytest.raises(
            ClusterError, match="a worker has other data for tiny:faces"
        ):
            run(SLOW, store)
        assert store.keys() == set()


@pytest.mark.torch
def test_a_device_that_is_none_is_refused_before_anything_runs(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        reason = "device='nonsense' (cannot be used|needs PyTorch)"
        with pytest.raises(ValueError, match=reason):
            run(SLOW, store, device="nonsense")
        assert store.keys() == set()


def test_failed_fits_are_kept_and_run_again_only_when_asked(tmp_path):
    protocol = replace(SLOW, methods=("tiny:broken",), clusters=(2,))
    with Store(tmp_path / "s.sqlite") as store:
        assert run(protocol, store, n_jobs=1).failed == 4
        assert run(protocol, store, n_jobs=1).jobs == 0
        assert run(protocol, store, n_jobs=1, retry=True).failed == 4


def test_a_full_store_stops_the_run_with_a_line(tmp_path):
    path = tmp_path / "s.sqlite"
    limit = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (20_000, 20_000)); "
    code = f"{limit}from twofold.app.cli import main; main()"
    stopped = subprocess.run(
        [sys.executable, "-c", code, *arguments(path)], capture_output=True, text=True
    )
    assert stopped.returncode == 1
    assert "Traceback" not in stopped.stderr
    assert "the store" in stopped.stderr
    finished = finish(path)
    assert finished.returncode == 0, finished.stderr
    assert len(scores(path)) == FITS


def test_time_left_comes_down_to_nothing(tmp_path):
    states = []
    protocol = replace(SLOW, subsets=2)

    def listener(event):
        if event.stage == "running":
            states.append((event.done, event.facts["status"].remaining))

    with Store(tmp_path / "s.sqlite") as store, listening(listener):
        run(protocol, store, n_jobs=1)
    jobs = len(all_jobs(protocol))
    assert [done for done, _ in states] == list(range(jobs + 1))
    assert states[0][1] > 0
    assert states[-1][1] == pytest.approx(0, abs=1e-9)
