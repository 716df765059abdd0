"""Whether typicality or the reconstruction error finds odd images among others."""

import numpy as np
import pages
from sklearn.metrics import roc_auc_score

from twofold import TSNMF, datasets
from twofold.app.results import assign_trained, typicality

MARKER = "<!-- measured by benchmarks/outliers.py -->"
MOST = 2500


def planted(images: np.ndarray, rng: np.random.RandomState) -> dict[str, np.ndarray]:
    """Odd images of five kinds, one for every hundred of ``images`` in [0, 1]."""
    count = max(6, len(images) // 100)
    shape = (count, *images.shape[1:])

    def some() -> np.ndarray:
        return images[rng.choice(len(images), count, replace=False)].copy()

    shuffled = some().reshape(count, -1)[:, rng.permutation(images[0].size)]
    hidden = some()
    half = shape[1] // 2, shape[2] // 2
    hidden[:, : half[0], : half[1]] = rng.uniform(size=(count, 1, 1))
    return {
        "noise": rng.uniform(size=shape),
        "inverted": 1 - some(),
        "turned": np.rot90(some(), axes=(1, 2)),
        "shuffled": shuffled.reshape(shape),
        "a corner hidden": hidden,
    }


def areas(name: str) -> dict[str, tuple[float, float]]:
    """Areas under the curve by typicality and by error, for each kind."""
    rng = np.random.RandomState(0)
    data = datasets.load(name, download=False)
    few = rng.permutation(len(data.images))[:MOST]
    images = data.images[few] / data.images.max()
    found = {}
    for kind, odd in planted(images, rng).items():
        mixed = np.concatenate([images, odd])
        is_odd = np.arange(len(mixed)) >= len(images)
        model = TSNMF(len(np.unique(data.target)), random_state=0).fit(mixed)
        assigned = assign_trained(model, mixed)
        typical = typicality(mixed, assigned.clusters)
        found[kind] = (
            roc_auc_score(is_odd, -typical),
            roc_auc_score(is_odd, assigned.reconstruction_error),
        )
    return found


def report() -> str:
    kinds = list(planted(np.zeros((10, 4, 4)), np.random.RandomState(0)))
    lines = ["| | " + " | ".join(kinds) + " |", "| --- " * (len(kinds) + 1) + "|"]
    for name in datasets.NAMES:
        try:
            found = areas(name)
        except FileNotFoundError:
            continue
        cells = [f"{own:.2f}, {error:.2f}" for own, error in found.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
