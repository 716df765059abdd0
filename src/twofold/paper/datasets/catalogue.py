"""Catalogue of the data sets, read from ``catalogue.toml``."""

from dataclasses import dataclass
from importlib.resources import files

import msgspec


@dataclass(frozen=True)
class Entry:
    """Description of one data set."""

    name: str  # short name for code
    title: str  # title for readers
    files: tuple[str, ...]  # file names, in order of preference
    n_samples: int
    n_classes: int
    height: int  # of an image, in pixels
    width: int
    pixel_digest: str  # decode.digest of the upright uint8 images
    label_digest: str  # decode.digest of the classes, which count from 0
    addresses: tuple[str, ...]  # downloads in order; empty if there is no open address
    page: str  # web page of the data set
    about: str
    cite: str
    licence: str
    target_names: tuple[str, ...] = ()  # empty if the classes have no names

    @property
    def description(self) -> str:
        """Text for ``Bunch.DESCR``."""
        return (
            f"{self.title}\n\n{self.about}\n\n"
            f"{self.n_samples} images of {self.height} x {self.width} pixels, "
            f"{self.n_classes} classes.\n"
            f"Cite: {self.cite}\nLicence: {self.licence}\nSource: {self.page}\n"
        )


_TEXT = (files(__package__) / "catalogue.toml").read_bytes()
# Decoding checks the type of every field.
_ENTRIES = msgspec.toml.decode(_TEXT, type=dict[str, list[Entry]])["entries"]

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
"""Entries by name, in the order of the file."""
