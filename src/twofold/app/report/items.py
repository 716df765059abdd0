"""The samples that a report shows: name, link, cluster, class and map coordinates."""

import os
from pathlib import Path
from urllib.parse import quote

import msgspec

from twofold.app.collection import Collection
from twofold.app.report.clustering import Clustering
from twofold.app.report.map import layout
from twofold.app.report.pictures import names_image
from twofold.app.report.schema import Count, Fraction, Link, Number, Part
from twofold.app.results import projected


class Item(Part, frozen=True):
    """One sample."""

    name: str  # path of the image file, or array and index
    link: Link | None  # address of the image file, as seen from the page
    cluster: Count
    confidence: Fraction
    error: Number  # relative reconstruction error
    class_: str | None = msgspec.field(name="class")  # known class
    x: Fraction  # coordinates on the map
    y: Fraction

    def __post_init__(self) -> None:
        # A browser would run a file that is named as a page.
        if self.link is not None and not names_image(self.link):
            raise ValueError("it has links to what is not named as an image")


def make_items(clustering: Clustering, folder: Path) -> list[Item]:
    """Return the shown samples; ``folder`` has the page, where their links start."""
    collection, assigned = clustering.collection, clustering.assignments
    shown = collection.samples[clustering.shown]
    points = layout(projected(clustering.model, shown))
    return [
        Item(
            name=printable(collection.names[i]),
            link=_link_of(collection, i, folder),
            cluster=int(assigned.clusters[i]),
            confidence=round(float(assigned.confidence[i]), 4),
            error=round(float(assigned.reconstruction_error[i]), 4),
            class_=_class_name(collection, i),
            x=round(float(x), 4),
            y=round(float(y), 4),
        )
        for i, (x, y) in zip(clustering.shown, points, strict=True)
    ]


def printable(text: str) -> str:
    """Return a path as valid Unicode; bytes that are not UTF-8 are escaped."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def _link_of(collection: Collection, i: int, folder: Path) -> str | None:
    """Return the address of the file of a sample; a frame is not the whole file."""
    if not collection.paths or collection.names[i] != str(collection.paths[i]):
        return None
    return _link(collection.paths[i], folder)


def _link(path: Path, folder: Path) -> str | None:
    """Return the address of a file as seen from the page, percent-encoded.

    It is None if the file is on another machine, which a page should not contact, or
    if the name is not that of an image.
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
