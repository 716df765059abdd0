"""The ten methods by name."""

import warnings

import numpy as np
import problems
import pytest
from real_data import load_or_skip
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import check_estimator

from twofold import TSNMF, methods
from twofold.decomposition import PCA2D, Flatten, SemiNMF
from twofold.estimators.problem import draw_seeds
from twofold.metrics import nmi
from twofold.paper.clusterers import embed
from twofold.paper.methods import (
    METHODS,
    PAPER_METHODS,
    CoefficientKMeans,
    RBFSpectralClustering,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*stopped at max_iter:sklearn.exceptions.ConvergenceWarning"
)


def test_the_names_are_those_of_the_papers_columns():
    assert {name: method.title for name, method in PAPER_METHODS.items()} == {
        "kmeans": "K-Means",
        "pca": "PCA",
        "rpca": "RPCA",
        "2dpca": "2DPCA",
        "nmf": "NMF",
        "sc": "SC",
        "gnmf": "GNMF",
        "rmnmf": "RMNMF",
        "semi-nmf": "Semi-NMF",
        "ts-nmf": "TS-NMF",
    }


def test_the_grids_are_the_papers():
    sizes = {name: len(method.grid_points()) for name, method in PAPER_METHODS.items()}
    assert sizes == {
        "kmeans": 1,
        "pca": 5,
        "rpca": 1,
        "2dpca": 5,
        "nmf": 1,
        "sc": 7,
        "gnmf": 7,
        "rmnmf": 7,
        "semi-nmf": 1,
        "ts-nmf": 5 * 7 * 7,
    }
    grid = METHODS["ts-nmf"].grid
    assert grid["n_directions"] == (1, 3, 5, 7, 9)
    assert grid["graph_weight"] == (0.001, 0.01, 0.1, 1, 10, 100, 1000)
    for name in ("gnmf", "rmnmf", "ts-nmf"):
        model = methods.build(name, 3, graph_weight=10.0)
        model = getattr(model, "decomposition", model)
        assert (model.graph, model.n_neighbors) == ("binary", 5)
        assert model.graph_weight == 10.0


