"""What a fit that goes on to its end keeps of its start, with and without the overlap.

Every fit is the public estimator's; classes are used for scoring only.
"""

import time
import warnings
from typing import Any

import defaults
import numpy as np
import pages
from joblib import Parallel, delayed

from twofold import TSNMF
from twofold.channels import PIXELS
from twofold.core.grams import both_sides
from twofold.estimators.problem import read_problem
from twofold.metrics import clustering_accuracy

MARKER = "<!-- measured by benchmarks/converged.py -->"

TO_THE_END = {"tol": 1e-4, "max_iter": 100}
FITS: dict[str, dict[str, Any]] = {
    "default fit": {},
    "to the end": TO_THE_END,
    "to the end, `overlap_weight=1`": {"overlap_weight": 1.0, **TO_THE_END},
    "to the end, `overlap_weight=10`": {"overlap_weight": 10.0, **TO_THE_END},
}
CHANNELS = (PIXELS, "gradients")


def score_start(
    samples: np.ndarray, target: np.ndarray, seed: int, channels: str
) -> dict[str, float]:
    """The start that a fit begins with, taken for its result."""
    model = TSNMF(len(set(target)), channels=channels, random_state=seed)
    problem = read_problem(model, samples)
    rows, roots = problem.weighted_samples()
    [start] = problem.starts(rows, both_sides(rows), [problem.weights], roots)
    labels = problem.given.as_given(start.argmax(axis=1))
    return {"accuracy": clustering_accuracy(target, labels)}


def score(
    samples: np.ndarray, target: np.ndarray, seed: int, **changes: Any
) -> dict[str, float]:
    """One seeded fit, at the defaults but for ``changes``."""
    model = TSNMF(len(set(target)), random_state=seed, **changes)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(samples)
    return {
        "accuracy": clustering_accuracy(target, np.asarray(model.labels_)),
        "largest": clustering_accuracy(target, model.coefficients_.argmax(axis=1)),
        "iterations": model.n_iter_,
        "seconds": time.perf_counter() - begin,
    }


def measure(name: str, channels: str, seed: int) -> dict[str, dict[str, float]]:
    """The scores of the start and of all fits on one set."""
    images, target = defaults.load(name)
    fits = {
        each: score(images, target, seed, channels=channels, **o)
        for each, o in FITS.items()
    }
    return {"start": score_start(images, target, seed, channels), **fits}


def report(sets: list[str], seeds: range, jobs: int) -> str:
    work = [(name, c, seed) for c in CHANNELS for name in sets for seed in seeds]
    found = Parallel(n_jobs=jobs, verbose=1)(delayed(measure)(*each) for each in work)
    scores = dict(zip(work, found, strict=True))
    about = f"Accuracy in percent, means over {len(seeds)} seed(s)."
    lines = [about, ""]
    for channels in CHANNELS:

        def rows(key: str, which: list[str], channels: str = channels) -> list[str]:
            return [
                defaults.row(
                    f"{label}{'' if key == 'accuracy' else ', ' + key}",
                    {n: [scores[n, channels, s][label] for s in seeds] for n in sets},
                    key,
                )
                for label in which
            ]

        fits = list(FITS)
        body = rows("accuracy", ["start", *fits])
        body += rows("largest", fits) + rows("iterations", fits) + rows("seconds", fits)
        lines += defaults.table(channels, sets, body)
    return "\n".join(lines)


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(defaults.IMAGES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    text = report(options.sets, range(options.seeds), options.jobs)
    pages.publish(text, MARKER, options.into)
