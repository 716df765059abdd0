"""The columns of a Parquet file, by pyarrow.

A Parquet file can say that a column is stored in another file. Such a file is refused,
and pyarrow gets the open file rather than a path, so that it opens no other.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from twofold.io.stored import StoredArray, refused

_TABLE = "data"
"""Name of the array of all columns of numbers, in a file without columns of lists."""

_INDEX = "__index_level_"
"""Beginning of the name of an index that pandas has added to the columns."""

_MOST_PARTS = 1_000_000
"""Maximum number of entries of a list in the header."""


class _Column(NamedTuple):
    """What the header says of a column."""

    name: str
    kind: Any  # type of its entries, of lists the innermost
    is_list: bool
    n_values: int
    n_bytes: int  # memory that its content takes, without compression
    elsewhere: bool  # whether it is stored in another file


@contextmanager
def parquet_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the columns of lists of numbers, of numbers, and of texts.

    If there is no column of lists, all columns of numbers are one array.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            f"{file.name}: is a Parquet file, which takes pyarrow to read: "
            'pip install "twofold[parquet]"'
        ) from None
    size = os.fstat(file.fileno()).st_size
    # A list in the header has no more entries than the file has bytes.
    limits = {"thrift_container_size_limit": min(size + 1, _MOST_PARTS)}
    with parquet.ParquetFile(file, pre_buffer=False, **limits) as opened:
        columns = _columns(opened)
        # Texts that repeat are kept once: few bytes can stand for many long texts.
        texts = [column.name for column in columns if _is_text(column)]
        options = {"metadata": opened.metadata, "read_dictionary": texts, **limits}
        encoded = parquet.ParquetFile(file, pre_buffer=False, **options)
        yield _arrays(opened, encoded, columns)


def _arrays(
    opened: Any, encoded: Any, columns: list[_Column]
) -> dict[str, StoredArray]:
    """Return the arrays by name; ``encoded`` reads texts as dictionaries."""
    rows = opened.metadata.num_rows
    numbers = [c for c in columns if _is_number(c) and not c.name.startswith(_INDEX)]
    lists = [column for column in numbers if column.is_list]
    if lists:
        arrays = {c.name: _stored(opened, [c], _shape(c, rows)) for c in numbers}
    else:
        arrays = {_TABLE: _stored(opened, numbers, (rows, len(numbers)))}
    for column in columns:
        name = f"{column.name} (texts)" if column.name in arrays else column.name
        if _is_text(column):
            arrays[name] = _stored_texts(encoded, column)
        elif _is_bytes(column):
            arrays[name] = refused("holds bytes; write texts instead", is_text=True)
    return arrays


def _shape(column: _Column, rows: int) -> tuple[int, ...]:
    """Return the shape of a column, of lists as far as the header tells it."""
    return (rows, column.n_values // max(rows, 1)) if column.is_list else (rows,)


def _columns(opened: Any) -> list[_Column]:
    """Return the columns that are flat or lists, from the header."""
    header, place, columns = opened.metadata, 0, []
    for field in opened.schema_arrow:
        kind, is_list = _plain(field.type), False
        while _is_list(kind):
            kind, is_list = _plain(kind.value_type), True
        leaves = _count_leaves(kind)
        if leaves == 1:
            groups = range(header.num_row_groups)
            parts = [header.row_group(g).column(place) for g in groups]
            columns.append(_column(field.name, kind, is_list, parts))
        place += leaves
    return columns


def _column(name: str, kind: Any, is_list: bool, parts: list[Any]) -> _Column:
    """Return a column; ``parts`` are the headers of its parts."""
    n_values = sum(part.num_values for part in parts)
    n_bytes = sum(part.total_uncompressed_size for part in parts)
    if min([n_values, n_bytes, *(part.num_values for part in parts)]) < 0:
        raise ValueError(f"{name} has an impossible size")
    elsewhere = any(part.file_path for part in parts)
    return _Column(name, kind, is_list, n_values, n_bytes, elsewhere)


def _stored(opened: Any, columns: list[_Column], shape: tuple[int, ...]) -> StoredArray:
    """Return columns of numbers as one array."""
    if any(column.elsewhere for column in columns):
        return refused("is stored in another file, which is not read")
    n_values = sum(column.n_values for column in columns)
    width = max(((column.kind.bit_width + 7) // 8 for column in columns), default=0)
    # Pages without compression, the columns, and the array that is made of them.
    n_bytes = 2 * n_values * width + sum(column.n_bytes for column in columns)

    def read() -> np.ndarray:
        names, parts, left = [c.name for c in columns], [], n_values
        for group in range(opened.metadata.num_row_groups):
            table = opened.read_row_group(group, columns=names, use_threads=False)
            part = [_numbers(table.column(name)) for name in names]
            left -= sum(array.size for array in part)
            if left < 0:
                raise ValueError("a column has more than the header says")
            parts.append(part[0] if len(shape) == 1 else _side_by_side(part))
        return _joined(parts)

    return StoredArray(shape, n_bytes, read)


def _side_by_side(part: list[np.ndarray]) -> np.ndarray:
    """Return columns (n,) as a table; lists, which are one column, are one already."""
    return part[0] if part[0].ndim > 1 else np.stack(part, axis=1)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join the parts of an array; those of lists must have lists of one length."""
    if len({part.shape[1:] for part in parts if len(part)}) > 1:
        raise ValueError("its lists must have one length")
    return np.concatenate([part for part in parts if len(part)])


