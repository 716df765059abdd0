"""Facts of a finished ``twofold cluster``, as plain values to print."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twofold import TSNMF, AutoTSNMF
    from twofold.app.collection import Collection
    from twofold.app.workflow import Clustered


def facts_of(found: "Clustered", missing: float | None) -> dict[str, Any]:
    """Return what a summary says; ``missing`` is the value of missing entries."""
    import numpy as np

    from twofold.app.checks import missing_entries
    from twofold.app.workflow import fitted_model
    from twofold.core.arrays import to_numpy

    collection, model = found.collection, fitted_model(found.model)
    facts = {
        "report": str(found.page),
        "images": len(collection.images),
        "shape": list(collection.images.shape[1:]),
        "skipped": len(collection.skipped),
        "clusters": len(np.unique(model.state_.labels)),
        "iterations": model.n_iter_,
    }
    if model.neighbor_recall_ is not None:
        facts["neighbors_found"] = model.neighbor_recall_
    if model.outliers:
        facts["outliers"] = int((to_numpy(model.labels_) < 0).sum())
    told = model.state_.assessment
    if told is not None and facts["clusters"] > 1 and math.isfinite(told.structure):
        facts |= {"structure": round(told.structure, 4), "found": told.found}
    facts |= choice_facts(found.model, collection) | alignment_facts(model)
    if missing is not None:
        marked = missing_entries(collection.images, missing)
        facts["missing"] = int(marked.any(axis=1).sum())
    if collection.features is not None:
        facts["features"] = list(model.sample_shape_)
    if collection.network is not None:
        facts["network"] = collection.network.network
    if collection.compared:
        facts["compared"] = {
            name: _plain(score) for name, score in collection.compared.items()
        }
    return facts


def alignment_facts(model: "TSNMF") -> dict[str, Any]:
    """Return ``aligned``, or nothing if images were not aligned.

    It has the ``moves``, "shifts" or "all", and the mean correlation of the images with
    their mean ``before`` and ``after``.
    """
    from twofold.app.results import moves_of

    alignment = model.state_.alignment
    if alignment is None:
        return {}
    gain = {"before": alignment.before, "after": alignment.after}
    return {"aligned": {"moves": moves_of(model), **gain}}


def choice_facts(
    model: "TSNMF | AutoTSNMF", collection: "Collection"
) -> dict[str, Any]:
    """Return the choices of a search as plain values; none without a search.

    ``chosen`` has the chosen parameters and their ``score``, which is None if nothing
    could be compared. ``out_of_time`` says whether the time limit ended the search.
    ``cluster_numbers`` has the fields of ``Curve``, if several numbers were tried.
    """
    from twofold import TSNMF
    from twofold.app.collection import NETWORK
    from twofold.app.results import channels_of

    if isinstance(model, TSNMF):
        return {}
    best, score = model.best_estimator_, model.best_score_
    names = ("graph", "n_neighbors", "n_directions", "energy_weight", "graph_weight")
    channels = channels_of(best) if collection.network is None else NETWORK
    chosen: dict[str, Any] = {"channels": channels}
    chosen |= {name: getattr(best, name) for name in names}
    chosen["score"] = _plain(score)
    facts: dict[str, Any] = {"chosen": chosen, "out_of_time": model.out_of_time_}
    curve = model.cluster_numbers_
    if curve is not None:
        facts["cluster_numbers"] = {
            **asdict(curve),
            "at_end": curve.at_end,
            "unsure": curve.unsure,
        }
    return facts


def _plain(score: float) -> float | None:
    """Return a score, or None for NaN, which is no JSON."""
    return score if math.isfinite(score) else None
