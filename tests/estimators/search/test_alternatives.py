"""Other ways to cluster: planted graphs, and images that show two things."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from twofold import AutoTSNMF
from twofold.estimators.search.alternatives import alternatives
from twofold.estimators.search.candidates import Preview
from twofold.estimators.search.views import Candidate

N = 24
ROWS, COLUMNS = np.repeat(np.arange(4), 6), np.tile(np.arange(4), 6)


def joined(labels, noise=0.0):
    """A graph that joins all samples of a cluster, and others by ``noise``."""
    graph = np.where(labels[:, None] == labels, 1.0, noise)
    np.fill_diagonal(graph, 0)
    return csr_array(graph)


def preview(labels, graph="heat", channels="pixels", *, adjacency=None, chance=0.1):
    candidate = Candidate(channels, graph, 3, 4, 1.0)
    adjacency = joined(labels) if adjacency is None else adjacency
    return Preview(candidate, 4, adjacency, labels, chance, 0.0)


def prober(n=N, order=None):
    """What ``alternatives`` needs of a prober: rows in another order than X."""
    order = np.arange(n) if order is None else order

    def labels_as_given(labels):
        given = np.full(n, -1)
        given[order[: len(labels)]] = labels
        return given

    return SimpleNamespace(parameters=vars, labels_as_given=labels_as_given)


def test_a_planted_alternative():
    """Rows show in graphs of heat, columns in those of subspaces, both equally."""
    ways = [preview(ROWS, "heat"), preview(COLUMNS, "subspace")]
    assert adjusted_rand_score(ROWS, COLUMNS) < 0.1
    [found] = alternatives(ways, prober(), ROWS)
    np.testing.assert_array_equal(found.labels, COLUMNS)
    assert found.parameters == vars(ways[1].candidate)
    assert found.agreement == pytest.approx(adjusted_rand_score(ROWS, COLUMNS))
    # Columns have modularity 3/4 in their own graph; in that of the rows, each of the
    # 4 x 30 edges joins rows, of which some pairs share a column.
    same = [ROWS[i] == ROWS[j] and i != j for i in range(N) for j in range(N)]
    share = [
        same[i * N + j] and COLUMNS[i] == COLUMNS[j] for i in range(N) for j in range(N)
    ]
    other = sum(share) / sum(same) - 1 / 4
    assert found.score == pytest.approx((0.75 - 0.1 + other - 0.1) / 2)
    [found] = alternatives(ways, prober(), COLUMNS)
    np.testing.assert_array_equal(found.labels, ROWS)


def test_labels_that_agree_are_no_alternative():
    renamed = 3 - ROWS
    moved = ROWS.copy()
    moved[:2] = 1
    assert adjusted_rand_score(ROWS, moved) > 0.5
    ways = [preview(labels, channels=str(i)) for i, labels in enumerate((ROWS, moved))]
    ways.append(preview(renamed, channels="renamed"))
    assert alternatives(ways, prober(), ROWS) == []


def test_alternatives_differ_from_each_other_and_are_the_best_of_their_way():
    weak = joined(COLUMNS, noise=0.05)
    ways = [
        preview(COLUMNS, "subspace", "b", adjacency=weak),
        preview(ROWS, "heat", "a"),
        preview(COLUMNS, "subspace", "c"),
    ]
    found = alternatives(ways, prober(), ROWS)
    assert len(found) == 1
    assert found[0].parameters["channels"] in "bc"


def test_at_most_three_the_best_first():
    rng = np.random.default_rng(0)
    ways = [rng.permutation(ROWS) for _ in range(6)]
    # Each has a kind of graph of its own, so that all have about the same score.
    previews = [preview(way, f"kind {i}", chance=0.0) for i, way in enumerate(ways)]
    found = alternatives(previews, prober(), ROWS)
    assert len(found) == 3
    assert [a.score for a in found] == sorted((a.score for a in found), reverse=True)
    for i, one in enumerate(found):
        assert adjusted_rand_score(ROWS, one.labels) == pytest.approx(one.agreement)
        for other in [ROWS, *(a.labels for a in found[:i])]:
            assert adjusted_rand_score(other, one.labels) < 0.5


def test_clusters_of_less_than_half_of_the_best_score_are_none():
    """Three kinds of graphs show rows, and one of them columns as well."""
    strong = [preview(ROWS, kind) for kind in ("heat", "subspace", "binary")]
    both = csr_array(joined(ROWS).toarray() + 0.2 * joined(COLUMNS).toarray())
    weak = preview(COLUMNS, "cosine", adjacency=both)
    assert alternatives([*strong, weak], prober(), ROWS) == []


def test_nothing_beyond_chance_is_no_alternative():
    previews = [preview(ROWS, chance=0.9), preview(COLUMNS, "subspace", chance=0.9)]
    assert alternatives(previews, prober(), ROWS) == []
    assert alternatives([], prober(), ROWS) == []


def test_samples_that_were_not_previewed_have_no_label():
    order = np.random.default_rng(0).permutation(N + 6)
    chosen = np.zeros(N + 6, dtype=int)
    chosen[order[:N]] = ROWS
    ways = [preview(ROWS, "heat"), preview(COLUMNS, "subspace")]
    [found] = alternatives(ways, prober(N + 6, order), chosen)
    np.testing.assert_array_equal(found.labels[order[:N]], COLUMNS)
    assert (found.labels[order[N:]] == -1).all()
    assert found.agreement == pytest.approx(adjusted_rand_score(ROWS, COLUMNS))


def crossed(n=96, seed=0):
    """Images with one of four gratings, under light from one of four sides."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:16, :16] / 15.0
    grating, light = rng.integers(4, size=(2, n))
    along = [np.cos(a) * x + np.sin(a) * y for a in np.pi * np.arange(4) / 4]
    waves, sides = np.sin(20 * np.array(along)), np.array([x, 1 - x, y, 1 - y])
    noise = 0.02 * rng.normal(size=(n, 16, 16))
    return 0.2 * waves[grating] + 1.2 * sides[light] + noise


def test_those_of_a_search():
    X = crossed()
    X = np.concatenate([X, X[:5]])  # copies have the label of their sample
    auto = AutoTSNMF(4, random_state=0).fit(X)
    assert auto.alternatives_
    for found in auto.alternatives_:
        known = adjusted_rand_score(auto.labels_, found.labels)
        assert found.agreement == pytest.approx(known)
        np.testing.assert_array_equal(found.labels[96:], found.labels[:5])
        rows = zip(
            *(auto.search_results_[name] for name in ("channels", "graph", "score")),
            strict=True,
        )
        parameters = found.parameters
        told = parameters["channels"], parameters["graph"], pytest.approx(found.score)
        assert any(row == told for row in rows)
        assert 0.5 * auto.best_score_ <= found.score
        assert found.agreement < 0.5


def test_a_search_that_could_compare_nothing_has_none():
    rng = np.random.default_rng(0)
    far = 1000 * np.repeat(rng.random((6, 3)), 60, axis=0) + rng.random((360, 3))
    assert AutoTSNMF(3, random_state=0).fit(far).alternatives_ == []
