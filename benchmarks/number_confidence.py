"""How probable it is that a sample is where it belongs: the weights, and their worth.

The weights of logistic regressions are fitted to known classes. Every base set counts
the same, whatever the number of its samples and forms. A set is judged by weights that
were fitted to all other base sets.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from number_sets import DEVELOPED, MENDED, PHOTOS, known, run, table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from twofold import TSNMF
from twofold.core.structure import kept_share
from twofold.estimators import assessment
from twofold.estimators.fitted import LEAST_STRUCTURE

VECTORS = (
    *("flat yale", "flat orl", "flat jaffe", "flat semeion", "flat digits"),
    *("iris", "wine", "breast_cancer", "blobs"),
)
FORMS = tuple(f"{name} {form}" for name in PHOTOS for form in ("colours", "grey"))

SETS = (*DEVELOPED, *MENDED, *VECTORS, *PHOTOS, *FORMS)
"""What is fitted with the number of its classes."""

_NEW = 4
"""One sample in so many is new to a second fit."""

_N_BINS, _REGULARISATION = 10, 10.0


def base(name: str) -> str:
    """The set that a form of it belongs to."""
    return name.removeprefix("flat ").split(" ")[0].split("-")[0]


@dataclass
class Places:
    """Samples by what their confidence is made of, and whether they are right."""

    features: np.ndarray  # (n, 3), place, logarithms of agreement and of n / k
    right: np.ndarray  # (n,), whether they are of the majority class of their cluster


@dataclass
class Fit:
    """One set, fitted."""

    structure: float
    trained: Places  # of the samples of the fit
    placed: Places  # of the same by their edges alone
    new: Places  # of samples that another fit has not seen


def fit(name: str, place: Path) -> Fit:
    X, target, channels = given = known(name, place)
    model = TSNMF(given.k, channels=channels, random_state=0).fit(X)
    state, found = model.state_, assessment.structure_of(model.state_, given.k, 0)
    kept = assessment._log_odds(kept_share(state.labels, found.half_labels))
    near = assessment._place(assessment._edge_shares(state))
    _, right = majority(target, model.labels_)
    own = found.agreement, state.labels
    return Fit(
        found.strength,
        Places(features(((near + kept) / 2)[state.row_of], *own), right),
        Places(features(near[state.row_of], *own), right),
        new_samples(given.X, target, given.k, channels),
    )


def new_samples(X: np.ndarray, target: np.ndarray, k: int, channels: str) -> Places:
    """The places of samples in a fit to the others."""
    new = np.arange(len(X)) % _NEW == 0
    model = TSNMF(k, channels=channels, random_state=0).fit(X[~new])
    state = model.state_
    classes, _ = majority(target[~new], model.labels_)
    prediction = state.predict(*model._read_completed(X[new], None))
    clusters = np.asarray(state.labels_of(prediction))
    shares = assessment.shares_of_two(np.asarray(state.votes_of(prediction)), clusters)
    agreement = assessment.structure_of(state, k, 0).agreement
    own = features(assessment._place(shares), agreement, state.labels)
    return Places(own, classes[clusters] == target[new])


def majority(target: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent class of each cluster, and which samples are of it."""
    counts = np.zeros((labels.max() + 1, target.max() + 1), dtype=int)
    np.add.at(counts, (labels, target), 1)
    classes = counts.argmax(axis=1)
    return classes, classes[labels] == target


def features(place: np.ndarray, agreement: float, labels: np.ndarray) -> np.ndarray:
    """What ``assessment._probability`` weighs, (n, 3)."""
    size = len(labels) / (1 + labels.max())
    known_logs = (
        np.log(max(agreement, assessment._LEAST_AGREEMENT)),
        np.log(min(size, assessment._MOST)),
    )
    return np.column_stack([place, *(np.full(len(place), log) for log in known_logs)])


def fitted(names: list[str], of: dict[str, Places]) -> LogisticRegression:
    """The regression on some sets, of which every base set counts the same."""
    bases = [base(name) for name in names]
    weights = [
        np.full(len(of[name].right), 1 / len(of[name].right) / bases.count(base(name)))
        for name in names
    ]
    weight = np.concatenate(weights)
    return LogisticRegression(C=_REGULARISATION, max_iter=3000).fit(
        np.concatenate([of[name].features for name in names]),
        np.concatenate([of[name].right for name in names]),
        sample_weight=weight / weight.mean(),
    )


def judged(
    fitted_to: dict[str, Places], asked: dict[str, Places]
) -> dict[str, np.ndarray]:
    """Probabilities of each set by weights that were fitted to other base sets."""
    found = {}
    for left_out in {base(name) for name in asked}:
        rest = [name for name in fitted_to if base(name) != left_out]
        model = fitted(rest, fitted_to)
        for name in asked:
            if base(name) == left_out:
                found[name] = model.predict_proba(asked[name].features)[:, 1]
    return found


def bins(said: np.ndarray) -> np.ndarray:
    return np.minimum((said * _N_BINS).astype(int), _N_BINS - 1)


