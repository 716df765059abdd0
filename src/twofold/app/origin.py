"""What a saved model keeps of the collection that it was fitted to."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from twofold.app.collection import Collection, Reading
from twofold.app.results import Assignments, nearest_rows
from twofold.core.arrays import to_numpy
from twofold.estimators.tsnmf import TSNMF

_WAY_OUT = "make the model again with twofold cluster"


@dataclass(frozen=True)
class Origin:
    """How new samples are read and named as the training samples were.

    Attributes
    ----------
    title : str
    fit, order, key : str
        See ``Reading``; a key may be None.
    representatives : list of str
        The name of the most typical sample of each cluster.
    rows : list of int
        Their places among the training samples.
    """

    title: str
    fit: str
    order: str
    key: str | None
    representatives: list[str]
    rows: list[int]

    @classmethod
    def of(cls, collection: Collection, orders: list[np.ndarray]) -> "Origin":
        """Of a collection, the samples of each cluster being in their typical order."""
        rows = [int(order[0]) for order in orders]
        reading = collection.reading
        return cls(
            title=collection.title,
            fit=reading.fit,
            order=reading.order,
            key=reading.key,
            representatives=[collection.names[i] for i in rows],
            rows=rows,
        )

    @classmethod
    def from_dict(cls, about: dict[str, Any], model: TSNMF) -> "Origin":
        """From what ``load_model`` returned, which may be anything."""
        try:
            found = cls(**about)
            texts = [found.title, found.fit, found.order, *found.representatives]
            right = (
                all(isinstance(text, str) for text in texts)
                and isinstance(found.key, str | None)
                and isinstance(found.representatives, list)
                and isinstance(found.rows, list)
                and len(found.rows) == len(found.representatives)
                and _one_of_each(found.rows, to_numpy(model.labels_))
            )
        except TypeError:
            right = False
        if not right:
            raise ValueError(f"the model says nothing of its images; {_WAY_OUT}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """For ``save_model``."""
        return asdict(self)

    def reading(self, model: TSNMF, key: str | None = None) -> Reading:
        """How to read new samples for ``model``."""
        shape = model.sample_shape_
        return Reading(
            size=(shape[0], shape[1]) if len(shape) > 1 else None,
            color=len(shape) == 3,
            fit=self.fit,
            key=key or self.key,
            order=self.order,
            missing=model.missing_values,
        )

    def nearest(self, model: TSNMF, found: Assignments) -> list[str]:
        """The representative whose coefficients are nearest, for each sample."""
        own = to_numpy(model.coefficients_)[self.rows]
        return [self.representatives[j] for j in nearest_rows(found.coefficients, own)]


def _one_of_each(rows: list[Any], labels: np.ndarray) -> bool:
    """Whether ``rows`` are places of samples of cluster 0, 1, ..., all that exist."""
    places = all(type(row) is int and 0 <= row < len(labels) for row in rows)
    return places and [int(labels[row]) for row in rows] == np.unique(labels).tolist()
