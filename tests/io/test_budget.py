"""Memory that threads share."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from twofold.io.budget import Budget, StoppedError, as_size


def test_no_more_is_held_than_there_is():
    budget, lock = Budget(100), threading.Lock()
    held, most = 0, []

    def task(amount):
        nonlocal held
        with budget.taken(amount, "its pixels"):
            with lock:
                held += amount
                most.append(held)
            time.sleep(0)
            with lock:
                held -= amount
        return amount

    amounts = np.random.default_rng(0).integers(0, 101, 500).tolist()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(task, amounts)) == amounts
    assert max(most) <= 100
    assert max(most) > 50
    assert held == 0


def test_what_can_never_be_free_is_refused_at_once():
    budget = Budget(100)
    with (
        pytest.raises(ValueError, match="its pixels take about 101 bytes to read, mo"),
        budget.taken(101, "its pixels"),
    ):
        pass


def test_the_first_to_ask_is_served_first():
    """A large image does not wait for ever behind small ones."""
    budget, served = Budget(100), []
    begun = [threading.Event() for _ in range(3)]

    def task(i, amount):
        begun[i].set()
        with budget.taken(amount, ""):
            served.append(i)

    threads = []
    with budget.taken(60, ""):
        for i, amount in enumerate([100, 10, 10]):  # of which the last would fit
            threads.append(threading.Thread(target=task, args=(i, amount)))
            threads[-1].start()
            begun[i].wait()
            while len(budget._waiting) <= i:
                time.sleep(0.001)
        assert served == []
    for thread in threads:
        thread.join(10)
    assert served[0] == 0
    assert sorted(served) == [0, 1, 2]


def test_an_error_gives_back_what_was_held():
    budget = Budget(100)
    for _ in range(3):
        with pytest.raises(OSError, match="broken"), budget.taken(100, ""):
            raise OSError("broken")


def test_closing_sends_away_all_that_wait_or_ask():
    budget, ended = Budget(100), []

    def task():
        try:
            with budget.taken(100, ""):
                pass
        except StoppedError:
            ended.append("stopped")

    thread = threading.Thread(target=task)
    with budget.taken(1, ""):
        thread.start()
        while not budget._waiting:
            time.sleep(0.001)
        budget.close()
        thread.join(10)
    assert ended == ["stopped"]
    task()
    assert ended == ["stopped"] * 2


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (2**30, "1.0 GiB"), (2**41, "2.0 TiB")],
)
def test_bytes_as_size(amount, text):
    assert as_size(amount) == text
