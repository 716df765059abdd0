"""The grid of candidates, the fits of the best one, and the table of a search."""

import math
import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

from sklearn.base import clone

from twofold.channels import BANKS, PIXELS, Bank
from twofold.core.arrays import Array
from twofold.core.graphs import KINDS, default_kind, graph_kind
from twofold.core.start import indicators
from twofold.estimators.given import GivenSamples
from twofold.estimators.mapping import bank_of
from twofold.estimators.parameters import (
    capped_directions,
    check_weight,
    read_sequence,
)
from twofold.estimators.problem import Problem
from twofold.estimators.reading import is_count
from twofold.estimators.search.candidates import (
    CandidateProber,
    Preview,
    by_score,
    excess_by_kind,
    mean_excess,
)
from twofold.estimators.search.consensus import consensus_of_all
from twofold.estimators.search.views import Candidate
from twofold.estimators.tsnmf import TSNMF

Row = dict[str, Any]
Pair = tuple[float, float]  # energy_weight and graph_weight

_ENERGY_WEIGHTS = (1.0, 0.1, 3.0)
"""Energy weights to try if there is one kind of channels alone."""


@dataclass(frozen=True)
class Fit:
    """A fitted model and the excess modularity of its labels."""

    model: TSNMF
    channels: str  # name of the bank
    excess: dict[str, float]  # by kind of graph; empty without previews
    seconds: float  # time of the fit, or its part of the time of a batch

    @property
    def score(self) -> float:
        """The mean excess over the kinds of graph; NaN without previews."""
        return mean_excess(self.excess) if self.excess else float("nan")


@dataclass(frozen=True)
class FitPlan:
    """How the best candidate is fitted."""

    seeds: list[int]  # of the starts
    graph_weights: list[float]  # fitted in one batch
    max_fits: int
    progress: Callable[[str, str], None]  # called with "fit" and a line for every fit


def read_banks(channels: Any, given: GivenSamples) -> dict[str, Bank]:
    """Return the banks to try, by name, the most promising first.

    "auto" stands for all of them, or for pixels alone if the samples are no images.
    """
    if isinstance(channels, str) and channels == "auto":
        if bank_of("auto", given).transformer is None:
            return {PIXELS: BANKS[PIXELS]}
        return {name: BANKS[name] for name in ("gradients", "fine_gradients", PIXELS)}
    expected = f"'auto', or transformers and names of {', '.join(BANKS)}"
    if isinstance(channels, str) or hasattr(channels, "transform"):
        channels = [channels]
    banks: dict[str, Bank] = {}
    for each in read_sequence(channels, "channels", expected):
        known = isinstance(each, str) and each in BANKS
        methods = ("fit", "transform", "get_params")
        if not known and not all(hasattr(each, method) for method in methods):
            raise ValueError(f"channels must be {expected}, got {reprlib.repr(each)}")
        name = each if known else f"{type(each).__name__} {len(banks)}"
        banks[name] = BANKS[each] if known else Bank(each)
    return banks


def grid(
    base: TSNMF,
    prober: CandidateProber,
    graphs: Sequence[str],
    n_directions: Sequence[int] | None,
    energy_weights: Sequence[float] | None,
) -> list[Candidate]:
    """Return all candidates of a search, the most promising first."""
    kinds = list(dict.fromkeys(map(str, graphs)))
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"graphs must be some of {tuple(KINDS)}, got {graphs!r}")
    expected = "positive integers, or None"
    if n_directions is not None:
        numbers = read_sequence(n_directions, "n_directions", expected)
        if not all(map(is_count, numbers)):
            raise ValueError(
                f"n_directions must be {expected}, got {reprlib.repr(n_directions)}"
            )
        n_directions = numbers
    found = [
        ranked
        for name, view in prober.views.items()
        for ranked in _candidates(
            name,
            view.problem.samples,
            kinds,
            n_directions,
            energy_weights or _energy_weights(prober.banks, name),
            base.n_neighbors,
        )
    ]
    # Fewer directions, and the first energy weight, of all channels first.
    return [candidate for _, candidate in sorted(found, key=lambda pair: pair[0])]


def _energy_weights(banks: dict[str, Bank], name: str) -> tuple[float, ...]:
    """Return the energy weights to try of a bank: several if it is the only one."""
    return _ENERGY_WEIGHTS if len(banks) == 1 else (banks[name].energy_weight,)


def _candidates(
    channels: str,
    samples: Array,
    kinds: Sequence[str],
    n_directions: Sequence[int] | None,
    weights: Sequence[float],
    n_neighbors: int | None,
) -> Iterator[tuple[tuple[int, int], Candidate]]:
    """Yield ranks and candidates of one kind of channels.

    The rank has the positions of the directions and of the energy weight.
    """
    entries, longest = math.prod(samples.shape[1:]), max(samples.shape[2:])
    # Samples with few entries do not lie in separate subspaces.
    kinds = [kind for kind in kinds if graph_kind(kind).min_features <= entries]
    kinds = kinds or [default_kind(entries).name]
    if n_directions is None:
        usual = max(capped_directions(None, samples.shape[1:]))
        n_directions = (usual, 2 * usual + 1)
    directions = dict.fromkeys(min(int(r), longest) for r in n_directions)
    weights = list(dict.fromkeys(map(float, weights)))
    for position, r in enumerate(directions):
        # If all directions are kept, their order does not matter, nor the weight.
        for i, weight in enumerate(weights if r < longest else weights[:1]):
            for kind in kinds:
                neighbors = n_neighbors or graph_kind(kind).n_neighbors_in_search
                yield (position, i), Candidate(channels, kind, neighbors, r, weight)


