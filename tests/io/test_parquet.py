"""Columns of Parquet files, written by pyarrow and pandas."""

import sys

import numpy as np
import pandas as pd
import pytest

from twofold.io import read_arrays, read_stack
from twofold.io.arrays import open_arrays

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = np.random.default_rng(0).normal(size=(7, 6)).astype(np.float32)
NAMES = [f"\u00e9{i}.png" for i in range(7)]


def texts(path, name):
    with open_arrays(path) as file:
        return file.read([name])[name].tolist()


@pytest.mark.parametrize(
    "column",
    [
        pa.array(ROWS.tolist(), pa.list_(pa.float32())),
        pa.array(ROWS.tolist(), pa.large_list(pa.float32())),
        pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), 6),
    ],
)
@pytest.mark.parametrize("group", [3, 100])
def test_a_column_of_lists_is_a_matrix(tmp_path, column, group):
    path = tmp_path / "a.parquet"
    # What a struct and a map are stored as stands before and after.
    both = pa.array([{"a": 1, "b": "x"}] * 7)
    pairs = pa.array([[("a", 1)]] * 7, pa.map_(pa.string(), pa.int64()))
    columns = {"both": both, "e": column, "pairs": pairs, "path": pa.array(NAMES)}
    pq.write_table(pa.table(columns | {"label": range(7)}), path, row_group_size=group)
    found = read_stack(path)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, ROWS)
    np.testing.assert_array_equal(read_arrays(path)["label"], range(7))
    assert texts(path, "path") == NAMES


def test_lists_of_lists_are_a_matrix_for_each_row(tmp_path):
    stack = ROWS.astype(float).reshape(7, 3, 2)
    pq.write_table(pa.table({"e": stack.tolist()}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_stack(tmp_path / "a.parquet"), stack)


def test_columns_of_numbers_are_a_matrix_without_the_index_of_pandas(tmp_path):
    path = tmp_path / "a.parquet"
    table = pd.DataFrame(ROWS, columns=[f"f.{i}" for i in range(6)])
    table["path"] = pd.Categorical(NAMES)
    table.iloc[::-1].to_parquet(path)  # the index is a column, too
    np.testing.assert_array_equal(read_stack(path), ROWS[::-1])
    assert texts(path, "path") == NAMES[::-1]


def test_empty_cells_are_nan(tmp_path):
    pq.write_table(pa.table({"a": [1.0, None], "b": [2, None]}), tmp_path / "a.parquet")
    found = read_stack(tmp_path / "a.parquet")
    np.testing.assert_array_equal(found, [[1, 2], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1.0], [1.0, 2.0]], "lists must have one length, got 1 and 2"),
        ([[1.0], None], "rows without a list"),
        ([[]], "its lists are empty"),
    ],
)
def test_lists_that_are_no_matrix(tmp_path, lists, message):
    column = pa.array(lists, pa.list_(pa.float64()))
    pq.write_table(pa.table({"e": column}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        read_stack(tmp_path / "a.parquet")


def test_lists_of_one_length_in_each_part_only(tmp_path):
    column = pa.array([[1.0], [1.0, 2.0]])
    pq.write_table(pa.table({"e": column}), tmp_path / "a.parquet", row_group_size=1)
    with pytest.raises(ValueError, match="lists must have one length"):
        read_stack(tmp_path / "a.parquet")


def test_a_small_file_of_huge_content_is_refused_by_its_header(tmp_path):
    path = tmp_path / "a.parquet"
    column = pa.DictionaryArray.from_arrays(np.zeros(10**6, dtype=np.int32), [0.5])
    pq.write_table(pa.table({"e": column.dictionary_decode()}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"would take 15\.3 MiB, and max_memory"):
        read_stack(path, max_memory=10**6)


def test_texts_that_repeat_are_kept_once(tmp_path):
    path = tmp_path / "a.parquet"
    column = pa.array(["x" * 10_000, "y"] * 500)
    pq.write_table(pa.table({"e": np.zeros(1000), "path": column}), path)
    found = texts(path, "path")
    assert found == column.to_pylist()
    assert len({id(text) for text in found}) == 2


def test_without_pyarrow_one_line_says_how_to_get_it(tmp_path, monkeypatch):
    pq.write_table(pa.table({"e": [1.0]}), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "twofold\[parquet\]"') as error:
        read_stack(tmp_path / "a.parquet")
    assert "\n" not in str(error.value)


def test_a_column_in_another_file_is_not_read(tmp_path):
    path = tmp_path / "a.parquet"
    parts = []
    table = pa.table({"e": ROWS.tolist()})
    pq.write_table(table, tmp_path / "b.parquet", metadata_collector=parts)
    parts[0].set_file_path("b.parquet")
    pq.write_metadata(table.schema, path, metadata_collector=parts)
    with pytest.raises(ValueError, match="e is stored in another file, which is not"):
        read_stack(path)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_names_in_bytes_are_refused_rather_than_left_out(tmp_path, kind):
    names = pa.array([name.encode() for name in NAMES], kind)
    pq.write_table(
        pa.table({"path": names, "e": ROWS.tolist()}), tmp_path / "a.parquet"
    )
    with pytest.raises(ValueError, match=r"path.* holds bytes; write texts instead"):
        texts(tmp_path / "a.parquet", "path")


def test_views_of_texts_are_texts(tmp_path):
    names = pa.array(NAMES, pa.string_view())
    pq.write_table(
        pa.table({"path": names, "e": ROWS.tolist()}), tmp_path / "a.parquet"
    )
    assert texts(tmp_path / "a.parquet", "path") == NAMES


def test_a_column_of_texts_does_not_hide_the_table(tmp_path):
    table = pa.table({"data": NAMES, "x": ROWS[:, 0], "y": ROWS[:, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_stack(tmp_path / "a.parquet"), ROWS[:, :2])


def test_empty_cells_of_booleans_are_nan(tmp_path):
    table = pa.table({"x": [True, None, False], "y": [True, True, False]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_stack(tmp_path / "a.parquet")
    np.testing.assert_array_equal(found, [[1, 1], [np.nan, 1], [0, 0]])