def calibration_error(said: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error: mean distance of said and right, over bins."""
    bin_of = bins(said)
    size = np.bincount(bin_of, minlength=_N_BINS)
    off = np.bincount(bin_of, said - right, minlength=_N_BINS)
    return float(np.abs(off).sum() / size.sum())


def area(said: np.ndarray, right: np.ndarray) -> float:
    """The area under the curve of telling right from wrong; NaN without both."""
    if right.all() or not right.any():
        return float("nan")
    return float(roc_auc_score(right, said))


def confidence(place: Path, n_jobs: int) -> str:
    """Weights, calibration by set, and what was said against what was right."""
    given = [(name, place) for name in SETS]
    fits = dict(zip(SETS, run(fit, given, n_jobs), strict=True))
    kinds = ("trained", "placed", "new")
    by_kind = {
        kind: {name: getattr(each, kind) for name, each in fits.items()}
        for kind in kinds
    }
    trained, placed, new = by_kind.values()
    said = {
        "samples of the fit": (trained, judged(trained, trained)),
        "new samples": (new, judged(new, new)),
        "new samples, by weights of edges of the fit": (new, judged(placed, new)),
    }
    weights = [
        ["samples of the fit (`_TRAINED`)", *coefficients(trained)],
        ["new samples (`_PLACED`)", *coefficients(new)],
        ["samples of the fit by their edges alone", *coefficients(placed)],
    ]
    heads = ["weights of", "place", "log agreement", "log n / k", "constant"]
    first, second, _ = said.values()
    lines = [table(heads, weights), "", summary(fits, said), ""]
    lines += [by_set(fits, first, second), "", reliability(first, second)]
    return "\n".join(lines)


def coefficients(places: dict[str, Places]) -> list[str]:
    model = fitted(list(places), places)
    return [f"{each:.3f}" for each in (*model.coef_[0], model.intercept_[0])]


Said = tuple[dict[str, Places], dict[str, np.ndarray]]
"""Samples of each set, and what was said of them."""


def errors(found: Said) -> dict[str, float]:
    places, said = found
    return {
        name: calibration_error(said[name], each.right) for name, each in places.items()
    }


def summary(fits: dict[str, Fit], said: dict[str, Said]) -> str:
    """Calibration errors and areas of all sets, and of those without a warning."""
    clear = [name for name, each in fits.items() if each.structure >= LEAST_STRUCTURE]
    rows = []
    for title, found in said.items():
        by_name = errors(found)
        worst, worst_clear = (
            max(names, key=lambda name: by_name[name]) for names in (by_name, clear)
        )
        places, told = found
        areas = [area(told[name], each.right) for name, each in places.items()]
        high = sum(each > 0.2 for each in by_name.values())
        rows.append(
            [
                *(title, f"{np.mean(list(by_name.values())):.3f}"),
                *(f"{by_name[each]:.2f} ({each})" for each in (worst, worst_clear)),
                f"{high} of {len(by_name)}",
                f"{np.nanmean(areas):.2f}",
            ]
        )
    heads = ["calibration error", "mean", "worst", "worst without a warning"]
    return table([*heads, "above 0.2", "area under the curve"], rows)


def by_set(fits: dict[str, Fit], first: Said, second: Said) -> str:
    rows = []
    both = errors(first), errors(second)
    for name, each in fits.items():
        told, told_new = first[1][name], second[1][name]
        right = each.trained.right
        rows.append(
            [
                *(name, str(len(right)), f"{each.structure:.2f}"),
                *(f"{told.mean():.0%}", f"{right.mean():.0%}", f"{both[0][name]:.2f}"),
                f"{area(told, right):.2f}".replace("nan", "-"),
                *(f"{told_new.mean():.0%}", f"{each.new.right.mean():.0%}"),
                f"{both[1][name]:.2f}",
            ]
        )
    heads = ["", "n", "structure", "said", "right", "error", "area"]
    return table([*heads, "new: said", "right", "error"], rows)


def reliability(*found: Said) -> str:
    """What was said and what was right over all sets, which count the same."""
    columns = []
    for places, told in found:
        said = np.concatenate([told[name] for name in places])
        right = np.concatenate([each.right for each in places.values()])
        sizes = [len(each.right) for each in places.values()]
        weight = np.repeat(1 / np.array(sizes), sizes)
        total = np.bincount(bins(said), weight, _N_BINS)
        for each in (said, right):
            mean = np.bincount(bins(said), weight * each, _N_BINS) / total
            columns.append([f"{100 * value:.0f}%" for value in mean])
        columns.append([f"{100 * value:.0f}%" for value in total / total.sum()])
    rows = [
        [f"{10 * i} to {10 * (i + 1)}%", *(column[i] for column in columns)]
        for i in range(_N_BINS)
    ]
    heads = ["confidence", *("said", "right", "of all")]
    return table([*heads, *("new: said", "right", "of all")], rows)
