"""A clustering as a dict of plain values, from which the page is made."""

import math
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

import twofold
from twofold.app.collection import THUMBNAIL, Collection
from twofold.app.report.check import FORMAT, PLAIN, VERSION
from twofold.app.report.map import layout
from twofold.app.report.missing import chosen_pairs, missing_facts
from twofold.app.report.pictures import (
    data_uri,
    names_image,
    picture_of,
    shown_range,
    thumbnails_of,
)
from twofold.app.report.projections import projections
from twofold.app.report.scores import confusion
from twofold.app.report.search import search_facts
from twofold.app.report.sheets import sheets
from twofold.app.results import Assignments, typical_orders
from twofold.core.arrays import to_numpy
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.tsnmf import TSNMF
from twofold.metrics import score_all

Summary = dict[str, Any]

MOST_SHOWN = 5000
"""Thumbnails in a report."""

_OUTLIERS = 24
_QUITE = 0.99
"""Who is as typical as this is no outlier."""

_GROUPS = 200
"""Groups of near-duplicates in a report."""


def summarize(
    collection: Collection,
    model: TSNMF,
    found: Assignments,
    typical: np.ndarray,
    duplicates: list[list[int]],
    folder: Path,
    search: AutoTSNMF | None = None,
) -> Summary:
    """All that a report shows.

    Parameters
    ----------
    collection : Collection
        Completed, where entries were missing.
    model : TSNMF
        Fitted to it.
    found : Assignments
        Of its samples.
    typical : ndarray of shape (n,)
        Their ``typicality``.
    duplicates : list of list of int
        The groups of ``near_duplicates``.
    folder : Path
        Where the report will be: links to the image files start there.
    search : AutoTSNMF or None, default=None
        What has found the model.

    Returns
    -------
    dict of str to JSON-able values
        Images are named by their place in ``items``, where only shown ones are.
        There is a ``missing`` only where something was, and a ``search`` after one.
    """
    n = len(found.clusters)
    unusual = _outliers(typical)
    orders = typical_orders(found.clusters, typical)
    pairs = chosen_pairs(collection)
    shown = _shown(orders, [*unusual, *pairs], duplicates[:_GROUPS], n)
    place = {int(i): at for at, i in enumerate(shown)}
    missing = missing_facts(collection, pairs, place)
    summary: Summary = {
        "format": FORMAT,
        "version": VERSION,
        "twofold": twofold.__version__,
        "title": printable(collection.title),
        "images": n,
        "shape": list(collection.images.shape[1:]),
        "parameters": _parameters(model),
        "skipped": [
            [printable(name), printable(why)] for name, why in collection.skipped
        ],
        "items": _items(collection, found, shown, folder),
        "sheets": _sheets(collection, shown),
        "clusters": _clusters(collection, model, found, typical, orders, place),
        "outliers": [place[int(i)] for i in unusual],
        "duplicates": [
            [place[i] for i in group if i in place] for group in duplicates[:_GROUPS]
        ],
        "duplicate_groups": len(duplicates),
        "duplicate_images": sum(map(len, duplicates)),
        "convergence": {
            "objective": to_numpy(model.objective_history_).tolist(),
            "max_iter": model.max_iter,
        },
        "projections": projections(collection.images, model),
        "scores": _scores(collection, found),
    }
    summary |= {"missing": missing} if missing else {}
    return summary | ({"search": search_facts(search)} if search else {})


def _outliers(typical: np.ndarray) -> np.ndarray:
    """The least typical samples, at most one in ten, if they are not quite typical."""
    count = min(_OUTLIERS, len(typical) // 10)
    least = np.argsort(typical, kind="stable")[:count]
    return least[typical[least] < _QUITE]


def printable(text: str) -> str:
    """A path as text that any file can hold: bytes that are no UTF-8 are escaped."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def _shown(
    orders: list[np.ndarray],
    singled_out: list[int],
    duplicates: list[list[int]],
    n: int,
) -> np.ndarray:
    """The samples that are shown: all, or an even choice from each cluster's order."""
    if n <= MOST_SHOWN:
        return np.arange(n)
    listed = {int(i) for i in singled_out}
    for group in duplicates:
        listed |= set(group[: MOST_SHOWN // (4 * _GROUPS)])
    share = (MOST_SHOWN - len(listed)) / n
    for order in orders:
        count = max(1, int(share * len(order)))
        places = np.linspace(0, len(order) - 1, count).astype(int)
        listed |= set(order[places].tolist())
    return np.array(sorted(listed))


def _items(
    collection: Collection, found: Assignments, shown: np.ndarray, folder: Path
) -> list[dict[str, Any]]:
    places = layout(found.coefficients[shown])
    return [
        {
            "name": printable(collection.names[i]),
            "link": _link(collection.paths[i], folder) if collection.paths else None,
            "cluster": int(found.clusters[i]),
            "confidence": round(float(found.confidence[i]), 4),
            "error": round(float(found.reconstruction_error[i]), 4),
            "class": _class_name(collection, i),
            "x": round(float(x), 4),
            "y": round(float(y), 4),
        }
        for i, (x, y) in zip(shown, places, strict=True)
    ]


def _link(path: Path, folder: Path) -> str | None:
    """The file as seen from the page, every odd character in its name escaped.

    None for one on another machine, which a page had better not call, and for one
    that is not named as an image.
    """
    if not names_image(path.name):
        return None
    target = path.absolute()
    try:
        relative = os.path.relpath(target, folder.absolute())
    except ValueError:  # another drive
        address = target.as_uri()
        return address if address.startswith("file:///") else None
    return "./" + quote(os.fsencode(Path(relative).as_posix()))


def _class_name(collection: Collection, i: int) -> str | None:
    if collection.target is None:
        return None
    return printable(str(collection.target_names[int(collection.target[i])]))


def _sheets(collection: Collection, shown: np.ndarray) -> dict[str, Any]:
    if collection.thumbnails is None or collection.thumbnail_sizes is None:
        return sheets(*thumbnails_of(collection.images[shown], THUMBNAIL))
    return sheets(collection.thumbnails[shown], collection.thumbnail_sizes[shown])


def _clusters(
    collection: Collection,
    model: TSNMF,
    found: Assignments,
    typical: np.ndarray,
    orders: list[np.ndarray],
    place: dict[int, int],
) -> list[dict[str, Any]]:
    means = np.stack([found.coefficients[order].mean(axis=0) for order in orders])
    centroids = to_numpy(model.inverse_transform(means))
    low, high = shown_range(collection.images)
    return [
        {
            "number": number,
            "size": len(order),
            "tightness": round(float(typical[order].mean()), 4),
            "centroid": data_uri(picture_of(centroid, low, high)),
            "items": [place[i] for i in order.tolist() if i in place],
        }
        for number, (order, centroid) in enumerate(zip(orders, centroids, strict=True))
    ]


def _parameters(model: TSNMF) -> dict[str, Any]:
    """Those that are plain values; JSON knows NaN and infinity as text alone."""
    plain = {k: v for k, v in model.get_params().items() if isinstance(v, PLAIN)}
    odd = {k for k, v in plain.items() if isinstance(v, float) and not math.isfinite(v)}
    return plain | {k: str(plain[k]) for k in odd}


def _scores(collection: Collection, found: Assignments) -> dict[str, Any] | None:
    if collection.target is None:
        return None
    return {
        "values": {
            name: round(float(value), 4)
            for name, value in score_all(collection.target, found.clusters).items()
        },
        "confusion": confusion(
            collection.target,
            found.clusters,
            [printable(str(name)) for name in collection.target_names],
        ),
    }