@pytest.mark.parametrize("data", ["digits", "yale", "orl"])
@pytest.mark.parametrize("name", PAPER_METHODS)
def test_every_method_clusters_by_name(name, data):
    if data == "digits":
        images, target = load_digits(return_X_y=True)
        images, target = images.reshape(-1, 8, 8)[:900], target[:900]
    else:
        images, target = load_or_skip(data)
        images, target = images[target < 20], target[target < 20]
    k = len(set(target))
    model = methods.build(name, k, random_state=0)
    labels = model.fit_predict(images)
    assert labels.shape == target.shape
    assert set(labels) == set(range(k))
    # Random labels have 1% of NMI on the digits, 25 on Yale and 40 on ORL.
    assert nmi(target, labels) > {"digits": 0.35, "yale": 0.4, "orl": 0.65}[data]


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_labels(name, images):
    images = images - images.min()
    first, second = (
        methods.build(name, 3, random_state=4).fit_predict(images) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", sorted(set(PAPER_METHODS) - {"sc"}))
def test_new_samples_are_assigned(name, images):
    images = images - images.min()
    model = methods.build(name, 3, random_state=0).fit(images[:45])
    labels = model.predict(images[:45])
    known = model.labels_ if hasattr(model, "labels_") else model[-1].labels_
    assert nmi(known, labels) > 0.9
    assert model.predict(images[45:]).shape == (15,)


@pytest.mark.parametrize("name", METHODS)
def test_flat_samples_are_images_with_a_shape(name, images):
    images = images - images.min()
    stacked = methods.build(name, 3, random_state=0).fit_predict(images)
    flat = methods.build(name, 3, random_state=0, sample_shape=(7, 6))
    np.testing.assert_array_equal(flat.fit_predict(images.reshape(60, -1)), stacked)


def test_an_eleventh_method_is_one_entry(monkeypatch, images):
    def build(n_clusters, *, linkage="ward", random_state=None, sample_shape=None):
        tree = AgglomerativeClustering(n_clusters, linkage=linkage)
        return make_pipeline(Flatten(sample_shape=sample_shape), tree)

    tree = methods.Method("Tree", build, {"linkage": ("ward", "average")})
    monkeypatch.setitem(METHODS, "tree", tree)
    for grid_point in METHODS["tree"].grid_points():
        model = methods.build("tree", 3, random_state=0, **grid_point)
        assert nmi(problems.groups(), model.fit_predict(images)) > 0.9


def test_an_unknown_method_or_parameter():
    with pytest.raises(ValueError, match=r"one of 'kmeans', .*got 'dbscan'"):
        methods.build("dbscan", 3)
    with pytest.raises(ValueError, match=r"name must be one of .* got \['pca'\]"):
        methods.build(["pca"], 3)
    with pytest.raises(TypeError, match="radius"):
        methods.build("gnmf", 3, radius=1.0)


def test_what_a_method_fixes_can_be_changed():
    assert methods.build("nmf", 3, solver="cd")[1].solver == "cd"
    assert methods.build("gnmf", 3, n_components=7).decomposition.n_components == 7


# The clusterers


def test_k_means_reads_the_coefficients_of_the_fit(images):
    model = CoefficientKMeans(SemiNMF(3, random_state=0), 3, random_state=0).fit(images)
    V = SemiNMF(3, random_state=0).fit(images).coefficients_
    np.testing.assert_array_equal(model.decomposition_.coefficients_, V)
    expected = KMeans(3, n_init=10, random_state=0).fit_predict(V)
    assert nmi(model.labels_, expected) == 1.0
    again = clone(model).fit(images)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    with pytest.raises(ValueError, match="decomposition"):
        CoefficientKMeans(3).fit(images)


def test_scikit_learns_checks_of_the_clusterers_pass():
    on_factors = CoefficientKMeans(SemiNMF(3, random_state=0), 3)
    for model in (RBFSpectralClustering(n_clusters=3), on_factors):
        results = check_estimator(model, on_skip=None)
        assert sum(result["status"] == "passed" for result in results) > 40


def test_the_kernel_is_gaussian_with_the_radius_as_its_deviation():
    flat = np.random.default_rng(0).uniform(size=(80, 2))
    squared = ((flat[:, None] - flat) ** 2).sum(axis=-1)
    [seed] = draw_seeds(0, 1)

    def known(variance):
        model = SpectralClustering(9, affinity="precomputed", random_state=seed)
        return model.fit_predict(np.exp(-squared / (2 * variance)))

    model = RBFSpectralClustering(9, radius=0.1, random_state=0)
    labels = model.fit_predict(flat)
    assert nmi(known(0.1**2), labels) > 0.99
    # It matters here: with half the variance the labels are others.
    assert nmi(known(0.1**2 / 2), labels) < 0.95


@pytest.mark.parametrize("radius", [0.1, 0.3, 1.0, 1000.0])
def test_spectral_labels_are_those_of_scikit_learn(radius):
    flat = normalize(load_digits().data[:300])
    model = RBFSpectralClustering(7, radius=radius, random_state=3)
    [seed] = draw_seeds(3, 1)
    known = SpectralClustering(7, gamma=1 / (2 * radius**2), random_state=seed)
    np.testing.assert_array_equal(model.fit_predict(flat), known.fit_predict(flat))


def parts():
    """Return 300 samples of norm 1, nearly all as far from each other."""
    return normalize(np.random.default_rng(0).normal(size=(300, 40)))


@pytest.mark.filterwarnings("ignore")  # there are more of them
def test_a_kernel_of_many_parts_is_clustered_without_arpack():
    flat = parts()
    known = SpectralClustering(5, gamma=1 / (2 * 0.05**2), random_state=0)
    with pytest.warns(RuntimeWarning, match="ARPACK has failed"):
        known.fit(flat)
    with pytest.warns(ConvergenceWarning, match=r"radius=0\.05.*raise radius"):
        model = RBFSpectralClustering(5, radius=0.05, random_state=0).fit(flat)
    assert set(model.labels_) == set(range(model.labels_.max() + 1)) <= set(range(5))
    with pytest.warns(ConvergenceWarning):
        again = clone(model).fit_predict(flat)
    np.testing.assert_array_equal(again, model.labels_)


@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_the_spectral_embedding_is_of_the_smallest_eigenvalues(radius):
    flat = parts()
    kernel = np.exp(-((flat[:, None] - flat) ** 2).sum(axis=-1) / (2 * radius**2))
    joined = kernel - np.diag(np.diag(kernel))
    scale = np.sqrt(joined.sum(axis=0))
    laplacian = np.eye(300) - joined / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(laplacian)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at 0.05: see above
        points = embed(kernel, 5, np.random.RandomState(0).uniform(-1, 1, 300))
    found = points * scale[:, None]
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(laplacian @ found, found * values[:5], atol=1e-9)
    if radius == 0.3:  # no eigenvalue is multiple
        cosines = np.abs((found * vectors[:, :5]).sum(axis=0))
        np.testing.assert_allclose(cosines, 1, atol=1e-9)


def test_a_kernel_that_joins_nothing_gets_one_warning(images):
    with pytest.warns(
        ConvergenceWarning, match=r"radius=0\.001.*raise radius"
    ) as caught:
        methods.build("sc", 3, radius=1e-3, random_state=0).fit(images)
    assert len(caught) == 1


def test_what_cannot_be_clustered_is_said(images):
    with pytest.raises(ValueError, match=r"nothing to cluster.*no columns"):
        methods.build("rpca", 3, sparsity_weight=1e-4).fit(images)
    with pytest.raises(ValueError, match="no coefficients_ when fitted"):
        CoefficientKMeans(PCA2D(), 3).fit(images)


def test_k_means_makes_ten_starts_by_default(images):
    assert methods.build("pca", 3)[-1].n_init == 10
    assert methods.build("kmeans", 3, n_init=2)[-1].n_init == 2
    assert methods.build("gnmf", 3).fit(np.abs(images)).kmeans_.n_init == 10


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_no_seed_means_a_fresh_one_and_no_global_state(name, images):
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    models = [methods.build(name, 3) for _ in range(2)]
    models[0].fit(images - images.min())
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    first, second = (
        {key: value for key, value in model.get_params().items() if "random" in key}
        for model in models
    )
    seeds = [value for key, value in first.items() if value is not None]
    assert seeds
    assert seeds != [value for key, value in second.items() if value is not None]


def test_too_large_a_kernel_is_a_memory_error_that_says_so():
    model = methods.build("sc", 2, max_kernel_bytes=8 * 99**2)
    with pytest.raises(MemoryError, match=r"kernel of 100 samples .*gnmf"):
        model.fit(np.random.default_rng(0).uniform(size=(100, 4, 3)))
    # The limit is met before anything is computed.
    with pytest.raises(MemoryError, match="20000 samples takes 3,200,000,000 bytes"):
        methods.build("sc", 2).fit(np.zeros((20_000, 1, 1), dtype=np.float32))
    model.fit(np.random.default_rng(0).uniform(size=(99, 4, 3)))


def test_the_start_of_ts_nmf_can_be_chosen():
    model = methods.build("ts-nmf", 4)
    assert isinstance(model, TSNMF)
    assert model.init == "spectral"
    assert methods.build("ts-nmf", 4, init="k-means").init == "k-means"
