"""The clusters: size, tightness, centroid, and samples in their typical order."""

import numpy as np

from twofold.app.report.clustering import Clustering
from twofold.app.report.pictures import data_uri, picture_of, shown_range
from twofold.app.report.schema import Count, Fraction, Part, Picture
from twofold.core.arrays import to_numpy


class Cluster(Part, frozen=True):
    """One cluster."""

    number: Count
    size: Count  # number of samples, shown or not
    tightness: Fraction  # mean typicality of the samples
    # Reconstruction of the mean coefficients, or of features the mean image.
    centroid: Picture
    items: list[Count]  # positions of the shown samples, the most typical first
    confidence: Fraction | None = None  # mean of the samples; None in older files


def build_clusters(clustering: Clustering) -> list[Cluster]:
    """Return the clusters by their numbers."""
    orders, centroids = clustering.orders, _centroids(clustering)
    low, high = shown_range(clustering.collection.images)
    return [
        Cluster(
            number=number,
            size=len(order),
            tightness=round(float(clustering.typical[order].mean()), 4),
            centroid=data_uri(picture_of(centroid, low, high)),
            items=clustering.shown_positions(order.tolist()),
            confidence=round(float(clustering.assignments.confidence[order].mean()), 4),
        )
        for number, (order, centroid) in enumerate(zip(orders, centroids, strict=True))
    ]


def _centroids(clustering: Clustering) -> np.ndarray:
    """Return a picture of each cluster; centroids of features are no pictures."""
    orders, images = clustering.orders, clustering.collection.images
    if clustering.collection.features is not None:
        return np.stack([images[order].mean(axis=0) for order in orders])
    coefficients = clustering.assignments.coefficients
    means = np.stack([coefficients[order].mean(axis=0) for order in orders])
    return to_numpy(clustering.model.inverse_transform(means))
