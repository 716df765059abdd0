"""The estimator's place in scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import problems
import pytest
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from twofold import TSNMF, AutoTSNMF
from twofold.metrics import nmi


@pytest.mark.parametrize(
    "estimator", [TSNMF(2), AutoTSNMF(2, max_fits=1, random_state=0)]
)
def test_scikit_learns_own_checks_pass(estimator):
    results = check_estimator(estimator, on_skip=None)
    ran = [result for result in results if result["status"] == "passed"]
    assert len(ran) > 40


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
    pd.testing.assert_frame_equal(model.transform(frame), placed)
    assert list(model.feature_names_in_) == list(frame.columns)
    plain = TSNMF(3, random_state=0).fit(images)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(images))
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
