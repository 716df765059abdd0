"""Inputs in which there is nothing to be found, made by a seed."""

from collections.abc import Callable

import numpy as np
from defaults import load
from scipy.ndimage import gaussian_filter, shift

Random = np.random.RandomState

Kind = Callable[[Random, int, int], np.ndarray]
"""A function from randomness, n and the side of images to samples."""


def pixels_of(name: str, random: Random, n: int) -> np.ndarray:
    """Some images of a set, at most as many as there are."""
    X, _ = load(name)
    some = random.permutation(len(X))[:n]
    return np.asarray(X[some], dtype=float)


def shuffled(name: str) -> Kind:
    """Images each of whose pixels are shuffled."""

    def make(random: Random, n: int, side: int) -> np.ndarray:
        X = pixels_of(name, random, n)
        flat = X.reshape(len(X), -1)
        order = random.uniform(size=flat.shape).argsort(axis=1)
        return np.take_along_axis(flat, order, axis=1).reshape(X.shape)

    return make


def scrambled(name: str) -> Kind:
    """Images with the spectra of real ones, and the phases of noise."""

    def make(random: Random, n: int, side: int) -> np.ndarray:
        X = pixels_of(name, random, n)
        phases = np.angle(np.fft.fft2(random.normal(size=X.shape)))
        phases[:, 0, 0] = 0  # else half of the images are negative, a second kind
        amplitudes = np.abs(np.fft.fft2(X))
        return np.asarray(np.fft.ifft2(amplitudes * np.exp(1j * phases)).real)

    return make


def one_image(
    name: str, noise: float, *, light: bool = False, moved: float = 0.0
) -> Kind:
    """One image with noise, in changing light or at changing places."""

    def make(random: Random, n: int, side: int) -> np.ndarray:
        [image] = pixels_of(name, random, 1)
        image = np.pad(image / image.std(), 4, mode="edge")
        moves = random.uniform(-moved, moved, (n, 2))
        X = np.stack([shift(image, move, order=1) for move in moves])[:, 4:-4, 4:-4]
        if light:
            X = lit(random, X)
        return X + noise * random.normal(size=X.shape)

    return make


def lit(random: Random, X: np.ndarray, most: float = 2.0) -> np.ndarray:
    """The same images in changing contrast and brightness."""
    shape = (len(X), *(1,) * (X.ndim - 1))
    return random.uniform(0.3, 2, shape) * X + random.uniform(0, most, shape)


def smooth(width: float, *, light: bool = False) -> Kind:
    def make(random: Random, n: int, side: int) -> np.ndarray:
        noise = random.normal(size=(n, side, side))
        X = np.asarray(gaussian_filter(noise, (0, width, width), mode="wrap"))
        return lit(random, X / X.std(), 5.0) if light else X

    return make


def reddish(random: Random, n: int, side: int) -> np.ndarray:
    """Noise of amplitude 1/f."""
    one = np.fft.fftfreq(side)
    frequency = np.hypot(one[:, None], one)
    frequency[0, 0] = 1 / side
    noise = np.fft.fft2(random.normal(size=(n, side, side)))
    return np.asarray(np.fft.ifft2(noise / frequency).real)


def dotted(dots: float, light: float) -> Kind:
    """Blank frames with a few bright pixels."""

    def make(random: Random, n: int, side: int) -> np.ndarray:
        lit_up = random.uniform(size=(n, side, side)) < dots / side**2
        return light + lit_up * random.uniform(100, 200, (n, side, side))

    return make


def few_directions(rank: int) -> Kind:
    """A Gaussian cloud of few dimensions, with a little noise."""

    def make(random: Random, n: int, side: int) -> np.ndarray:
        X = random.normal(size=(n, rank)) @ random.normal(size=(rank, side**2))
        X += 0.05 * np.sqrt(rank) * random.normal(size=X.shape)
        return X.reshape(n, side, side)

    return make


def spectrogram(random: Random, n: int, side: int) -> np.ndarray:
    """Logarithmic spectrograms of white noise."""
    sound = random.normal(size=(n, side, 32)) * np.hanning(32)
    power = np.abs(np.fft.rfft(sound, axis=2))[:, :, :16] ** 2
    return np.asarray(np.log(power + 1e-3))


