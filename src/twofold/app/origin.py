"""The part of a saved model that describes the collection it was fitted to."""

import reprlib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from twofold.app.collection import Collection, Reading
from twofold.app.results import Assignments, nearest_rows
from twofold.channels import NetworkFeatures
from twofold.channels.network.sources import DEFAULT
from twofold.core.arrays import to_numpy
from twofold.estimators.outliers import OUTLIER
from twofold.estimators.tsnmf import TSNMF

_WAY_OUT = "make the model again with twofold cluster"


class NetworkFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The network whose features a model was fitted to."""

    name: str
    weights: str  # their SHA-256
    maps: Annotated[int, msgspec.Meta(ge=1)] | None  # as in ``NetworkFeatures``
    pooled: bool  # likewise
    frame: Literal["crop", "pad"]


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to read new samples like the training samples, and how to name them."""

    title: str  # name of the collection
    fit: str  # ``fit``, ``order`` and ``key`` as in ``Reading``
    order: str
    key: str | None
    representatives: list[str]  # names of the most typical sample of each cluster
    rows: list[Annotated[int, msgspec.Meta(ge=0)]]  # their indices in the training set
    frames: Literal["all", "first"] = "all"  # as in ``Reading``
    # Shape of the images if the model was fitted to features, else None.
    images: list[Annotated[int, msgspec.Meta(ge=1)]] | None = None
    network: NetworkFacts | None = None  # None for features of the user's own

    @classmethod
    def of(cls, collection: Collection, orders: list[np.ndarray]) -> "Origin":
        """Describe a collection, given the samples of each cluster in typical order."""
        rows = [int(order[0]) for order in orders]
        reading = collection.reading
        has_features = collection.features is not None
        return cls(
            title=collection.title,
            fit=reading.fit,
            order=reading.order,
            key=reading.key,
            representatives=[collection.names[i] for i in rows],
            rows=rows,
            frames="first" if reading.frames == "first" else "all",
            images=list(collection.images.shape[1:]) if has_features else None,
            network=_network_facts(collection.network),
        )

    @classmethod
    def from_dict(cls, about: dict[str, Any], model: TSNMF) -> "Origin":
        """Check and convert the dict that ``load_model`` returned with ``model``."""
        labels = to_numpy(model.labels_)
        try:
            origin = msgspec.convert(about, cls)
            # One representative of each cluster, in the order of their numbers.
            clusters = [int(labels[row]) for row in origin.rows]
            valid = len(origin.representatives) == len(clusters)
            valid &= len(clusters) == len(np.unique(model.state_.labels))
            # The most typical sample of a cluster may be an outlier all the same.
            valid &= all(own in (i, OUTLIER) for i, own in enumerate(clusters))
        except (msgspec.ValidationError, IndexError):
            valid = False
        if not valid:
            raise ValueError(f"the model says nothing of its images; {_WAY_OUT}")
        return origin

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as the dict that ``save_model`` stores."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def reading(self, model: TSNMF, key: str | None = None) -> Reading:
        """Return how to read new samples for ``model``."""
        shape = model.sample_shape_ if self.images is None else self.images
        return Reading(
            size=(shape[0], shape[1]) if len(shape) > 1 else None,
            color=len(shape) == 3,
            fit=self.fit,
            key=key or self.key,
            order=self.order,
            missing=model.missing_values,
            frames=self.frames,
        )

    def nearest(self, model: TSNMF, assignments: Assignments) -> list[str]:
        """Return the name of the nearest representative of each sample."""
        rows = to_numpy(model.coefficients_)[self.rows]
        nearest = nearest_rows(assignments.coefficients, rows)
        return [self.representatives[j] for j in nearest]

    def network_features(self, path: Path, given: str | None) -> NetworkFeatures | None:
        """Return the network of the model in ``path``, None if it has none.

        A model file makes nobody read another file, or download: any network but the
        default one must be ``given`` again.
        """
        facts = self.network
        if facts is None:
            if given is None:
                return None
            raise ValueError(
                f"network must be left out for the model in {path}, which was fitted "
                f"without one, got {given}"
            )
        name = DEFAULT if given is None else given
        if given is None and facts.name != DEFAULT:
            raise ValueError(
                f"network must be given for the model in {path}, which was fitted to "
                f"features of {reprlib.repr(facts.name)}; name it"
            )
        network = NetworkFeatures(
            name,
            maps=facts.maps,
            pooled=facts.pooled,
            frame=facts.frame,
            cache="auto",
        )
        if network.weights_digest() != facts.weights:
            raise ValueError(
                f"network {name} must have the weights that the model in {path} was "
                f"fitted with, those of {reprlib.repr(facts.name)} with SHA-256 "
                f"{facts.weights[:12]}..., got others; {_WAY_OUT}"
            )
        return network


def _network_facts(network: NetworkFeatures | None) -> NetworkFacts | None:
    if network is None:
        return None
    return NetworkFacts(
        name=network.network,
        weights=network.weights_digest(),
        maps=None if network.maps is None else int(network.maps),
        pooled=bool(network.pooled),
        frame="pad" if network.frame == "pad" else "crop",
    )
