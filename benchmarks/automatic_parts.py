"""What benchmarks/automatic.py measures: one data set with one seed at a time."""

import csv
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from typing import Any

import numpy as np
from automatic_tables import SETS, Found, Numbers, Scores
from defaults import load
from scipy.sparse import csr_array

from twofold import TSNMF, AutoTSNMF
from twofold.channels import PIXELS
from twofold.core.communities import graph_clusters
from twofold.core.grams import both_sides
from twofold.core.kmeans import kmeans_labels
from twofold.core.modularity import modularity
from twofold.core.null_model import chance_modularity
from twofold.core.projected import ProjectedSide
from twofold.core.spectral import spectral_embedding
from twofold.core.start import first_adjacency, first_projections
from twofold.core.state import Solution, SolverOptions
from twofold.core.updates import adjust
from twofold.estimators.labels import assign_labels
from twofold.estimators.parameters import draw_seeds, term_weights
from twofold.estimators.problem import Problem, lowest, read_given, read_problem
from twofold.estimators.search.candidates import CandidateProber, score
from twofold.estimators.search.grid import grid, read_banks
from twofold.estimators.search.views import Candidate
from twofold.metrics import clustering_accuracy, nmi

STARTS = 5
READ_AT: dict[str, dict[str, Any]] = {
    "subspace_knn": {"graph": "subspace_knn"},
    "heat": {"graph": "heat"},
    "subspace_knn, `tol` 0.001": {"graph": "subspace_knn", "tol": 1e-3},
    "heat, `tol` 0.001": {"graph": "heat", "tol": 1e-3},
}
"""Fits off which labels are read in all ways."""


@dataclass(frozen=True)
class Case:
    """A data set as ``AutoTSNMF`` reads it, with the settings that it looks at."""

    images: np.ndarray
    target: np.ndarray
    k: int
    base: TSNMF
    prober: CandidateProber
    settings: list[Candidate]

    @property
    def problem(self) -> Problem:
        return self.prober.problem_of(PIXELS)

    def scored(self, labels: np.ndarray) -> Scores:
        """The scores of labels in the order of the problem."""
        return scored(self.target, self.problem.given.as_given(labels))


def read(name: str, seed: int) -> Case:
    """A data set in pixels, and all candidates for these."""
    images, target = load(name)
    k = len(np.unique(target))
    base = TSNMF(k, random_state=draw_seeds(seed, 1)[0])
    given = read_given(base, images)
    banks = read_banks([PIXELS], given)
    prober = CandidateProber(base, given, banks, inf, lambda stage, line: None)
    settings = grid(base, prober, AutoTSNMF().graphs, None, None)
    return Case(images, target, k, base, prober, settings)


def scored(target: np.ndarray, labels: np.ndarray) -> Scores:
    """In percent."""
    return {
        "accuracy": 100 * clustering_accuracy(target, labels),
        "NMI": 100 * nmi(target, labels),
    }


def subspace_graph(
    features: np.ndarray, ridge: float = 0.1, n_neighbors: int = 10
) -> csr_array:
    """The graph of least-squares subspace clustering of samples (n, d).

    Z = F (F'F + ridge I)^-1 F' = (FF' + ridge I)^-1 FF', of F with a mean squared
    length of 1.
    """
    kernel = features @ features.T
    kernel /= np.trace(kernel) / len(kernel)
    shares = np.abs(np.linalg.solve(kernel + ridge * np.eye(len(kernel)), kernel))
    np.fill_diagonal(shares, 0)
    smallest = np.partition(shares, -n_neighbors, axis=1)[:, [-n_neighbors]]
    kept = np.where(shares >= smallest, shares, 0)
    kept /= kept.max(axis=1, keepdims=True)
    return csr_array((kept + kept.T) / 2)


def spectral_labels(weights: csr_array, k: int, seed: int) -> np.ndarray:
    """K-means in the spectral embedding of a graph."""
    return kmeans_labels(spectral_embedding(weights, k, seed), k, seed)


def paper_figures(measured: str) -> Numbers:
    """What the paper's TS-NMF reaches with parameters chosen by labels."""
    # Read here, since the package's own reader needs what draws its tables.
    text = (files("twofold") / "paper" / "paper.csv").read_text(encoding="utf-8")
    cells: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(text.splitlines()):
        if (row["method"], row["metric"]) == ("TS-NMF", measured.lower()):
            cells.setdefault(row["dataset"], {})[row["n_clusters"]] = float(row["mean"])
    found = {}
    for name in SETS:
        data, _, persons = name.partition("-")
        counts = [int(count) for count in cells.get(data, {}) if count != "average"]
        if counts:
            found[name] = cells[data][persons or str(max(counts))]
    return found


def views_of(
    case: Case, kind: str, n_neighbors: int, r: int, energy_weight: float
) -> tuple[tuple[ProjectedSide, ProjectedSide], SolverOptions]:
    """The first views of the samples, and the settings that they belong to."""
    samples = case.problem.samples
    settings = replace(
        case.problem.options,
        n_directions=(min(r, samples.shape[2]), min(r, samples.shape[3])),
        n_neighbors=n_neighbors,
        graph=kind,
    )
    sides = both_sides(samples)
    weights = {"energy_weight": energy_weight, "graph_weight": 1.0}
    return first_projections(samples, sides, settings, weights), settings


def first_graph(
    case: Case, kind: str, n_neighbors: int, r: int, energy_weight: float
) -> csr_array | None:
    """W_P + W_Q of a preview."""
    views, settings = views_of(case, kind, n_neighbors, r, energy_weight)
    return first_adjacency(views, case.k, settings)


