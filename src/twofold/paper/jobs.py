"""Run one job: fit a method to a subset at several grid points and score the fits."""

import importlib
import json
import os
import platform
import time
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import twofold
from twofold.core.arrays import to_numpy
from twofold.core.devices import on_device
from twofold.metrics import score_all
from twofold.paper.data import load_subset, subset_seed
from twofold.paper.objects import find_method
from twofold.paper.protocol import Job, as_json
from twofold.paper.published import METRICS

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
"""Packages whose versions are recorded with each result."""


@dataclass(frozen=True)
class Result:
    """Scores and circumstances of one fit."""

    key: str  # one of Job.keys
    data: str
    method: str
    grid_point: str  # parameters of the fit, as JSON
    n_clusters: int
    subset: int  # index of the subset
    seed: int  # seed of the protocol
    max_iter: int | None  # None means the default of the method
    n_samples: int
    accuracy: float | None  # percent; the scores are None if the fit failed
    nmi: float | None
    purity: float | None
    seconds: float  # of the job, without loading, divided by its number of fits
    n_iter: int | None  # None if the model does not count iterations
    trace: str | None  # objective of every iteration, as JSON, if the job is traced
    error: str | None  # reason of a failure; None if the fit succeeded
    origin: str  # machine and versions, as JSON
    finished: float  # end of the fit, in seconds since 1970


def run_job(job: Job, device: str | None = None) -> list[Result]:
    """Fit and score every grid point of a job, in one thread.

    If a fit fails, all results of its job carry the error instead of scores.
    """
    method = find_method(job.method)
    subset = job.data, job.n_clusters, job.subset, job.seed
    images, target = load_subset(*subset, missing_as_nan=method.handles_missing)
    begin = time.perf_counter()
    outcomes: list[dict[str, Any]]
    # One thread for each job: the jobs themselves run side by side.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # extreme grid points may not converge
        try:
            fitted = fit_all(job, images, device)
            outcomes = [_scores(job, *fit, target) for fit in fitted]
        except Exception as failure:
            reason = f"{type(failure).__name__}: {failure}"
            outcomes = [{"error": reason[:500]}] * len(job.grid_points)
    seconds = (time.perf_counter() - begin) / len(job.grid_points)
    shared: dict[str, Any] = {
        **dict.fromkeys(("accuracy", "nmi", "purity", "n_iter", "trace", "error")),
        **{name: value for name, value in asdict(job).items() if name in _SHARED},
        "n_samples": len(target),
        "seconds": seconds,
        "origin": origin(device if method.takes_tensors else None),
    }
    fits = zip(job.keys, job.grid_points, outcomes, strict=True)
    return [
        Result(**(shared | outcome), key=key, grid_point=point, finished=time.time())
        for key, point, outcome in fits
    ]


_SHARED = ("data", "method", "n_clusters", "subset", "seed", "max_iter")
"""Fields that a result has in common with its job."""


def fit_all(
    job: Job, images: np.ndarray, device: str | None
) -> list[tuple[Any, np.ndarray]]:
    """Return a fitted model and its labels for each grid point.

    A method with swept parameters fits all grid points in one call.
    """
    method = find_method(job.method)
    grid_points = [json.loads(grid_point) for grid_point in job.grid_points]
    options = {} if job.max_iter is None else {"max_iter": job.max_iter}
    seed = subset_seed(job.seed, job.n_clusters, job.subset)
    X: Any = images
    if device is not None and method.takes_tensors:
        X = on_device(images, device)
        importlib.import_module("torch").set_num_threads(1)

    def build(grid_point: dict[str, Any]) -> Any:
        return method.build(job.n_clusters, random_state=seed, **options, **grid_point)

    if len(grid_points) > 1 and method.swept:
        # The grid points of a job differ only in the swept parameters.
        values = [tuple(point[name] for name in method.swept) for point in grid_points]
        models = build(grid_points[0]).fit_sweep(X, values)
        return [(model, to_numpy(model.labels_)) for model in models]
    models = [build(grid_point) for grid_point in grid_points]
    return [(model, to_numpy(model.fit_predict(X))) for model in models]


def _scores(
    job: Job, model: Any, labels: np.ndarray, target: np.ndarray
) -> dict[str, Any]:
    """Return the scores in percent, the iterations and the trace of a fitted model."""
    trace = as_json(list(model.objective_history_)) if job.traced else None
    steps = getattr(model, "n_iter_", None)
    scores = score_all(target, labels)
    return {
        **{metric: 100 * scores[metric] for metric in METRICS},
        "n_iter": None if steps is None else int(steps),
        "trace": trace,
    }


@cache
def origin(device: str | None) -> str:
    """Return the machine and the versions of the packages, as JSON."""
    versions = {"twofold": twofold.__version__}
    for package in _PACKAGES:
        with suppress(ModuleNotFoundError):  # PyTorch is optional
            versions[package] = version(package)
    return as_json(
        {
            "machine": platform.machine(),
            "system": platform.system(),
            "cores": os.cpu_count(),
            "device": _device_name(device),
            "python": platform.python_version(),
            "versions": versions,
        }
    )


def _device_name(device: str | None) -> str:
    if device is None or not device.startswith("cuda"):
        return device or "cpu"
    import torch  # optional, and slow to import

    return torch.cuda.get_device_name(device)
