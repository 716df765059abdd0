"""Array helpers, and all operations in which NumPy and PyTorch differ."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array
from scipy.sparse import csr_array


class Array(Protocol):
    """An array of the array API standard, such as NumPy's and PyTorch's.

    The members are those that the package uses; ``len`` is not in the standard, but
    both have it. Results of operations are not typed.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""

    @property
    def ndim(self) -> int:
        """Number of axes."""

    @property
    def dtype(self) -> Any:
        """Type of the entries."""

    @property
    def T(self) -> Any:  # noqa: N802
        """Transpose of a matrix."""

    @property
    def reshape(self) -> Any:
        """Method that returns the entries in another shape; NumPy's has overloads."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __invert__(self) -> Any: ...


AnyArray = TypeVar("AnyArray", np.ndarray, Array)
"""The kind of array that a function takes and returns: NumPy's, or any."""

Tensor: TypeAlias = Any
"""A tensor whose PyTorch methods are called. PyTorch is optional, and has no types."""


def to_numpy(array: Array) -> np.ndarray:
    """Return a NumPy view or copy of an array on any device."""
    if is_numpy_array(array):
        return array
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def gpu_of(array: Array) -> Any:
    """Return the GPU on which a tensor lies; None for any other array."""
    if is_numpy_array(array):
        return None
    tensor: Tensor = array
    return tensor.device if tensor.is_cuda else None


def like(values: Any, template: AnyArray) -> AnyArray:
    """Convert ``values`` to the namespace, dtype and device of ``template``."""
    xp = array_namespace(template)
    if is_array_api_obj(values) and array_namespace(values) is not xp:
        values = to_numpy(values)
    return xp.asarray(values, dtype=template.dtype, device=device(template))


def moved(array: Array, template: Array) -> Array:
    """Move an array to the namespace and device of ``template``; keep its dtype."""
    if is_numpy_array(template):
        return to_numpy(array)
    tensor: Tensor = array
    return tensor.to(device(template))


