"""Read samples from array files and from folders of images, and cells of tables."""

from twofold.io.arrays import read_arrays, read_stack
from twofold.io.cells import from_cell, to_cell
from twofold.io.images import read_images

__all__ = ["from_cell", "read_arrays", "read_images", "read_stack", "to_cell"]
