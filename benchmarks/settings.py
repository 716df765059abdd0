"""What TSNMF was like when several pages were measured, which stay with it.

They are about speed and about missing entries, not about its defaults, which are those
of docs/defaults.md.
"""

from typing import Any

import numpy as np

NEAREST: dict[str, Any] = {
    "channels": "pixels",
    "init": "spectral",
    "graph": "heat",
    "assign_labels": "k-means",
}
"""Pixels, neighbours by distance alone, and the paper's way to labels."""


def nearest_neighbors(images: np.ndarray) -> dict[str, Any]:
    """With them, a fit of some iterations, and 40 numbers kept of a side at least."""
    directions = max(4, -(-40 // min(images.shape[1:3])))
    return {**NEAREST, "tol": 1e-2, "n_directions": directions}
