"""The threads that the numerics of a command get."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from twofold import TSNMF
from twofold.app import threads
from twofold.app.collection import Collection
from twofold.app.workflow import cluster
from twofold.progress import listening


@pytest.mark.parametrize(("fewest", "expected"), [(31, 1), (30, 2)])
def test_few_samples_have_one_thread(tmp_path, monkeypatch, fewest, expected):
    monkeypatch.setattr(threads, "FEWEST_SAMPLES", fewest)
    images = np.random.default_rng(0).uniform(size=(30, 8, 6))
    collection = Collection("noise", images, [str(i) for i in range(30)], [])
    stages = {}

    def listen(event):
        stages.setdefault(event.stage, set()).update(blas_threads())

    with threadpool_limits(2):
        if blas_threads() != {2}:
            pytest.skip("BLAS has one thread on this machine")
        with listening(listen):
            cluster(collection, TSNMF(3, random_state=0), tmp_path / "out")
        assert blas_threads() == {2}
    # The iterations have a thread for each side, and BLAS has one meanwhile.
    assert max(stages["fitting"]) == expected
    assert stages["writing"] == {expected}


def blas_threads() -> set[int]:
    found = threadpool_info()
    return {pool["num_threads"] for pool in found if pool["user_api"] == "blas"}
