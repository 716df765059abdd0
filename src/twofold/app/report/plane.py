"""t-SNE of a graph: its samples in the plane, joined ones near each other.

The points y minimise the divergence, sum_ij p_ij log(p_ij / q_ij), where p_ij are the
given affinities and q_ij is proportional to 1 / (1 + |y_i - y_j|^2). Joined samples
attract each other, and all repel each other. The repulsion is a convolution of the
points with a smooth kernel, computed on a grid by FFTs, as Linderman et al. do (2019):
an iteration takes a time that is linear in the number of samples. Nothing is random.
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.sparse import csr_array

_PHASES = ((40, 12.0, 0.8), (100, 1.0, 0.9))
"""Iterations, factor of the attraction and momentum: groups form first, then spread."""

_NODES_PER_BOX = 3
"""Nodes per axis by which the kernel is interpolated in a box of the grid."""

_BOXES = (16, 64)
"""Fewest and most boxes of the grid along an axis."""

_LADDER = 1.1
"""Ratio of the sizes that a grid may have, so that few kernels are computed."""

_LONGEST_STEP = 5.0
"""Longest step of a point in an iteration; the kernel has width 1."""


def embed(affinities: csr_array, start: np.ndarray) -> np.ndarray:
    """Return points (n, 2) of small divergence from the affinities.

    Parameters
    ----------
    affinities : csr_array of shape (n, n)
        Nonnegative and symmetric, of sum 1, without a diagonal.
    start : ndarray of shape (n, 2)
        Points at which the descent starts.
    """
    n = len(start)
    points = np.array(start, dtype=np.float64)
    grid = Grid(n)
    step, gains = np.zeros_like(points), np.ones_like(points)
    for iterations, factor, momentum in _PHASES:
        rate = n / factor
        for _ in range(iterations):
            gradient = factor * attraction(affinities, points) - grid.repulsion(points)
            # Steps grow along a direction that is kept, and shrink where it turns.
            gains = np.where(step * gradient < 0, gains + 0.2, gains * 0.8)
            gains = np.clip(gains, 0.01, None)
            step = momentum * step - rate * gains * gradient
            length = np.hypot(*step.T)[:, None]
            step *= _LONGEST_STEP / np.maximum(length, _LONGEST_STEP)
            points += step
            points -= points.mean(axis=0)
    return points


def attraction(affinities: csr_array, points: np.ndarray) -> np.ndarray:
    """Return sum_j p_ij (y_i - y_j) / (1 + |y_i - y_j|^2) of every point: (n, 2)."""
    ends, degrees = affinities.indices, np.diff(affinities.indptr)
    squared = np.ones(len(ends))
    for axis in np.ascontiguousarray(points.T):
        squared += (np.repeat(axis, degrees) - axis[ends]) ** 2
    parts = affinities.data / squared, ends, affinities.indptr
    pull = csr_array(parts, shape=affinities.shape)
    total, *sums = (pull @ np.column_stack([np.ones(len(points)), points])).T
    return total[:, None] * points - np.stack(sums, axis=1)


@dataclass
class Grid:
    """A square grid of nodes, on which the repulsion of points is computed."""

    n: int  # number of points

    def __post_init__(self) -> None:
        boxes = int(np.clip(np.sqrt(self.n), *_BOXES))
        self._nodes = _NODES_PER_BOX * boxes
        # Room for a kernel that reaches from the first node to the last, both ways.
        self._size = next_fast_len(2 * self._nodes, real=True)
        self._spacing = 0.0
        self._kernels: list[np.ndarray] = []

    def repulsion(self, points: np.ndarray) -> np.ndarray:
        """Return sum_j (y_i - y_j) / (1 + |y_i - y_j|^2)^2 / Z of every point: (n, 2).

        Z is sum_ij 1 / (1 + |y_i - y_j|^2) over all i != j.
        """
        axes = np.ascontiguousarray(points.T)  # long rows are faster than columns
        axes -= axes.min(axis=1, keepdims=True)
        self._set_spacing(float(axes.max()))
        spread = self._interpolation(axes)
        charges = (spread.T @ np.ones(self.n)).reshape(self._nodes, self._nodes)
        shape = self._size, self._size
        spectrum = rfft2(charges.astype(np.float32), shape)
        fields = [
            irfft2(spectrum * kernel, shape)[: self._nodes, : self._nodes].ravel()
            for kernel in self._kernels
        ]
        potential, across, down = (spread @ np.stack(fields, axis=1)).T
        # A point does not repel itself: its own part of the potential is 1.
        total = max(float(potential.sum()) - self.n, 1e-12)
        return np.stack([across, down], axis=1) / total

    def _set_spacing(self, span: float) -> None:
        """Choose the spacing of the nodes for points of a given span."""
        needed = max(span, 1e-3) / self._nodes * 1.001
        spacing = _LADDER ** np.ceil(np.log(needed) / np.log(_LADDER))
        if spacing == self._spacing:
            return
        self._spacing = spacing
        steps = np.arange(self._size)
        steps = spacing * np.where(steps < self._nodes, steps, steps - self._size)
        x, y = steps[:, None], steps[None, :]
        kernel = 1 / (1 + x**2 + y**2)
        kernels = kernel, x * kernel**2, y * kernel**2
        self._kernels = [rfft2(k.astype(np.float32)) for k in kernels]

    def _interpolation(self, axes: np.ndarray) -> csr_array:
        """Return the weights of the nodes around every point: (n, nodes^2), sparse.

        In each box, the nodes are interpolated by a parabola along both axes (2, n).
        """
        places = axes / self._spacing
        box = np.floor(places / _NODES_PER_BOX).astype(np.int32)
        t = places - _NODES_PER_BOX * box - 1.5  # from the node in the middle
        weights = np.stack([t * (t - 1) / 2, 1 - t**2, t * (t + 1) / 2], axis=2)
        nodes = _NODES_PER_BOX * box[:, :, None] + np.arange(_NODES_PER_BOX)
        data = weights[0, :, :, None] * weights[1, :, None, :]
        columns = self._nodes * nodes[0, :, :, None] + nodes[1, :, None, :]
        ends = np.arange(0, data.size + 1, _NODES_PER_BOX**2)
        shape = self.n, self._nodes**2
        return csr_array((data.ravel(), columns.ravel(), ends), shape=shape)
