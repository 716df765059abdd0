"""Compare a collection by the features of a network, or by its images."""

import math
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from twofold.app.collection import NETWORK, Collection
from twofold.app.threads import suitable_threads
from twofold.channels import PIXELS, NetworkFeatures
from twofold.channels.network import NetworkError
from twofold.channels.network.features import BATCH
from twofold.estimators.assessment import NothingFoundWarning, assess
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.tsnmf import TSNMF
from twofold.io.blocks import image_blocks
from twofold.progress import report

IMAGES = "images"
"""Name of the representation beside ``NETWORK``."""

_SAMPLE = 2000
"""Number of images by which the choice is made; all, if there are no more."""


_LEVEL = 0.97
"""Part of what the graphs tell of images that is enough for a network to be taken, if
the images have colours: photos are what it was trained on.
"""


class Chosen(NamedTuple):
    """The better representation, and the search that was fitted to it."""

    collection: Collection
    search: AutoTSNMF


def has_colors(collection: Collection) -> bool:
    """Return whether images are grey or have three colours, as a network needs it."""
    return (*collection.images.shape[3:], 1)[0] in (1, 3)


def with_network(collection: Collection, network: NetworkFeatures) -> Collection:
    """Return a collection that is compared by the features of a network.

    Image files are read again, as large as the network takes them, in blocks; in grey
    if the images of the collection are.
    """
    if not has_colors(collection):
        raise ValueError(
            f"channels must not be 'network' for {collection.title}, whose images have "
            f"{collection.images.shape[3]} channels: a network takes one or three; "
            "take 'auto'"
        )
    if collection.frames is None:
        features = np.asarray(network.transform(collection.images))
    elif network.frame != "crop":
        raise ValueError(f"frame must be 'crop' for image files, got {network.frame!r}")
    else:
        blocks = image_blocks(
            collection.paths,
            collection.frames.tolist(),
            network.picture_side(),
            color=collection.images.ndim == 4,
            block=BATCH,
            max_memory=collection.reading.max_memory,
        )
        try:
            features = network.transform_blocks(blocks, len(collection.paths))
        except ValueError as error:  # also of a file
            raise NetworkError(str(error)) from error
    return replace(collection, features=features, network=network)


def choose(
    collection: Collection, search: AutoTSNMF, network: NetworkFeatures
) -> Chosen:
    """Fit a search to images and to features of a network, and take the better one.

    The clusters of which the graphs of both searches, taken together, tell more are
    taken, see ``AutoTSNMF.edge_information``; of images with colours those of the
    network if both are about level.
    """
    if collection.features is not None:
        raise ValueError("network must be None for a collection that has features")
    n, most = len(collection.images), _sample_size(search)
    if n <= most:
        return _better(collection, _limited(search, 2), network)
    rows = np.sort(np.random.RandomState(0).permutation(n)[:most])
    search = _limited(search, 3)
    takes_network, told = _preferred(_rows_of(collection, rows), search, network)
    collection = replace(collection, compared=told)
    if takes_network:
        collection = with_network(collection, network)
    return Chosen(collection, _fitted(search, collection))


def _preferred(
    some: Collection, search: AutoTSNMF, network: NetworkFeatures
) -> tuple[bool, dict[str, float]]:
    """Return whether the network is better, and what both tell, but nothing fitted."""
    collection = _better(some, search, network).collection
    return collection.features is not None, collection.compared


def _better(
    collection: Collection, search: AutoTSNMF, network: NetworkFeatures
) -> Chosen:
    """Fit two searches, and return the one of whose clusters graphs tell more."""
    both = {IMAGES: collection, NETWORK: with_network(collection, network)}
    fitted = {name: _fitted(clone(search), each) for name, each in both.items()}
    images, features = fitted[IMAGES], fitted[NETWORK]
    told = {
        name: images.edge_information(_placed(each), others=[features])
        for name, each in fitted.items()
    }
    # Clusters of a search that had nothing to compare are not told from any others.
    unknown = {name for name, each in fitted.items() if math.isnan(each.best_score_)}
    told |= dict.fromkeys(unknown, math.nan)
    level = _LEVEL if collection.images.ndim == 4 else 1.0
    better = told[NETWORK] > level * told[IMAGES] or unknown == {IMAGES}
    best = NETWORK if better else IMAGES
    return Chosen(replace(both[best], compared=told), fitted[best])


def _placed(search: AutoTSNMF) -> np.ndarray:
    """Return the clusters of a search, also of those that it calls outliers."""
    placed: np.ndarray = search.best_estimator_.state_.placed_labels
    return placed


def fit(model: TSNMF | AutoTSNMF, collection: Collection) -> None:
    """Fit a model; report its stage before the first candidate or iteration."""
    with suitable_threads(len(collection.samples)):
        if isinstance(model, AutoTSNMF):
            report("searching", 0, 0)
        else:
            report("fitting", 0, model.max_iter)
        with warnings.catch_warnings():
            # Said once, of what is taken, when all is done.
            warnings.simplefilter("ignore", NothingFoundWarning)
            model.fit(collection.samples)
        if isinstance(model, TSNMF):
            assess(model)


def _sample_size(search: AutoTSNMF) -> int:
    """Return the number of images that the choice looks at, at most."""
    numbers = search.n_clusters
    return max(_SAMPLE, 10 * int(np.max(numbers)) if numbers is not None else 0)


def _fitted(search: AutoTSNMF, collection: Collection) -> AutoTSNMF:
    """Fit a search to what a collection is compared by."""
    if collection.features is not None:
        search.set_params(channels=PIXELS)
    fit(search, collection)
    return search


def _limited(search: AutoTSNMF, parts: int) -> AutoTSNMF:
    """Return an unfitted search with its part of the time."""
    limit = search.max_time
    return clone(search).set_params(max_time=None if limit is None else limit / parts)


def _rows_of(collection: Collection, rows: np.ndarray) -> Collection:
    """Return what the choice needs of some images of a collection."""
    files = {}
    if collection.frames is not None:
        paths = [collection.paths[i] for i in rows]
        files = {"paths": paths, "frames": collection.frames[rows]}
    names = [collection.names[i] for i in rows]
    return replace(collection, images=collection.images[rows], names=names, **files)