def take(array: AnyArray, indices: Any) -> AnyArray:
    """Return a copy of the given rows of an array."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(indices, device=device(array)), axis=0)


def map_arrays(tree: Any, function: Callable[[Array], Array]) -> Any:
    """Apply a function to all arrays and lists in dataclasses, dicts and tuples."""
    if is_dataclass(tree) and not isinstance(tree, type):
        mapped = {
            f.name: map_arrays(getattr(tree, f.name), function) for f in fields(tree)
        }
        return replace(tree, **mapped)
    if isinstance(tree, dict):
        return {name: map_arrays(branch, function) for name, branch in tree.items()}
    if isinstance(tree, tuple):
        return tuple(map_arrays(branch, function) for branch in tree)
    return None if tree is None else function(tree)


def take_batch(tree: Any, entries: np.ndarray) -> Any:
    """Take entries of the batch axis of all arrays in a tree, see ``map_arrays``."""

    def taken(leaf: Any) -> Any:
        if isinstance(leaf, list):  # with an item for each entry of the batch
            return [leaf[i] for i in entries]
        return take(leaf, entries)

    return map_arrays(tree, taken)


def slices(n: int, step: int) -> list[slice]:
    """Return slices of ``step`` rows, at least one, that cover n rows."""
    step = max(1, step)
    return [slice(begin, begin + step) for begin in range(0, n, step)]


def squared_norms(points: AnyArray) -> AnyArray:
    """Compute the squared norms of the rows of (..., n, d): (..., n)."""
    if is_numpy_array(points):
        return np.vecdot(points, points)
    return (points * points).sum(-1)


def negative_absolute(array: AnyArray) -> AnyArray:
    """Return -|array|; a NumPy array is overwritten."""
    if is_numpy_array(array):
        return np.negative(np.abs(array, out=array), out=array)
    tensor: Tensor = array
    return -tensor.abs()


def gather(array: AnyArray, indices: Any) -> AnyArray:
    """Take ``array[..., indices]`` along the last axis."""
    if is_numpy_array(array):
        return np.take_along_axis(array, indices, axis=-1)
    tensor: Tensor = array
    return tensor.gather(-1, indices)


def kth_smallest(array: AnyArray, k: int) -> AnyArray:
    """Return the k-th smallest value of each row (..., n), counted from 1: (...)."""
    if is_numpy_array(array):
        return np.partition(array, k - 1, axis=-1)[..., k - 1]
    tensor: Tensor = array
    return tensor.topk(k, dim=-1, largest=False).values[..., -1]


def smallest_indices(array: AnyArray, k: int) -> AnyArray:
    """Return the indices of the k smallest values of each row, unsorted: (..., k)."""
    if is_numpy_array(array):
        return np.argpartition(array, k - 1, axis=-1)[..., :k]
    tensor: Tensor = array
    return tensor.topk(k, dim=-1, largest=False).indices


def inverses(matrices: Array) -> tuple[Array, Array]:
    """Invert matrices (batch, k, k); return also which have an inverse, (batch,).

    The other inverses are undefined.
    """
    if not is_numpy_array(matrices):
        import torch

        inverse, failed = torch.linalg.inv_ex(matrices)
        return inverse, failed == 0
    # One by one: NumPy raises for the whole batch if a single matrix is singular.
    inverse = np.zeros_like(matrices)
    exists = np.ones(len(matrices), dtype=bool)
    for i, matrix in enumerate(matrices):
        try:
            inverse[i] = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            exists[i] = False
    return inverse, exists


_SMALL_FACTOR = 128
"""Half the size of triangular matrices from which on they are inverted by blocks."""


def lower_inverses(factors: Array) -> Array:
    """Invert lower triangular matrices L (batch, d, d).

    By NumPy alone: SciPy has a BLAS of its own, and where both have several threads,
    those of one keep the cores busy while those of the other wait for them.
    """
    if is_numpy_array(factors):
        return _lower_inverses_by_blocks(factors)
    import torch

    tensor: Tensor = factors
    identity = torch.eye(tensor.shape[-1], dtype=tensor.dtype, device=tensor.device)
    return torch.linalg.solve_triangular(
        tensor, identity.expand_as(tensor), upper=False
    )


def _lower_inverses_by_blocks(factors: np.ndarray) -> np.ndarray:
    """Invert [[A, 0], [B, C]] to [[A^-1, 0], [-C^-1 B A^-1, C^-1]].

    It takes a third of the operations of a general inverse, nearly all of them in
    products of matrices.
    """
    half = factors.shape[-1] // 2
    if half < _SMALL_FACTOR:
        return np.linalg.inv(factors)
    first = _lower_inverses_by_blocks(factors[..., :half, :half])
    second = _lower_inverses_by_blocks(factors[..., half:, half:])
    inverses = np.zeros_like(factors)
    inverses[..., :half, :half], inverses[..., half:, half:] = first, second
    inverses[..., half:, :half] = -second @ (factors[..., half:, :half] @ first)
    return inverses


def filter_dtype(array: Array) -> Any:
    """Return float32, or float64 if PyTorch multiplies float32 in lower precision."""
    if is_numpy_array(array):
        return np.float32
    import torch

    try:
        exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # set differently for one kind of device
        exact = False
    return torch.float32 if exact else torch.float64


def symmetric_product(neighbors: Array, weights: Array, dense: Array) -> Array:
    """Compute (A + A') M of tensors, for M (batch, n, k): (batch, n, k).

    Row i of A has ``weights[i, s]`` in column ``neighbors[i, s]``, both (batch, n, q).
    """
    batch, n, q = neighbors.shape
    columns = flat_neighbors(neighbors)
    flat = dense.reshape(batch * n, -1)
    edges = weights.reshape(batch * n, q, 1)
    result = (edges * flat[columns]).sum(1)
    # The product with A' adds every row of M to the rows of its neighbours.
    spread = (edges * flat[:, None, :]).reshape(batch * n * q, flat.shape[1])
    result.index_add_(0, columns.reshape(-1), spread)
    return result.reshape(dense.shape)


def row_sums(neighbors: Array, weights: Array) -> Array:
    """Compute the row sums (batch, n, 1) of A + A', for A as in the function above."""
    if not is_numpy_array(weights):
        ones = array_namespace(weights).ones_like(weights[..., :1])
        return symmetric_product(neighbors, weights, ones)
    columns = flat_neighbors(neighbors).reshape(-1)
    counted = np.bincount(columns, weights.reshape(-1), minlength=weights[..., 0].size)
    sums = weights.sum(axis=-1, keepdims=True)
    return sums + counted.astype(weights.dtype).reshape(sums.shape)


def flat_neighbors(neighbors: Array, n: int | None = None) -> Array:
    """Return neighbour lists (batch * m, q) of the disjoint union of the graphs.

    Each graph has n samples; n is m by default.
    """
    xp = array_namespace(neighbors)
    batch, m, q = neighbors.shape
    graphs_before = xp.arange(batch, dtype=neighbors.dtype, device=device(neighbors))
    offsets = (n or m) * graphs_before
    return (neighbors + offsets[:, None, None]).reshape(batch * m, q)


def sparse_rows(columns: Array, entries: Array) -> csr_array:
    """Return the sparse (n, n) array with ``entries`` (n, q) in ``columns`` (n, q)."""
    n, q = columns.shape
    flat = to_numpy(entries).reshape(-1), to_numpy(columns).reshape(-1)
    return csr_array((*flat, np.arange(0, n * q + 1, q)), shape=(n, n))


def positive_or_one(array: AnyArray) -> AnyArray:
    """Replace zeros by 1, for a division."""
    xp = array_namespace(array)
    return xp.where(array > 0, array, xp.ones_like(array))
