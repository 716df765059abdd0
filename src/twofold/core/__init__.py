"""The numerics of TS-NMF: pure functions on arrays, one per equation.

``samples`` are always (n, c, h, w), grey samples having c = 1. Arrays that
differ between runs carry a leading ``runs`` axis. The right side, which learns
P, reads the samples as they are; the left side, which learns Q, reads them
transposed through the same functions.
"""
