"""The numerics: pure functions on arrays, without estimators, files or global state.

The functions are written against the array API standard, so that NumPy arrays and
PyTorch tensors take the same path. Arrays that differ between the fits of a batch have
a leading axis ``batch``. The code of the right side, which learns P, serves the left
side, which learns Q, on transposed samples.
"""
