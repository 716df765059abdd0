"""Read samples from array files and from folders of images."""

from twofold.io.arrays import read_arrays, read_stack
from twofold.io.images import read_images

__all__ = ["read_arrays", "read_images", "read_stack"]
