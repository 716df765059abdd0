"""Criteria that choose among previews without labels, for benchmarks/automatic.py."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from automatic_parts import Case, read, views_of
from automatic_tables import Numbers, mean_of
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.cluster import KMeans

from twofold import datasets
from twofold.core.communities import graph_clusters
from twofold.core.modularity import indicator, modularity
from twofold.estimators.search.candidates import Preview, by_score, score
from twofold.estimators.search.views import Candidate
from twofold.metrics import nmi

DROPPED, DRAWS = 0.3, 2
"""The part of the edges that is dropped for stability, and how often."""

HELD_OUT, SMALL = 0.1, 500
"""The part of the pixels that is held out, of sets of no more images."""

FEW = 3
"""Looks that are taken together, besides all."""

Criterion = Callable[["Seen"], np.ndarray]
Seeds = list["Seen"]


@dataclass(frozen=True)
class Seen:
    """All m looks at one data set with one seed, and what their labels are worth.

    Attributes
    ----------
    accuracy, nmi : array of shape (m,)
        Of the labels, against the classes, in percent.
    modularity : array of shape (m,)
        Of the labels in their own graphs.
    score : array of shape (m,)
        As ``AutoTSNMF`` has it.
    stability : array of shape (m,)
        NMI with the clusters that are found when edges are dropped.
    sides : array of shape (m,)
        NMI between the clusters of W_P alone and of W_Q alone.
    agreement : array of shape (m,)
        The mean NMI with the labels of all previews.
    kinds : array of shape (kinds, m)
        The largest excess of the labels in graphs of each kind.
    excess : array of shape (m, m)
        Of the labels of one preview in the graphs of another.
    held_out : array of shape (m,)
        Minus the error in pixels that a fit did not see, as part of their energy; NaN
        for large sets.
    together : dict of str to float
        The accuracy of clusters that several previews make up.
    kept : int
        The preview that ``AutoTSNMF`` goes on with.
    skipped : int
        How many previews it leaves out as hopeless.
    """

    accuracy: np.ndarray
    nmi: np.ndarray
    modularity: np.ndarray
    score: np.ndarray
    stability: np.ndarray
    sides: np.ndarray
    agreement: np.ndarray
    kinds: np.ndarray
    excess: np.ndarray
    held_out: np.ndarray
    together: dict[str, float]
    kept: int
    skipped: int


ADOPTED = "**the score**: two best of each kind of graph"

CRITERIA: dict[str, Criterion] = {
    "modularity": lambda seen: seen.modularity,
    "beyond chance": lambda seen: np.diag(seen.excess),
    "stability": lambda seen: seen.stability,
    "left and right agree": lambda seen: seen.sides,
    "agreement with other previews": lambda seen: seen.agreement,
    "beyond chance x stability": lambda seen: np.diag(seen.excess) * seen.stability,
    "beyond chance x agreement": lambda seen: np.diag(seen.excess) * seen.agreement,
    "beyond chance in all previews": lambda seen: seen.excess.mean(axis=1),
    "least of the kinds of graphs": lambda seen: seen.kinds.min(axis=0),
    "best of each kind of graph": lambda seen: seen.kinds.mean(axis=0),
    "score x stability": lambda seen: seen.score * seen.stability,
    ADOPTED: lambda seen: seen.score,
}


def see(name: str, seed: int) -> Seen:
    """Look at every setting, those that a search would leave out as well."""
    case = read(name, seed)
    prober = case.prober
    every = [prober.preview(setting, case.k) for setting in case.settings]
    previews = [preview for preview in every if preview is not None]
    searched = prober.preview_all(case.settings, case.k)
    scores = [case.scored(preview.labels) for preview in previews]
    excess = np.array([[b.excess(a.labels) for b in previews] for a in previews])
    kinds = np.array([preview.candidate.graph for preview in previews])
    between = np.array([[nmi(a.labels, b.labels) for b in previews] for a in previews])
    return Seen(
        accuracy=np.array([one["accuracy"] for one in scores]),
        nmi=np.array([one["NMI"] for one in scores]),
        modularity=np.array(
            [modularity(one.adjacency, one.labels) for one in previews]
        ),
        score=np.array([score(preview.labels, previews) for preview in previews]),
        stability=np.array([stability(case, preview) for preview in previews]),
        sides=np.array([agreement_of_sides(case, preview) for preview in previews]),
        agreement=between.mean(axis=1),
        kinds=np.array(
            [excess[:, kinds == kind].max(axis=1) for kind in np.unique(kinds)]
        ),
        excess=excess,
        held_out=held_out(case, previews, seed),
        together=together(case, previews),
        kept=[preview.candidate for preview in previews].index(
            by_score(searched)[0].candidate
        ),
        skipped=len(previews) - len(searched),
    )


def stability(case: Case, preview: Preview) -> float:
    """How much of the labels is found again without some of the edges."""
    random = np.random.RandomState(case.problem.seeds[0])
    again = []
    for _ in range(DRAWS):
        seed = int(random.randint(2**31 - 1))
        fewer = graph_clusters(without_some(preview.adjacency, random), case.k, seed, 3)
        again.append(nmi(preview.labels, fewer))
    return float(np.mean(again))


def without_some(weights: csr_array, random: np.random.RandomState) -> csr_array:
    """The graph without a random part of its edges."""
    edges = coo_array(weights)
    kept = (edges.row < edges.col) & (random.uniform(size=edges.nnz) > DROPPED)
    pairs = edges.row[kept], edges.col[kept]
    half = csr_array((edges.data[kept], pairs), shape=weights.shape)
    return csr_array(half + half.T)


def agreement_of_sides(case: Case, preview: Preview) -> float:
    setting, seed = preview.candidate, case.problem.seeds[0]
    views, _ = views_of(
        case,
        setting.graph,
        setting.n_neighbors,
        setting.n_directions,
        setting.energy_weight,
    )
    left, right = (
        graph_clusters(view.graph.adjacency, case.k, seed, 3) for view in views
    )
    return nmi(left, right)


def held_out(case: Case, previews: list[Preview], seed: int) -> np.ndarray:
    """Fit each setting without some pixels and see how well it draws them."""
    if len(case.images) > SMALL:
        return np.full(len(previews), np.nan)
    norms = np.linalg.norm(case.images, axis=(1, 2), keepdims=True)
    images = case.images / norms
    holed = datasets.remove_entries(images, HELD_OUT, fill=np.nan, random_state=seed)
    missing = np.isnan(holed)
    weights = sorted({preview.candidate.energy_weight for preview in previews})
    found: dict[Candidate, float] = {}
    # What is missing is completed once for all weights of a sweep.
    for setting in {
        replace(preview.candidate, energy_weight=1.0) for preview in previews
    }:
        model = clone(case.base).set_params(missing_values=np.nan, **vars(setting))
        for fit in model.fit_sweep(holed, [(weight, 1.0) for weight in weights]):
            drawn = fit.inverse_transform(fit.coefficients_)
            error = np.sum((drawn - images)[missing] ** 2)
            own = replace(setting, energy_weight=fit.energy_weight)
            found[own] = -error / np.sum(images[missing] ** 2)
    return np.array([found[preview.candidate] for preview in previews])


def together(case: Case, previews: list[Preview]) -> dict[str, float]:
    """The accuracy of clusters that previews agree on, instead of those of one."""
    seed = case.problem.seeds[0]
    some = {
        "all previews": previews,
        f"the {FEW} best previews": by_score(previews)[:FEW],
    }
    found = {}
    for title, those in some.items():
        added = csr_array(sum(p.adjacency / p.adjacency.sum() for p in those))
        found[f"graphs of {title}, added up"] = graph_clusters(added, case.k, seed)
        found[f"votes of {title}"] = voted(
            [preview.labels for preview in those], case.k, seed
        )
    return {title: case.scored(labels)["accuracy"] for title, labels in found.items()}


def voted(labels: list[np.ndarray], k: int, seed: int) -> np.ndarray:
    """Spectral clusters of how often two samples share a cluster."""
    members = np.hstack([indicator(one).toarray() for one in labels])
    members /= np.sqrt(members.sum(axis=0))
    leading = np.linalg.svd(members, full_matrices=False)[0][:, :k]
    leading /= np.linalg.norm(leading, axis=1, keepdims=True)
    return KMeans(k, n_init=10, random_state=seed).fit_predict(leading)


def accuracies(seeds: Seeds, criterion: Criterion) -> list[float]:
    """Of the previews that a criterion picks."""
    return [float(seen.accuracy[np.argmax(criterion(seen))]) for seen in seeds]


def regret(seeds: Seeds, criterion: Criterion) -> float:
    """How much the best preview is better than the one that is picked, on average."""
    best = [seen.accuracy.max() for seen in seeds]
    return float(np.mean(np.subtract(best, accuracies(seeds, criterion))))


def correlation(seeds: Seeds, criterion: Criterion) -> float:
    """Of the criterion with the NMI over the previews, on average."""
    return float(
        np.mean([np.corrcoef(criterion(seen), seen.nmi)[0, 1] for seen in seeds])
    )


def over_sets(
    found: dict[str, Seeds], function: Callable[[Seeds, Criterion], Any]
) -> dict[str, Numbers]:
    """The mean of what ``function`` says of each criterion, for each set."""
    return {
        label: {
            name: float(np.mean(function(seeds, criterion)))
            for name, seeds in found.items()
        }
        for label, criterion in CRITERIA.items()
    }


def chosen_on(regrets: dict[str, Numbers], sets: Iterable[str]) -> str:
    """The criterion of the lowest mean regret on some sets."""
    sets = list(sets)
    return min(regrets, key=lambda label: mean_of(regrets[label], sets))


def halves(sets: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Every other set, and the rest; then the other way round."""
    one, other = list(sets[::2]), list(sets[1::2])
    return [(one, other), (other, one)]


def all_splits(sets: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """All ways to choose on about half of the sets and confirm on the others."""
    smaller = len(sets) // 2
    return [
        (list(some), [name for name in sets if name not in some])
        for size in sorted({smaller, len(sets) - smaller})
        for some in combinations(sets, size)
    ]


def confirmed(
    regrets: dict[str, Numbers], splits: list[tuple[list[str], list[str]]]
) -> tuple[Counter[str], dict[str, float]]:
    """How often each criterion is chosen, and mean regrets on the other sets."""
    chosen = [chosen_on(regrets, some) for some, _ in splits]
    other = [others for _, others in splits]
    picks = zip(chosen, other, strict=True)
    return Counter(chosen), {
        "of the chosen": float(np.mean([mean_of(regrets[c], o) for c, o in picks])),
        "of the score": float(np.mean([mean_of(regrets[ADOPTED], o) for o in other])),
        "of the best there": float(
            np.mean([mean_of(regrets[chosen_on(regrets, o)], o) for o in other])
        ),
    }
