"""The estimator: its attributes, its invariances and its place in scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import problems
import pytest
from joblib import Parallel, delayed
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from twofold import TSNMF
from twofold.core.graph import GRAPHS
from twofold.core.initial import STARTS
from twofold.core.solver import solve
from twofold.metrics import accuracy, nmi


@pytest.fixture(scope="module")
def images():
    return problems.images()


@pytest.fixture(scope="module")
def model(images):
    return TSNMF(3, random_state=0).fit(images)


def test_scikit_learns_own_checks_pass():
    results = check_estimator(TSNMF(), on_skip=None)
    ran = [result for result in results if result["status"] == "passed"]
    assert len(ran) > 40


# The fit


def test_it_finds_the_groups(images, model):
    assert accuracy(problems.groups(), model.labels_) == 1.0


def test_the_fitted_arrays_keep_their_promises(images, model):
    V, U = model.coefficients_, model.components_
    assert V.shape == (60, 3)
    assert (V >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1)
    assert U.shape == (3, 7, 6)
    assert (U < 0).any()
    for projection, size in [(model.left_projection_, 7), (model.right_projection_, 6)]:
        assert projection.shape == (size, 5)
        np.testing.assert_allclose(projection.T @ projection, np.eye(5), atol=1e-12)
    assert model.labels_.shape == (60,)
    assert set(model.labels_) == {0, 1, 2}
    assert model.n_features_in_ == 42
    assert model.sample_shape_ == (7, 6)


def test_the_history_has_the_objective_and_its_terms(images):
    model = TSNMF(3, random_state=0, energy_weight=0.5, graph_weight=2.0).fit(images)
    terms = model.objective_terms_
    assert set(terms) == {"right_residual", "left_residual", "energy", "smoothness"}
    total = (
        terms["right_residual"]
        + terms["left_residual"]
        - 0.5 * terms["energy"]
        + 2.0 * terms["smoothness"]
    )
    np.testing.assert_allclose(model.objective_history_, total)
    assert model.objective_history_.shape == (model.n_iter_,)


@pytest.mark.parametrize("scale", ["sample", "global"])
def test_reconstruction_errors_are_those_of_the_images(images, scale):
    bright = images * np.linspace(1, 3, 60)[:, None, None]
    model = TSNMF(3, scale=scale, random_state=0).fit(bright)
    rebuilt = model.inverse_transform(model.coefficients_)
    if scale == "sample":
        norms = np.linalg.norm(bright, axis=(1, 2))
        rebuilt = rebuilt * (norms / np.sqrt(np.mean(norms**2)))[:, None, None]
    expected = np.linalg.norm(bright - rebuilt, axis=(1, 2))
    np.testing.assert_allclose(model.reconstruction_error_, expected, rtol=1e-9)


def test_an_outlier_has_the_largest_reconstruction_error(images):
    spoiled = images.copy()
    shuffled = np.random.default_rng(0).permutation(spoiled[17].ravel())
    spoiled[17] = shuffled.reshape(7, 6)
    model = TSNMF(3, random_state=0).fit(spoiled)
    assert model.reconstruction_error_.argmax() == 17


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("init", STARTS)
def test_the_same_seed_gives_the_same_bits(images, init, graph):
    options = {"init": init, "graph": graph, "n_init": 2, "random_state": 7}
    first, second = (TSNMF(3, **options).fit(images) for _ in range(2))
    for name in ("labels_", "components_", "coefficients_", "objective_history_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_the_global_random_state_is_left_alone(images):
    before = np.random.get_state()[1].copy()
    TSNMF(3, init="random").fit(images)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_restarts_keep_the_lowest_objective(images):
    options = {"init": "random", "max_iter": 5, "tol": 0.0}
    seeds = np.random.RandomState(3).randint(2**31 - 1, size=7)[:6]
    with pytest.warns(ConvergenceWarning):
        together = TSNMF(3, n_init=6, random_state=3, **options).fit(images)
    lowest = []
    for seed in seeds:
        start = 0.2 + np.random.RandomState(seed).uniform(size=(60, 3))
        with pytest.warns(ConvergenceWarning):
            alone = TSNMF(3, **{**options, "init": start}).fit(images)
        lowest.append(alone.objective_history_[-1])
    np.testing.assert_allclose(together.objective_history_[-1], min(lowest))


def test_a_given_start_is_used_and_its_zeros_lifted(images):
    start = np.eye(3)[problems.groups()]
    model = TSNMF(3, init=start, random_state=0).fit(images)
    np.testing.assert_array_equal(model.coefficients_.argmax(axis=1), problems.groups())
    assert (model.coefficients_ > 0).all()


def test_a_fit_cut_short_says_what_to_do(images):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        TSNMF(3, max_iter=2, tol=0.0, random_state=0).fit(images)


def test_a_sweep_equals_the_fits_alone():
    images = load_digits().images[:200]  # their spectral start depends on the energy
    pairs = [(0.1, 0.0), (1.0, 1.0), (10.0, 0.1)]
    base = TSNMF(10, n_init=2, random_state=0)
    for model, (energy, graph) in zip(
        base.fit_sweep(images, pairs), pairs, strict=True
    ):
        alone = clone(base).set_params(energy_weight=energy, graph_weight=graph)
        alone.fit(images)
        assert model.get_params() == alone.get_params()
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        np.testing.assert_allclose(model.coefficients_, alone.coefficients_, rtol=1e-8)
        np.testing.assert_array_equal(model.predict(images), alone.predict(images))
    with pytest.raises(NotFittedError):
        base.predict(images)


# Invariances


def test_transposed_samples_swap_the_projections(images):
    upright = TSNMF(3, n_directions=(2, 4), random_state=0).fit(images)
    turned = TSNMF(3, n_directions=(4, 2), random_state=0)
    turned.fit(images.transpose(0, 2, 1))
    np.testing.assert_array_equal(upright.labels_, turned.labels_)
    np.testing.assert_allclose(upright.left_projection_, turned.right_projection_)
    np.testing.assert_allclose(upright.right_projection_, turned.left_projection_)
    np.testing.assert_allclose(
        upright.components_, turned.components_.transpose(0, 2, 1), atol=1e-9
    )


@pytest.mark.parametrize("init", ["spectral", "k-means"])
def test_permuted_samples_permute_the_labels(images, init):
    order = np.random.default_rng(0).permutation(len(images))
    labels = TSNMF(3, init=init, random_state=0).fit_predict(images)
    permuted = TSNMF(3, init=init, random_state=0).fit_predict(images[order])
    assert nmi(labels[order], permuted) == pytest.approx(1)


def test_a_permuted_start_gives_the_permuted_solution(images):
    start = problems.positive((60, 3))
    order = np.random.default_rng(0).permutation(len(images))
    plain = TSNMF(3, init=start, random_state=0).fit(images)
    permuted = TSNMF(3, init=start[order], random_state=0).fit(images[order])
    np.testing.assert_allclose(
        plain.coefficients_[order], permuted.coefficients_, rtol=1e-8
    )


@pytest.mark.parametrize("scale", ["sample", "global"])
@pytest.mark.parametrize("factor", [255, 1 / 255, 1e150, 1e-150])
def test_the_unit_of_the_pixels_changes_nothing(images, scale, factor):
    plain = TSNMF(3, scale=scale, random_state=0).fit(images)
    other = TSNMF(3, scale=scale, random_state=0).fit(factor * images)
    np.testing.assert_array_equal(plain.labels_, other.labels_)
    np.testing.assert_allclose(plain.coefficients_, other.coefficients_, rtol=1e-9)
    np.testing.assert_allclose(factor * plain.components_, other.components_, rtol=1e-9)
    np.testing.assert_allclose(
        factor * plain.reconstruction_error_, other.reconstruction_error_, rtol=1e-9
    )
    np.testing.assert_array_equal(
        plain.predict(images[:5]), other.predict(factor * images[:5])
    )


# New samples


@pytest.mark.parametrize("graph_weight", [0.0, 5.0])
@pytest.mark.parametrize("scale", ["sample", "global"])
def test_coefficients_solve_the_nonnegative_least_squares_problem(scale, graph_weight):
    """Written out from the fitted attributes, one sample at a time."""
    images, new = problems.images(), 3 * problems.images(n=5, seed=8)
    options = {"n_directions": (3, 4), "graph": "binary", "n_neighbors": 4}
    model = TSNMF(3, scale=scale, graph_weight=graph_weight, random_state=0, **options)
    model.fit(images)
    norms = np.linalg.norm(images, axis=(1, 2))
    unit = np.sqrt(np.mean(norms**2))
    if scale == "sample":
        trained = images / norms[:, None, None]
        asked = new / np.linalg.norm(new, axis=(1, 2), keepdims=True)
    else:
        trained, asked = images / unit, new / unit
    P, Q = model.right_projection_, model.left_projection_
    U, V, lengths = model.components_ / unit, model.coefficients_, model._lengths[0]
    for x, placed in zip(asked, model.transform(new), strict=True):
        rows = [np.reshape(U @ P, (3, -1)).T, np.reshape(Q.T @ U, (3, -1)).T]
        sides = [np.ravel(x @ P), np.ravel(Q.T @ x)]
        for near, point in [(trained @ P, x @ P), (Q.T @ trained, Q.T @ x)]:
            for i in np.argsort(np.linalg.norm(near - point, axis=(1, 2)))[:4]:
                rows.append(np.sqrt(graph_weight) * np.diag(lengths))
                sides.append(np.sqrt(graph_weight) * lengths * V[i])
        expected, _ = nnls(np.concatenate(rows), np.concatenate(sides))
        np.testing.assert_allclose(placed, expected, atol=1e-8)


def test_the_labels_are_those_of_k_means_on_the_unit_columns(model):
    seed = np.random.RandomState(0).randint(2**31 - 1, size=2)[-1]
    kmeans = KMeans(3, n_init=10, random_state=seed).fit(model.coefficients_)
    np.testing.assert_array_equal(model.labels_, kmeans.labels_)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_new_samples_of_another_dtype_are_placed_alike(dtype):
    images = np.round(20 * np.abs(problems.images()))
    model = TSNMF(3, random_state=0).fit(images.astype(np.float32))
    placed = model.transform(images.astype(dtype))
    assert placed.dtype == np.float32
    np.testing.assert_allclose(placed, model.transform(images.astype(np.float32)))
    assert model.predict(images.astype(dtype)).dtype == model.labels_.dtype


@pytest.mark.parametrize("graph", GRAPHS)
def test_predict_agrees_with_the_labels(images, graph):
    model = TSNMF(3, graph=graph, random_state=0).fit(images)
    np.testing.assert_array_equal(model.predict(images), model.labels_)


def test_new_samples_join_their_group(images, model):
    # The groups' means come first out of the generator: they do not depend on n.
    new, group = problems.images(n=90), problems.groups(90)
    name_of_group = model.labels_[:3]
    np.testing.assert_array_equal(model.predict(new[60:]), name_of_group[group[60:]])


def test_coefficients_rebuild_the_images(images, model):
    rebuilt = model.inverse_transform(model.transform(images))
    assert rebuilt.shape == images.shape
    unit = images / np.linalg.norm(images, axis=(1, 2), keepdims=True)
    unit_rebuilt = rebuilt / np.linalg.norm(rebuilt, axis=(1, 2), keepdims=True)
    assert np.sum(unit * unit_rebuilt, axis=(1, 2)).min() > 0.7


def test_flat_samples_are_placed_as_their_images_are(images, model):
    np.testing.assert_array_equal(
        model.transform(images), model.transform(images.reshape(60, -1))
    )


def test_methods_need_a_fitted_model(images):
    for method in ("predict", "transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(TSNMF(), method)(images)


# Layouts


def test_flat_samples_with_a_shape_are_images(images, model):
    flat = TSNMF(3, sample_shape=(7, 6), random_state=0).fit(images.reshape(60, -1))
    np.testing.assert_array_equal(flat.coefficients_, model.coefficients_)
    assert flat.components_.shape == (3, 7, 6)


def test_flat_samples_without_a_shape_are_vectors(images):
    model = TSNMF(3, n_directions=4, random_state=0).fit(images.reshape(60, -1))
    assert model.components_.shape == (3, 42)
    assert model.left_projection_.shape == (42, 4)
    np.testing.assert_array_equal(model.right_projection_, [[1.0]])
    assert model.inverse_transform(model.coefficients_).shape == (60, 42)


def test_channels_share_the_projections(images):
    colour = np.stack([images, 2 * images, -images], axis=-1)
    model = TSNMF(3, n_directions=(2, 3), random_state=0).fit(colour)
    grey = TSNMF(3, n_directions=(2, 3), random_state=0).fit(images)
    np.testing.assert_allclose(model.left_projection_, grey.left_projection_, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, grey.labels_)
    assert model.components_.shape == (3, 7, 6, 3)
    np.testing.assert_allclose(
        model.components_[..., 1], 2 * model.components_[..., 0], atol=1e-9
    )
    np.testing.assert_allclose(model.transform(colour), grey.transform(images))
    flat = TSNMF(3, n_directions=(2, 3), sample_shape=(7, 6, 3), random_state=0)
    flat.fit(colour.reshape(60, -1))
    np.testing.assert_array_equal(flat.components_, model.components_)


@pytest.mark.parametrize(
    ("n_directions", "left", "right"),
    [(2, 2, 2), ((3, 1), 3, 1), (7, 7, 6), ((1, 7), 1, 6), (None, 5, 5)],
)
def test_directions_are_capped_at_their_side(images, n_directions, left, right):
    model = TSNMF(3, n_directions=n_directions, random_state=0).fit(images)
    assert model.left_projection_.shape == (7, left)
    assert model.right_projection_.shape == (6, right)


def test_a_long_vector_costs_no_cubed_eigenproblem(monkeypatch):
    """At 10,000 features the (d, d) Gram alone would take 800 MB."""
    solved = []

    def watched(samples, *rest):
        solved.append(samples.shape)
        return solve(samples, *rest)

    monkeypatch.setattr("twofold._problem.solve", watched)
    flat = problems.stack((100, 1, 10_000, 1)).reshape(100, -1)
    model = TSNMF(3, random_state=0).fit(flat)
    assert solved == [(100, 1, 105, 1)]
    assert model.left_projection_.shape == (10_000, 5)
    np.testing.assert_array_equal(model.predict(flat), model.labels_)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("float16", "float64"),
        ("uint8", "float64"),
        ("int64", "float64"),
        ("bool", "float64"),
    ],
)
def test_floats_are_kept_and_all_else_becomes_double(images, given, kept):
    samples = np.clip(100 + 30 * images, 0, 255).astype(given)
    if given == "bool":
        samples = images > 0
    model = TSNMF(3, random_state=0).fit(samples)
    for array in (model.components_, model.coefficients_, model.left_projection_):
        assert array.dtype == kept
    assert model.transform(samples).dtype == kept


# Hard but valid samples


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize(
    "samples",
    [
        np.ones((12, 4, 5)),
        np.zeros((12, 4, 5)),
        np.repeat(problems.images(n=3), 4, axis=0),
        np.concatenate([problems.images(n=11, h=4, w=5), np.zeros((1, 4, 5))]),
        1e150 * problems.images(n=12),
        1e-150 * problems.images(n=12),
    ],
    ids=["constant", "zero", "duplicates", "one zero", "huge", "tiny"],
)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:TSNMF stopped at max_iter")
@pytest.mark.parametrize("k", [1, 3, 12])
def test_degenerate_samples_give_finite_results(samples, init, graph, k):
    model = TSNMF(k, init=init, graph=graph, random_state=0).fit(samples)
    for name in ("components_", "coefficients_", "reconstruction_error_"):
        assert np.isfinite(getattr(model, name)).all()
    assert np.isfinite(model.transform(samples)).all()
    assert np.isfinite(model.objective_history_).all()
    assert model.labels_.max() < k


def test_as_many_clusters_as_samples_separate_all():
    model = TSNMF(6, random_state=0).fit(problems.images(n=6))
    assert len(set(model.labels_)) == 6


# scikit-learn


def test_it_works_in_a_pipeline_and_a_grid_search(images):
    flat = images.reshape(60, -1)
    pipeline = make_pipeline(
        FunctionTransformer(lambda x: x * 2),
        TSNMF(3, sample_shape=(7, 6), random_state=0),
        PCA(2),
    )
    assert pipeline.fit_transform(flat).shape == (60, 2)

    def agreement(estimator, x, y):
        return nmi(y, estimator.predict(x))

    search = GridSearchCV(
        TSNMF(3, sample_shape=(7, 6), random_state=0),
        {"n_directions": [2, 4], "graph_weight": [0.1, 1.0]},
        scoring=agreement,
        cv=3,
    ).fit(flat, problems.groups())
    assert search.best_score_ > 0.9


def test_the_names_of_a_data_frame_are_kept_and_checked(images):
    frame = pd.DataFrame(images.reshape(60, -1)).add_prefix("pixel")
    model = TSNMF(3, sample_shape=(7, 6), random_state=0).set_output(transform="pandas")
    placed = model.fit_transform(frame)
    assert list(placed.columns) == ["tsnmf0", "tsnmf1", "tsnmf2"]
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.add_prefix("other"))


def test_feature_names_come_out(model):
    names = model.get_feature_names_out()
    np.testing.assert_array_equal(names, ["tsnmf0", "tsnmf1", "tsnmf2"])


def test_a_pickled_model_predicts_the_same(images, model):
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(images), model.transform(images))


def test_fits_run_in_processes(images):
    jobs = (delayed(TSNMF(3, random_state=s).fit_predict)(images) for s in range(2))
    for seed, labels in enumerate(Parallel(n_jobs=2)(jobs)):
        np.testing.assert_array_equal(
            labels, TSNMF(3, random_state=seed).fit_predict(images)
        )


def test_verbose_prints_each_iteration(images, capsys):
    model = TSNMF(3, verbose=1, random_state=0).fit(images)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert f"{model.objective_history_[-1]:.6e}" in lines[-1]


class Recorder:
    """A scikit-learn callback that counts tasks and may stop the fit."""

    def __init__(self, stop_after=None):
        self.events, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, **told):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, **told):
        self.events.append(f"end {context.task_name}")
        return context.task_name == f"iteration {self.stop_after}"


def test_callbacks_follow_the_fit_and_can_stop_it(images):
    pytest.importorskip("sklearn.callback", reason="callbacks came in scikit-learn 1.9")
    recorder = Recorder()
    model = TSNMF(3, random_state=0).set_callbacks(recorder).fit(images)
    tasks = [f"iteration {i + 1}" for i in range(model.n_iter_)]
    inner = [f"{edge} {task}" for task in tasks for edge in ("begin", "end")]
    assert recorder.events == ["setup", "begin fit", *inner, "end fit", "teardown"]

    stopper = TSNMF(3, tol=0.0, random_state=0).set_callbacks(Recorder(stop_after=2))
    assert stopper.fit(images).n_iter_ == 2