def ramp(random: Random, n: int, side: int) -> np.ndarray:
    slope, at = random.uniform(-1, 1, (n, 1, 1)), np.linspace(0, 1, side)
    return 2 + slope * at[:, None] + 0.02 * random.normal(size=(n, side, side))


def ring(random: Random, n: int, side: int) -> np.ndarray:
    """Ramps of brightness in any direction."""
    angle, at = random.uniform(0, 2 * np.pi, (n, 1, 1)), np.linspace(-1, 1, side)
    X = 2 + np.cos(angle) * at[:, None] + np.sin(angle) * at
    return np.asarray(X + 0.1 * random.normal(size=X.shape))


def blob(random: Random, n: int, side: int) -> np.ndarray:
    """A blob anywhere."""
    centre = random.uniform(0.25, 0.75, (n, 2, 1, 1)) * side
    i, j = np.mgrid[:side, :side]
    squared = (i - centre[:, 0]) ** 2 + (j - centre[:, 1]) ** 2
    X = np.exp(-squared / (2 * (side / 8) ** 2))
    return np.asarray(X + 0.05 * random.normal(size=X.shape))


def grating(random: Random, n: int, side: int) -> np.ndarray:
    """Gratings of any direction and phase."""
    angle = random.uniform(0, np.pi, (n, 1, 1))
    phase = random.uniform(0, 2 * np.pi, (n, 1, 1))
    i, j = np.mgrid[:side, :side]
    waves = 6 * np.pi * (np.cos(angle) * i + np.sin(angle) * j) / side
    return np.asarray(np.cos(waves + phase) + 0.3 * random.normal(size=waves.shape))


NOTHING: dict[str, Kind] = {
    "shuffled pixels of faces": shuffled("orl"),
    "shuffled pixels of digits": shuffled("mnist-2000"),
    "shuffled pixels of faces in all light": shuffled("eyaleb-10"),
    "Gaussian noise": lambda random, n, side: random.normal(size=(n, side, side)),
    "uniform noise": lambda random, n, side: random.uniform(size=(n, side, side)),
    "Poisson noise": lambda random, n, side: random.poisson(5.0, (n, side, side)),
    "smooth noise, width 1": smooth(1),
    "smooth noise, width 4": smooth(4),
    "1/f noise": reddish,
    "noise in changing light": lambda random, n, side: lit(
        random, random.normal(size=(n, side, side)), 6.0
    ),
    "smooth noise in changing light": smooth(2, light=True),
    "one face and noise": one_image("orl", 0.5),
    "one digit and noise": one_image("mnist-2000", 0.7),
    "one face in changing light": one_image("orl", 0.2, light=True),
    "one face, light, half a pixel of jitter": one_image(
        "orl", 0.2, light=True, moved=0.5
    ),
    "uniform grey": lambda random, n, side: np.broadcast_to(
        random.uniform(10, 255, (n, 1, 1)), (n, side, side)
    ),
    "uniform grey, whole numbers and noise": lambda random, n, side: (
        random.randint(0, 256, (n, 1, 1)) + random.randint(0, 3, (n, side, side))
    ),
    "uniform colours": lambda random, n, side: np.broadcast_to(
        random.randint(1, 256, (n, 1, 1, 3)), (n, side, side, 3)
    ),
    "blank frames with 5 dots": dotted(5, 0),
    "blank frames with 20 dots": dotted(20, 20),
    "a cloud of 3 dimensions": few_directions(3),
    "a cloud of 5 dimensions": few_directions(5),
    "a cloud of 20 dimensions": few_directions(20),
    "spectrograms of white noise": spectrogram,
    "faces with random phases": scrambled("orl"),
    "faces in all light with random phases": scrambled("eyaleb-10"),
    "vectors of Gaussian noise": lambda random, n, side: random.normal(size=(n, 10)),
    "vectors of uniform noise": lambda random, n, side: random.uniform(size=(n, 50)),
}
"""Kinds of samples without clusters."""

CONTINUA: dict[str, Kind] = {
    "ramps of brightness": ramp,
    "ramps in any direction": ring,
    "a blob anywhere": blob,
    "gratings": grating,
    "one face, two pixels of jitter": one_image("orl", 0.1, moved=2),
    "one digit, three pixels of jitter": one_image("mnist-2000", 0.2, moved=3),
}
"""Curved families of images, without a gap."""
