"""Listeners that are told of the iterations of a fit."""

import threading

import numpy as np
import problems
import pytest

from twofold import TSNMF
from twofold.decomposition import RMNMF
from twofold.estimators.problem import read_problem
from twofold.progress import listening


def record(told):
    """Append the number and the objective of every iteration to a list."""
    return lambda event: told.append((event.done, event.facts["objective"]))


def recorded(fit):
    """What is told during ``fit``, and the model that it returns."""
    told = []
    with listening(record(told)):
        model = fit()
    return told, model


def test_every_iteration_is_told_with_its_objective(images):
    told, model = recorded(lambda: TSNMF(3, random_state=0).fit(images))
    assert [number for number, _ in told] == list(range(1, model.n_iter_ + 1))
    objectives = [objective for _, objective in told]
    np.testing.assert_array_equal(objectives, model.objective_history_)
    assert {type(objective) for objective in objectives} == {float}


def test_listening_changes_nothing(images):
    _, told = recorded(lambda: TSNMF(3, random_state=0).fit(images))
    alone = TSNMF(3, random_state=0).fit(images)
    np.testing.assert_array_equal(told.coefficients_, alone.coefficients_)


def test_of_many_starts_the_lowest_objective_is_told(images):
    options = {"init": "random", "random_state": 3}
    told, model = recorded(lambda: TSNMF(3, n_init=4, **options).fit(images))
    kept = dict(enumerate(model.objective_history_, 1))
    assert len(told) >= model.n_iter_  # the others may go on
    assert all(objective <= kept.get(i, np.inf) for i, objective in told)
    order, first = read_problem(TSNMF(3), images).given.order, []
    for seed in np.random.RandomState(3).randint(2**31 - 1, size=5)[:4]:
        start = np.empty((60, 3))
        start[order] = 0.2 + np.random.RandomState(seed).uniform(size=(60, 3))
        first.append(TSNMF(3, init=start).fit(images).objective_history_[0])
    assert told[0][1] == pytest.approx(min(first))


def test_other_methods_tell_as_well(grey):
    told, model = recorded(lambda: RMNMF(3, random_state=0).fit(grey))
    assert [number for number, _ in told] == list(range(1, model.n_iter_ + 1))


def test_a_sweep_tells_of_its_common_iterations(images):
    weights = [(1.0, 1.0), (0.1, 0.1)]
    told, models = recorded(lambda: TSNMF(3, random_state=0).fit_sweep(images, weights))
    assert len(told) == max(model.n_iter_ for model in models)


def test_only_within_the_context(images):
    outer, inner = [], []
    with listening(outer.append):
        with listening(inner.append):
            TSNMF(3, random_state=0).fit(images)
        within = len(outer)
        TSNMF(3, random_state=0).fit(images)
    n_iter = TSNMF(3, random_state=0).fit(images).n_iter_
    assert (within, len(inner), len(outer)) == (0, n_iter, n_iter)


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_what_a_listener_raises_stops_the_fit_and_the_listening(images, failure):
    told = []

    def listener(event):
        told.append(event)
        raise failure

    model = TSNMF(3, random_state=0)
    with pytest.raises(failure), listening(listener):
        model.fit(images)
    assert not hasattr(model, "labels_")
    model.fit(images)
    assert len(told) == 1


def test_fits_in_other_threads_are_not_heard():
    told = []
    fit = TSNMF(3, random_state=0).fit
    thread = threading.Thread(target=fit, args=(problems.images(n=12),))
    with listening(told.append):
        thread.start()
        thread.join()
    assert told == []
