import numpy as np
import problems
import pytest

from twofold import TSNMF


@pytest.fixture(scope="session")
def images() -> np.ndarray:
    """60 images of 7 x 6 pixels in three groups, ``problems.groups()``."""
    return problems.images()


@pytest.fixture(scope="session")
def grey(images: np.ndarray) -> np.ndarray:
    """``images`` made nonnegative."""
    return images - images.min()


@pytest.fixture(scope="session")
def model(images: np.ndarray) -> TSNMF:
    """A model at its defaults, fitted to ``images``."""
    return TSNMF(3, random_state=0).fit(images)