_SEARCHED = {
    "channels": "channels",
    "graph": "graphs",
    "n_directions": "n_directions",
    "energy_weight": "energy_weights",
    "graph_weight": "graph_weights",
}
"""Parameters of TSNMF that are searched, and the parameters of AutoTSNMF for them."""


def check_unsearched(base: TSNMF) -> None:
    """Raise a ValueError if ``estimator`` sets a parameter that is searched."""
    if not isinstance(base.init, str):  # its columns would be clusters
        raise ValueError(
            "estimator must leave init at a name, since the number of clusters is "
            "searched, got an array; fit TSNMF with it instead"
        )
    defaults = TSNMF().get_params()
    for name, instead in _SEARCHED.items():
        if getattr(base, name) != defaults[name]:
            raise ValueError(
                f"estimator must leave {name} to the search, got "
                f"{name}={getattr(base, name)!r}; set {instead} of AutoTSNMF"
            )


def read_weights(values: Any, name: str, samples: Array) -> list[float]:
    """Return the weights to try; errors are those of TSNMF, and name the parameter."""
    weights = read_sequence(values, name, "numbers from 0 on")
    for weight in weights:
        real = isinstance(weight, Real)
        if not (real and 0 <= weight < math.inf):  # or NaN
            raise ValueError(
                f"{name} must be numbers from 0 on, got {reprlib.repr(weight)}"
            )
        check_weight(name, weight, samples)
    return weights


def fit_best(
    base: TSNMF, previews: list[Preview], prober: CandidateProber, plan: FitPlan, X: Any
) -> list[Fit]:
    """Fit the best candidate, in a batch for each start, until the deadline."""
    best = by_score(previews)[0]
    labels = None
    if starts_from_consensus(base):
        labels = consensus_of_all(previews, prober, plan.seeds[0])
        prober.forget()
    problem = prober.problem_of(best.candidate.channels)
    fits: list[Fit] = []
    for seed in plan.seeds:
        weights = plan.graph_weights[: plan.max_fits - len(fits)]
        if not weights or (fits and prober.is_late()):
            break
        model = clone(base).set_params(
            n_clusters=best.k, random_state=seed, **prober.parameters(best.candidate)
        )
        if not fits and labels is not None:
            start = indicators(prober.given.as_given(labels), best.k)
            model.set_params(init=start, assign_labels="coefficients")
        begin = time.perf_counter()
        pairs = [(best.candidate.energy_weight, weight) for weight in weights]
        models = fit_again(model, pairs, problem, base, X)
        seconds = (time.perf_counter() - begin) / len(models)
        for model in models:
            excess = excess_by_kind(prober.labels_of(model), previews)
            fits.append(Fit(model, best.candidate.channels, excess, seconds))
            about = f"{best.candidate}, graph_weight={model.graph_weight:g}"
            plan.progress("fit", f"{about}: score {fits[-1].score:.4f}")
    return fits


_OWN = ("init", "assign_labels", "tol", "max_iter")
"""Parameters of an estimator for which fits start, and end, as it says."""


def starts_from_consensus(base: TSNMF) -> bool:
    """Return whether the first fit starts from the consensus, and keeps its labels.

    A fit that goes on for long leaves its start, and its labels need the graph.
    """
    usual = TSNMF().get_params()
    return all(getattr(base, name) == usual[name] for name in _OWN)


def fit_again(
    model: TSNMF, pairs: list[Pair], problem: Problem, base: TSNMF, X: Any
) -> list[TSNMF]:
    """Fit pairs of weights to the samples of ``base``; X is for callbacks only."""
    models = model._sweep_models(pairs)
    return model._fit_models(models, problem.for_estimator(models[0]), base, X)


def results(previews: Iterable[Preview], fits: list[Fit]) -> dict[str, list[Any]]:
    """Return the table of previews and fits as columns, None for empty cells."""
    by_number: dict[int, list[Preview]] = {}
    for preview in previews:
        by_number.setdefault(preview.k, []).append(preview)
    rows = [_preview_row(each, same) for same in by_number.values() for each in same]
    rows += [_fit_row(fit) for fit in fits]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _preview_row(preview: Preview, previews: list[Preview]) -> Row:
    """Return the row of one of the previews with the same number of clusters."""
    facts = {"n_clusters": preview.k, **vars(preview.candidate)}
    facts |= {"graph_weight": None, "seed": None}  # of fits alone
    excess = excess_by_kind(preview.labels, previews)
    return _row("preview", facts, mean_excess(excess), excess, preview.seconds)


def _fit_row(fit: Fit) -> Row:
    names = ("n_clusters", *(f.name for f in fields(Candidate)), "graph_weight")
    facts = {name: getattr(fit.model, name) for name in names}
    facts |= {"channels": fit.channels, "seed": fit.model.random_state}
    return _row("fit", facts, fit.score, fit.excess, fit.seconds)


def _row(
    stage: str, facts: Row, score: float, excess: dict[str, float], seconds: float
) -> Row:
    return {
        "stage": stage,
        **facts,
        "score": score,
        **{f"{kind}_excess": value for kind, value in excess.items()},
        "seconds": seconds,
    }
