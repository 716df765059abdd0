import numpy as np
import problems
import pytest

from twofold.core.missing import completion
from twofold.core.missing.completion import (
    Completion,
    complete,
    held_out,
    learn_completion,
    mean_filled,
)


def smooth_stack(n=40, h=12, w=10, rank=3, seed=0):
    """Return samples about a mean, with few directions of rows and of columns."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(h, rank)), rng.normal(size=(w, rank))
    mean = left @ rng.normal(size=(rank, rank)) @ right.T
    return (mean + left @ rng.normal(size=(n, rank, rank)) @ right.T)[:, None]


def random_mask(shape, share, seed=1):
    return np.random.default_rng(seed).uniform(size=shape) < share


def deviation(found, truth, missing):
    """Return the error of missing entries, relative to their spread about the mean."""
    spread = (truth - truth.mean(axis=0))[missing]
    return np.linalg.norm((found - truth)[missing]) / np.linalg.norm(spread)


def test_it_converges_to_the_conditional_mean_of_the_gaussian(monkeypatch):
    """E[x_missing | observed] = m + K_mo (K_oo + I)^-1 (x_o - m_o), brute force."""
    monkeypatch.setattr(completion, "_FILLING_ROUNDS", 2000)

    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for d in (4, 3))
    gain = rng.uniform(0.1, 0.9, size=(2, 4, 3))
    known = Completion(rng.normal(size=(2, 4, 3)), left, right, gain)
    samples, missing = problems.stack((5, 2, 4, 3)), random_mask((5, 2, 4, 3), 0.5)
    found = complete(np.where(missing, 0.0, samples), missing, known)
    for c in range(2):
        basis = np.kron(left, right)  # of a channel's pixels, row by row
        ratio = (gain[c] / (1 - gain[c])).reshape(-1)  # variance over noise
        covariance = basis * ratio @ basis.T
        for i in range(5):
            hidden = missing[i, c].reshape(-1)
            off = (samples[i, c] - known.mean[c]).reshape(-1)[~hidden]
            observed = covariance[np.ix_(~hidden, ~hidden)] + np.eye((~hidden).sum())
            expected = covariance[np.ix_(hidden, ~hidden)] @ np.linalg.solve(
                observed, off
            )
            expected += known.mean[c].reshape(-1)[hidden]
            np.testing.assert_allclose(
                found[i, c].reshape(-1)[hidden], expected, atol=1e-9
            )


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6])
def test_samples_of_low_rank_are_recovered(share):
    truth = smooth_stack()
    missing = random_mask(truth.shape, share)
    samples = np.where(missing, 0.0, truth)
    found = complete(samples, missing, learn_completion(samples, missing))
    np.testing.assert_array_equal(found[~missing], truth[~missing])
    assert deviation(found, truth, missing) < 0.1
    assert deviation(mean_filled(samples, missing), truth, missing) > 0.9


def test_noise_is_not_taken_for_structure():
    """For independent entries, the mean is the best prediction."""
    truth = np.random.default_rng(0).normal(size=(200, 1, 8, 8))
    missing = random_mask(truth.shape, 0.4)
    samples = np.where(missing, 0.0, truth)
    found = complete(samples, missing, learn_completion(samples, missing))
    assert deviation(found, truth, missing) < 1.05


def test_new_samples_are_completed_by_the_model_of_the_fit():
    stack = smooth_stack(n=80)
    missing = random_mask(stack.shape, 0.4)
    samples = np.where(missing, 0.0, stack)
    known = learn_completion(samples[:60], missing[:60])
    new = complete(samples[60:], missing[60:], known)
    assert deviation(new, stack[60:], missing[60:]) < 0.15


def test_many_samples_are_subsampled_evenly(monkeypatch):
    truth = smooth_stack(n=400)
    missing = random_mask(truth.shape, 0.4)
    samples = np.where(missing, 0.0, truth)
    monkeypatch.setattr(completion, "_MAX_ENTRIES", 100 * truth[0].size)
    some = learn_completion(samples, missing)
    chosen = learn_completion(samples[::4], missing[::4])
    np.testing.assert_array_equal(some.gain, chosen.gain)
    assert deviation(complete(samples, missing, some), truth, missing) < 0.1


def test_one_entry_in_ten_is_held_out_symmetrically_in_rows_and_columns():
    missing = random_mask((50, 2, 9, 7), 0.3)
    held = held_out(missing)
    assert not (held & missing).any()
    assert 0.08 < held[~missing].mean() < 0.12
    transposed = held_out(missing.swapaxes(2, 3))
    np.testing.assert_array_equal(transposed, held.swapaxes(2, 3))


def test_positions_without_an_observed_entry_get_the_overall_mean():
    samples = np.array([[1.0, 3.0, 0.0], [2.0, 0.0, 0.0]]).reshape(2, 1, 1, 3)
    missing = np.array([[0, 0, 1], [0, 1, 1]], dtype=bool).reshape(2, 1, 1, 3)
    found = mean_filled(samples, missing).reshape(2, 3)
    np.testing.assert_allclose(found, [[1, 3, 2], [2, 3, 2]])


def test_the_gaussian_has_the_variances_of_the_coefficients():
    """Independent coefficients of known variance in known directions."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for d in (4, 3))
    deviations = np.outer([4, 3, 2, 1], [6, 3, 1])
    coefficients = deviations * rng.normal(size=(20_000, 4, 3))
    samples = (7 + left @ coefficients @ right.T)[:, None]
    found = completion._fit_gaussian(samples, noise=5.0)
    expected = np.sort((deviations**2 / (deviations**2 + 5.0)).reshape(-1))
    np.testing.assert_allclose(np.sort(found.gain.reshape(-1)), expected, atol=0.02)
    np.testing.assert_allclose(found.mean, 7, atol=0.5)


def test_the_completion_of_a_sample_does_not_depend_on_the_others():
    truth = smooth_stack()
    missing = random_mask(truth.shape, 0.5)
    samples = np.where(missing, 0.0, truth)
    known = learn_completion(samples, missing)
    together = complete(samples, missing, known)
    bright = samples * np.where(np.arange(40) == 3, 1e6, 1.0)[:, None, None, None]
    for i in (0, 7):
        alone = complete(samples[i : i + 1], missing[i : i + 1], known)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-9, atol=1e-9)
        other = complete(bright, missing, known)[i]
        np.testing.assert_allclose(other, together[i], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kept", [0, 7])
def test_a_periodic_pattern_leaves_entries_to_learn_from(kept):
    i, row, column = np.ogrid[:50, :9, :7]
    missing = ((i + row + column) % 10 != kept)[:, None]
    held = held_out(missing)
    assert 0.05 < held[~missing].mean() < 0.2