def graphs(name: str, seed: int) -> Found:
    """The clusters of several graphs before any iteration, with one setting each."""
    case = read(name, seed)
    found: Found = {}
    for r in (4, 9):
        here = {
            label: graph_scores(case, weights)
            for label, weights in graphs_of(case, r, 1.0).items()
        }
        unions = [scores for label, scores in here.items() if "union" in label]
        here["union, the part most beyond chance"] = max(
            unions, key=lambda scores: scores["excess"]
        )
        for weight in (0.1, 3.0):
            shared = first_graph(case, "subspace_knn", 10, r, weight)
            here[f"subspace_knn, energy weight {weight:g}"] = graph_scores(case, shared)
        found |= {f"{label}; r = {r}": scores for label, scores in here.items()}
    return found


def graphs_of(case: Case, r: int, energy: float) -> dict[str, csr_array | None]:
    """W_P + W_Q of each kind."""
    near = first_graph(case, "heat", 5, r, energy)
    own = first_graph(case, "subspace", 10, r, energy)
    views, _ = views_of(case, "subspace", 10, r, energy)
    dense = {
        f"subspace, ridge {ridge:g}": csr_array(
            sum(subspace_graph(view.features[0], ridge) for view in views)
        )
        for ridge in (0.01, 1.0)
    }
    return {
        "heat, 3 neighbours": first_graph(case, "heat", 3, r, energy),
        "heat, 5 neighbours": near,
        "subspace, ridge 0.1": own,
        **dense,
        "subspace_knn": first_graph(case, "subspace_knn", 10, r, energy),
        **{
            f"union, {part:.0%} self": union(near, own, part)
            for part in (0.25, 0.5, 0.75)
        },
    }


def union(
    near: csr_array | None, own: csr_array | None, part: float
) -> csr_array | None:
    if near is None or own is None:
        return None
    return csr_array((1 - part) / near.sum() * near + part / own.sum() * own)


def graph_scores(case: Case, weights: csr_array | None) -> Scores:
    """Of the clusters of a graph; NaN where it has more pieces than clusters."""
    if weights is None:
        return {"accuracy": np.nan, "NMI": np.nan, "excess": -np.inf}
    k, seed = case.k, case.problem.seeds[0]
    labels = graph_clusters(weights, k, seed)
    excess = modularity(weights, labels) - chance_modularity(weights, k, seed)
    return {"excess": excess, **case.scored(labels)}


def readings(name: str, seed: int) -> Found:
    """Labels of the same fits, read off in several ways."""
    images, target = load(name)
    found: Found = {}
    for title, changes in READ_AT.items():
        model = TSNMF(
            len(np.unique(target)), channels=PIXELS, random_state=seed, **changes
        )
        problem = read_problem(model, images)
        for reading, labels in all_readings(model, problem).items():
            given = problem.given.as_given(labels)
            found[f"{title}: {reading}"] = scored(target, given)
    return found


def all_readings(model: TSNMF, problem: Problem) -> dict[str, np.ndarray]:
    """Labels in the order of the problem, by the name of what they are read off by."""
    [solution] = solutions_of(model, problem)
    V, weights = coefficients_of(solution), solution.state.adjacency
    rows = V / np.linalg.norm(V, axis=1, keepdims=True)
    rest = problem.given.group, problem.n_clusters, problem.labels_seed
    sides = both_sides(problem.samples)
    [start] = problem.starts(problem.samples, sides, [term_weights(model)])
    return {
        "the start": start.argmax(axis=1),
        "K-means on V": assign_labels(V, None, *rest),
        "K-means on V, rows of length 1": assign_labels(rows, None, *rest),
        "largest coefficient": V.argmax(axis=1),
        "spectral on the learned graph": spectral_labels(weights, *rest[1:]),
        "spectral, then moves": graph_clusters(weights, *rest[1:]),
        "largest coefficient, then moves": assign_labels(V, weights, *rest),
    }


def solutions_of(model: TSNMF, problem: Problem) -> list[Solution]:
    """One for each start."""
    return problem.solve([term_weights(model)], lambda iteration, objectives: False)[0]


def coefficients_of(solution: Solution) -> np.ndarray:
    """V (n, k) with columns of length 1."""
    return adjust(solution.state.coefficients, solution.state.centroids)[0][0]


def restarts(name: str, seed: int) -> Found:
    """Fits from several starts at the defaults, and which of them is kept."""
    case = read(name, seed)
    model = TSNMF(case.k, channels=PIXELS, n_init=STARTS, random_state=seed)
    problem = read_problem(model, case.images)
    rest = problem.given.group, case.k, problem.labels_seed
    solutions = solutions_of(model, problem)
    graphs = [solution.state.adjacency for solution in solutions]
    labels = [
        assign_labels(coefficients_of(solution), weights, *rest)
        for solution, weights in zip(solutions, graphs, strict=True)
    ]
    previews = case.prober.preview_all(case.settings, case.k)
    found = [case.scored(one) for one in labels]
    best = lowest(solutions)
    kept: dict[str, Any] = {
        "lowest objective": [one is best for one in solutions].index(True),
        "highest modularity": np.argmax(list(map(modularity, graphs, labels))),
        "highest score": np.argmax([score(one, previews) for one in labels]),
        "best by labels": np.argmax([scores["accuracy"] for scores in found]),
    }
    return {
        "1 start": found[0],
        **{f"{STARTS} starts, {rule}": found[i] for rule, i in kept.items()},
    }