def _numbers(column: Any) -> np.ndarray:
    """Return a column of numbers (n,), or of lists of them (n, d), (n, p, c), ..."""
    return _joined([_chunk(chunk) for chunk in column.chunks])


def _chunk(chunk: Any) -> np.ndarray:
    """Return a part of a column as an array."""
    from pyarrow import compute, types

    chunk, shape = getattr(chunk, "storage", chunk), [len(chunk)]
    while _is_list(chunk.type):
        if chunk.null_count:
            raise ValueError("it has rows without a list")
        lengths = np.unique(compute.list_value_length(chunk).to_numpy())
        if len(lengths) > 1:
            raise ValueError(
                f"its lists must have one length, got {lengths[0]} and {lengths[-1]}"
            )
        if lengths.tolist() == [0]:
            raise ValueError("its lists are empty")
        shape.append(int(lengths[0]) if len(lengths) else 0)
        chunk = chunk.flatten()
        chunk = getattr(chunk, "storage", chunk)
    if types.is_boolean(chunk.type) and chunk.null_count:  # as integers: NaN
        chunk = chunk.cast("uint8")
    return chunk.to_numpy(zero_copy_only=False).reshape(shape)


def _stored_texts(encoded: Any, column: _Column) -> StoredArray:
    """Return a column of texts, which is read to an array of str objects."""
    if column.elsewhere:
        return refused("is stored in another file, which is not read", is_text=True)

    def read() -> np.ndarray:
        table = encoded.read(columns=[column.name], use_threads=False)
        chunks = table.column(column.name).chunks
        if sum(chunk.null_count for chunk in chunks):
            raise ValueError(f"{column.name} has rows without a text")
        parts = [_decoded(chunk) for chunk in chunks if len(chunk)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=object)

    n_bytes = column.n_bytes + 16 * column.n_values
    return StoredArray((column.n_values,), n_bytes, read, is_text=True)


def _decoded(chunk: Any) -> np.ndarray:
    """Return the texts of a dictionary and its indices; each text is kept once."""
    texts = np.array(chunk.dictionary.to_pylist(), dtype=object)
    return texts[chunk.indices.to_numpy(zero_copy_only=False)]


def _plain(kind: Any) -> Any:
    """Return the type in which a type of another package, such as a tensor, is kept."""
    return getattr(kind, "storage_type", kind)


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return any(
        test(kind)
        for test in (types.is_list, types.is_large_list, types.is_fixed_size_list)
    )


def _is_number(column: _Column) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean)
    return any(test(column.kind) for test in tests)


def _is_text(column: _Column) -> bool:
    from pyarrow import types

    return _is_flat(
        column, types.is_string, types.is_large_string, types.is_string_view
    )


def _is_bytes(column: _Column) -> bool:
    from pyarrow import types

    return _is_flat(
        column, types.is_binary, types.is_large_binary, types.is_fixed_size_binary
    )


def _is_flat(column: _Column, *tests: Callable[[Any], bool]) -> bool:
    """Return whether a column, no lists, has a type that passes one of the tests."""
    from pyarrow import types

    kind = column.kind
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(test(kind) for test in tests) and not column.is_list


def _count_leaves(kind: Any) -> int:
    """Return the number of columns that a field is stored as."""
    from pyarrow import types

    kind = _plain(kind)
    if _is_list(kind):
        return _count_leaves(kind.value_type)
    if types.is_struct(kind) or types.is_map(kind):
        fields = [kind.key_type, kind.item_type] if types.is_map(kind) else kind
        return sum(_count_leaves(getattr(f, "type", f)) for f in fields)
    return 1
