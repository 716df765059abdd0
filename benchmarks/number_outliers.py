"""Foreign images mixed into sets, and what finds them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from number_sets import known, run, table
from scipy.ndimage import zoom
from sklearn.cluster import HDBSCAN
from sklearn.neighbors import LocalOutlierFactor

from twofold import TSNMF

CHOSEN_ON = ("orl", "yale", "eyaleb-10", "coil20", "semeion")
"""Sets on which the rule was chosen."""

NOT_USED = ("umist", "usps", "jaffe")

_MOST = 600
"""Most images of a set that are taken."""

SHARES = {"1 in 10": 10, "1 in 50": 50}
"""One foreign image for so many of the set."""

STRANGERS = ("orl", "mnist-2000", "notmnist", "coil20", "spoken_digits", "jaffe")
FACES = ("orl", "yale", "eyaleb-10", "umist", "jaffe")
DIGITS = ("semeion", "usps", "mnist-2000")

Images = Callable[[np.random.RandomState, int, np.ndarray, str, Path], np.ndarray]


def others(
    name: str, random: np.random.RandomState, count: int, side: int, place: Path
) -> np.ndarray:
    """Some images of another set, as large, between 0 and 1."""
    X = known(name, place).X
    X = X[random.permutation(len(X))[:count]].astype(float)
    scale = side / X.shape[1], side / X.shape[2]
    X = np.stack([zoom(image, scale, order=1) for image in X])
    return np.asarray((X - X.min()) / (X.max() - X.min()))


def one_kind(
    random: np.random.RandomState, count: int, X: np.ndarray, name: str, place: Path
) -> np.ndarray:
    """Digits, or faces among digits."""
    stranger = "orl" if name in DIGITS else "mnist-2000"
    return others(stranger, random, count, X.shape[1], place)


def noise(
    random: np.random.RandomState, count: int, X: np.ndarray, name: str, place: Path
) -> np.ndarray:
    return random.uniform(size=(count, *X.shape[1:]))


def blank(
    random: np.random.RandomState, count: int, X: np.ndarray, name: str, place: Path
) -> np.ndarray:
    """Frames of one grey each, with a little noise."""
    grey = random.uniform(0.1, 0.9, (count, 1, 1))
    return np.clip(grey + 0.01 * random.normal(size=(count, *X.shape[1:])), 0, 1)


def mixed(
    random: np.random.RandomState, count: int, X: np.ndarray, name: str, place: Path
) -> np.ndarray:
    """Images of all sets of other subjects, noise, and shuffled images of the set."""
    same = next((kind for kind in (FACES, DIGITS) if name in kind), (name,))
    strangers = [each for each in STRANGERS if each not in same]
    each_count = 1 + count // len(strangers)
    parts = [others(s, random, each_count, X.shape[1], place) for s in strangers]
    few = 1 + count // 8
    some = X[random.permutation(len(X))[:few]].reshape(few, -1)
    order = random.uniform(size=some.shape).argsort(axis=1)
    shuffled = np.take_along_axis(some, order, axis=1).reshape(few, *X.shape[1:])
    every = np.concatenate([*parts, random.uniform(size=(few, *X.shape[1:])), shuffled])
    return every[random.permutation(len(every))[:count]]


KINDS: dict[str, Images] = {
    "one kind": one_kind,
    "mixed": mixed,
    "noise": noise,
    "near-blank": blank,
}


class Found(NamedTuple):
    """Counts of samples that one way flags."""

    hits: int
    flagged: int
    foreign: int
    n: int

    def __str__(self) -> str:
        if not self.foreign:
            return f"{self.flagged / self.n:.1%}"
        precision = self.hits / self.flagged if self.flagged else float("nan")
        recall = self.hits / self.foreign
        said = f"{precision:.2f}".replace("nan", "-")
        return f"{said} / {recall:.2f} / {self.f1:.2f}"

    @property
    def f1(self) -> float:
        return 2 * self.hits / (self.flagged + self.foreign)


def flagged(name: str, kind: str | None, share: int, place: Path) -> dict[str, Found]:
    """What each way flags in a set with foreign images of a kind, or with none."""
    random, given = np.random.RandomState(3), known(name, place)
    X = given.X[:_MOST].astype(float)
    X, n = (X - X.min()) / (X.max() - X.min()), len(X)
    if kind is not None:
        count = max(4, n // share)
        X = np.concatenate([X, KINDS[kind](random, count, X, name, place)])
    order = random.permutation(len(X))
    X, foreign = np.round(255 * X[order]), order >= n
    flat = X.reshape(len(X), -1)
    k = len(np.unique(given.target[:_MOST]))
    model = TSNMF(k, outliers=True, random_state=0).fit(X)
    masks = {
        "`outliers=True`": np.asarray(model.labels_) < 0,
        "LOF": LocalOutlierFactor().fit_predict(flat) < 0,
        "LOF, 0.1": LocalOutlierFactor(contamination=0.1).fit_predict(flat) < 0,
        "HDBSCAN": HDBSCAN(copy=False).fit_predict(flat) < 0,
    }
    return {
        way: Found(
            int(mask[foreign].sum()), int(mask.sum()), int(foreign.sum()), len(X)
        )
        for way, mask in masks.items()
    }


def outliers(place: Path, n_jobs: int) -> str:
    """Tables by set and by kind, and means."""
    sets = (*CHOSEN_ON, *NOT_USED)
    cases = [(kind, label) for label in SHARES for kind in KINDS]
    given: list[tuple[Any, ...]] = [
        (name, kind, SHARES[label], place) for name in sets for kind, label in cases
    ]
    given += [(name, None, 0, place) for name in sets]
    every = run(flagged, given, n_jobs)
    found = iter(every)
    by_case = {(name, *case): next(found) for name in sets for case in cases}
    clean = {name: next(found) for name in sets}
    ways = list(every[0])
    lines = [means(by_case, clean, ways), ""]
    for label in SHARES:
        rows = [
            [
                name,
                *(str(by_case[name, kind, label]["`outliers=True`"]) for kind in KINDS),
            ]
            for name in sets
        ]
        lines += [table([f"{label} foreign", *KINDS], rows), ""]
    rows = [[name, *(str(clean[name][way]) for way in ways)] for name in sets]
    lines.append(table(["none foreign: flagged", *ways], rows))
    return "\n".join(lines)


def means(
    by_case: dict[tuple[str, str, str], dict[str, Found]],
    clean: dict[str, dict[str, Found]],
    ways: list[str],
) -> str:
    """Mean F1 by kind and share, of sets that the rule was chosen on, and of others."""
    rows = []
    for title, sets in (("chosen on", CHOSEN_ON), ("not used", NOT_USED)):
        for label in SHARES:
            for kind in KINDS:
                row = [f"{title}, {label}, {kind}"]
                for way in ways:
                    scores = [by_case[name, kind, label][way].f1 for name in sets]
                    row.append(f"{np.mean(scores):.2f}")
                rows.append(row)
        row = [f"{title}, none: flagged"]
        for way in ways:
            shares = [clean[name][way].flagged / clean[name][way].n for name in sets]
            row.append(f"{np.mean(shares):.1%}")
        rows.append(row)
    return table(["mean F1", *ways], rows)
