"""Numbers of any magnitude: a finite result, or an error that names X."""

import contextlib

import numpy as np
import problems
import pytest
from sklearn.base import clone

from twofold import TSNMF, AutoTSNMF
from twofold.decomposition import GNMF, PCA2D, RMNMF, Flatten, RobustPCA, SemiNMF
from twofold.estimators.reading import check_entries

IMAGES = np.abs(problems.images(n=24))

ALL = {
    "TSNMF": TSNMF(3, random_state=0),
    "TSNMF global": TSNMF(3, scale="global", graph="heat", random_state=0),
    "AutoTSNMF": AutoTSNMF(3, max_fits=2, random_state=0),
    "PCA2D": PCA2D(2, side="both"),
    "RobustPCA": RobustPCA(),
    "SemiNMF": SemiNMF(3, random_state=0),
    "GNMF": GNMF(3, random_state=0),
    "RMNMF": RMNMF(3, random_state=0),
    "Flatten": Flatten(),
}

# Largest and smallest unit in which IMAGES can be fitted, by dtype, and others.
UNITS = [
    (np.float64, 1e150, ""),
    (np.float64, 1e-150, ""),
    (np.float64, 1e160, r"up to 1e\+152, .* float64 can hold, got .*e\+160; divide X"),
    (np.float64, 1e300, r"got .*e\+300; divide X by 1e149$"),
    (np.float64, 1e-160, r"0 or from 1e-153 on, .* got .*e-160; multiply X by 1e7$"),
    (np.float64, 1e-300, r"got .*e-300; multiply X by 1e147$"),
    (np.float64, 1e-320, r"got .*e-320; multiply X by"),
    (np.float32, 1e16, ""),
    (np.float32, 1e-17, ""),
    (
        np.float32,
        1e20,
        r"float32 can hold, got .*; divide X by 1e4, or convert it to f",
    ),
    (np.float32, 1e37, r"float32 can hold, got .*e\+37; divide X by 1e21, or"),
    (np.float32, 1e-20, r"0 or from 1e-18 on, .* multiply X by 1e2, or convert it to"),
    (np.float32, 1e-40, r"float32 can hold, got .*e-40; multiply X by 1e22, or"),
]


def in_unit(unit, dtype):
    return (IMAGES * unit).astype(dtype)


def assert_finite(*values):
    for value in values:
        if isinstance(value, dict):
            assert_finite(*value.values())
        elif isinstance(value, float | np.ndarray):
            assert np.isfinite(value).all()


@pytest.mark.parametrize("model", ALL.values(), ids=ALL)
@pytest.mark.parametrize(("dtype", "unit", "reason"), UNITS)
def test_every_estimator_fits_it_or_names_x(model, dtype, unit, reason):
    X, model = in_unit(unit, dtype), clone(model)
    if reason:
        with pytest.raises(ValueError, match=f"^X must have .*{reason}") as caught:
            model.fit(X)
        assert "\n" not in str(caught.value)
        return
    model.fit(X)  # warnings are errors
    codes = model.transform(X)
    assert_finite(*vars(getattr(model, "best_estimator_", model)).values())
    assert_finite(codes, model.inverse_transform(codes))


def test_variances_are_those_of_another_unit():
    """They are squares: in a unit of 1e160 they would be infinite, and 0 in 1e-200."""
    plain = PCA2D(2).fit(IMAGES)
    for unit in (1e150, 1e-150):
        model = PCA2D(2).fit(unit * IMAGES)
        expected = plain.right_variance_ * unit * unit
        np.testing.assert_allclose(model.right_variance_, expected, rtol=1e-9)


def test_the_way_out_is_one():
    for unit in (1e160, 1e300, 1e-160, 1e-300):
        X = in_unit(unit, np.float64)
        with pytest.raises(ValueError, match="X must have") as caught:
            TSNMF(3).fit(X)
        verb, _, _, factor = str(caught.value).rpartition("; ")[-1].split()
        X = X / float(factor) if verb == "divide" else X * float(factor)
        assert_finite(TSNMF(3, random_state=0).fit(X).components_)


def test_the_limit_is_for_the_sum_of_all_squares():
    check_entries(np.full((1, 1), 3e153), "X")
    with pytest.raises(ValueError, match=r"X must have .* up to 3e\+151"):
        check_entries(np.full((100, 100), 3.1e151), "X")
    assert np.isfinite(np.sum(np.full((100, 100), 3e151) ** 2))


@pytest.mark.parametrize("scale", ["sample", "global"])
def test_samples_of_all_magnitudes_together(scale):
    """One that is almost black, or far too bright, is a sample as any other."""
    X = IMAGES.copy()
    X[3] *= 1e-300
    X[5] *= 1e120
    model = TSNMF(3, scale=scale, random_state=0).fit(X)
    assert_finite(model.components_, model.reconstruction_error_, model.transform(X))


def test_integers_up_to_the_largest():
    ends = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    X = np.random.default_rng(0).integers(*ends, size=(24, 7, 6))
    assert_finite(TSNMF(3, max_iter=500, random_state=0).fit(X).components_)


def test_numbers_beyond_double_precision():
    wide = IMAGES.astype(np.longdouble) * np.longdouble("1e400")
    if not np.isfinite(wide).all():
        pytest.skip("long doubles are doubles here")
    with pytest.raises(ValueError, match="X must be finite"):
        TSNMF(3).fit(wide)
    with pytest.raises(ValueError, match=r"X must hold numbers, .* too large"):
        TSNMF(3).fit(np.full((24, 5), 10**400, dtype=object))


NEW = {
    name: model for name, model in ALL.items() if name not in ("Flatten", "AutoTSNMF")
}


@pytest.mark.parametrize("model", NEW.values(), ids=NEW)
@pytest.mark.parametrize("unit", [1e-150, 1, 1e150])
def test_new_samples_of_another_unit(model, unit):
    """A model of any unit, and new samples of any other unit and precision."""
    model = clone(model).fit(unit * IMAGES)
    others = [(u, np.float64) for u in (1e-300, 1e-20, 1e20, 1e140)]
    for other, dtype in [*others, (1e-40, np.float32), (1e15, np.float32)]:
        if other / unit < 1e70:
            assert_finite(model.transform(in_unit(other, dtype)))
        else:  # what is divided by its own norm may be as large as it likes
            with contextlib.suppress(ValueError):
                assert_finite(model.transform(in_unit(other, dtype)))


def test_new_samples_that_are_too_large():
    for name in ("TSNMF global", "PCA2D", "RobustPCA", "SemiNMF", "GNMF", "RMNMF"):
        model = clone(ALL[name]).fit(IMAGES)
        with pytest.raises(ValueError, match=r"X must have samples of norms up to"):
            model.transform(1e100 * IMAGES)
        with pytest.raises(ValueError, match="X must have entries of magnitudes up to"):
            model.transform(1e160 * IMAGES)


@pytest.mark.parametrize("model", NEW.values(), ids=NEW)
def test_codes_that_are_too_large(model):
    model = clone(model).fit(IMAGES.astype(np.float32))
    codes = np.full(model.transform(IMAGES[:2]).shape, 1e160)
    with pytest.raises(ValueError, match=r"X must have .* got 1\.0e\+160; divide X by"):
        model.inverse_transform(codes)


def test_missing_entries_may_be_marked_by_any_number():
    mask = problems.holes(IMAGES.shape)
    for marker in (1e300, np.inf, -1e308, 1e-310):
        model = TSNMF(3, missing_values=marker, random_state=0)
        marked = np.where(mask, marker, IMAGES)
        assert_finite(model.fit(marked).components_, model.impute(marked))
