"""The automatic choice beside others, one data set with one seed at a time."""

import time
from typing import Any

import numpy as np
from automatic_parts import scored, spectral_labels, subspace_graph
from automatic_tables import Found, Scores
from defaults import load
from sklearn.cluster import KMeans, SpectralClustering

from twofold import TSNMF, AutoTSNMF
from twofold.channels import PIXELS
from twofold.estimators.search.candidates import CandidateProber, Preview
from twofold.estimators.search.views import Candidate


class Recorded(AutoTSNMF):
    """An AutoTSNMF that keeps its previews."""

    def _preview_all(
        self, prober: CandidateProber, candidates: list[Candidate]
    ) -> list[Preview]:
        self.seen = super()._preview_all(prober, candidates)
        self.prober = prober
        return self.seen


def judged(name: str, seed: int) -> Found:
    """The choice, the best of its candidates by labels, the defaults and others."""
    images, target = load(name)
    k = len(np.unique(target))
    search = Recorded(k, random_state=seed)
    found = {
        "TSNMF": timed(TSNMF(k, random_state=seed), images, target),
        "pixels": timed(TSNMF(k, channels=PIXELS, random_state=seed), images, target),
        "AutoTSNMF": timed(search, images, target),
    }
    previews = [
        scored(target, search.prober.labels_as_given(preview.labels))
        for preview in search.seen
    ]
    # The fit of the choice is a candidate as well.
    previews.append(found["AutoTSNMF"])
    found["oracle"] = {
        key: max(each[key] for each in previews) for key in ("accuracy", "NMI")
    }
    return found | others(images, target, k, seed)


def others(images: np.ndarray, target: np.ndarray, k: int, seed: int) -> Found:
    """What a user would take instead, on flattened pixels."""
    flat = images.reshape(len(images), -1).astype(float)
    spectral = SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
    )
    by = {
        "K-means": KMeans(k, n_init=10, random_state=seed).fit_predict(flat),
        "spectral clustering": spectral.fit_predict(flat),
        "subspace clustering": spectral_labels(subspace_graph(flat), k, seed),
    }
    return {row: scored(target, labels) for row, labels in by.items()}


def timed(model: Any, images: np.ndarray, target: np.ndarray) -> Scores:
    begin = time.perf_counter()
    labels = model.fit_predict(images)
    return {"seconds": time.perf_counter() - begin, **scored(target, labels)}
