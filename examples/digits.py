"""Cluster scikit-learn's 1,797 handwritten digits and draw the learned centroids.

python examples/digits.py [PNG]
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from twofold import TSNMF
from twofold.metrics import score_all


def main(picture: Path) -> None:
    """Fit both methods, print their scores and draw TSNMF's centroids."""
    digits = load_digits()
    images, target = digits.images, digits.target
    print(f"{len(images)} images of {images.shape[1]}x{images.shape[2]} pixels\n")
    print(f"{'':8} accuracy    NMI  purity  seconds")
    model = TSNMF(10, random_state=0)
    report("TSNMF", model, images, target)
    kmeans = KMeans(10, n_init=10, random_state=0)
    report("K-means", kmeans, images.reshape(len(images), -1), target)
    draw(model, target, picture)
    print(f"\ncentroids: {picture}")


def report(name: str, model: TSNMF | KMeans, X: np.ndarray, target: np.ndarray) -> None:
    """Fit, and print one line of the table."""
    begin = time.perf_counter()
    labels = model.fit_predict(X)
    seconds = time.perf_counter() - begin
    scores = {key: 100 * score for key, score in score_all(target, labels).items()}
    print(
        f"{name:8} {scores['accuracy']:8.1f} {scores['nmi']:6.1f} "
        f"{scores['purity']:7.1f} {seconds:8.1f}"
    )


def draw(model: TSNMF, target: np.ndarray, picture: Path) -> None:
    """The centroid of each cluster, ordered and titled by its most frequent digit."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    weights = model.coefficients_
    label_of = [model.labels_[weights[:, j].argmax()] for j in range(10)]
    digit_of = [np.bincount(target[model.labels_ == c]).argmax() for c in label_of]
    limit = np.abs(model.components_).max()
    figure, axes = plt.subplots(1, 10, figsize=(10, 1.25), layout="constrained")
    for axis, j in zip(axes, np.argsort(digit_of, kind="stable"), strict=True):
        axis.imshow(model.components_[j], cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set_title(f"mostly {digit_of[j]}", fontsize=8)
        axis.set_axis_off()
    figure.savefig(picture, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "digits-centroids.png"))
