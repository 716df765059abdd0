"""Features of a network for a collection, and the choice between these and images."""

import gc
import json
import weakref
from dataclasses import replace

import numpy as np
import problems
import pytest
from network_problems import marked_photos, seen_classes, stand_in
from PIL import Image
from small_photos import table

from twofold import AutoTSNMF
from twofold.app import network as choosing
from twofold.app.collection import Collection, Reading
from twofold.app.network import choose, with_network
from twofold.app.workflow import cluster, predict, read
from twofold.channels import NetworkFeatures
from twofold.estimators import load_model
from twofold.io.blocks import image_blocks
from twofold.metrics import clustering_accuracy


def search():
    return AutoTSNMF(3, n_directions=[2], energy_weights=[1.0], random_state=0)


def noise_of(batch):
    """Features that say nothing: numbers drawn by the content of a picture."""
    seeds = (1e6 * batch.sum(axis=(1, 2, 3), dtype=np.float64)).astype(np.int64)
    draw = [
        np.random.RandomState(seed % 2**32).uniform(size=(4, 4, 4)) for seed in seeds
    ]
    return np.array(draw, np.float32)


@pytest.fixture
def marked(tmp_path):
    """A folder of noise, on which nothing but the first pixel tells the class."""
    folder = tmp_path / "marked"
    return folder, marked_photos(folder, 60)


@pytest.fixture
def grouped(tmp_path):
    """A folder of pictures in three groups that any pixel tells."""
    folder = tmp_path / "grouped"
    folder.mkdir()
    images = np.rint(25 * problems.images(60, 16, 16) + 128).clip(0, 255)
    for i, image in enumerate(images.astype(np.uint8)):
        Image.fromarray(image).save(folder / f"{i:02}.png")
    return folder


def test_photos_are_read_for_the_network_alone_in_its_size(marked, monkeypatch):
    seen = []
    stand_in(monkeypatch, lambda batch, device: seen.append(batch) or batch[:, :, ::8])
    collection = read(marked[0], Reading(size=(10, 12)))
    found = with_network(collection, NetworkFeatures())
    assert found.images.shape == (60, 10, 12, 3)
    assert {batch.shape[1:] for batch in seen} == {(3, 32, 32)}
    pixels = [np.asarray(Image.open(path)) / 255 for path in found.paths]
    expected = np.moveaxis(np.array(pixels), -1, 1)
    np.testing.assert_allclose(np.concatenate(seen), expected, atol=1e-6)
    assert len(found.features) == 60
    assert found.network.get_params() == NetworkFeatures().get_params()


def test_colours_count_only_if_the_images_keep_them(marked, monkeypatch):
    seen = []
    stand_in(monkeypatch, lambda batch, device: seen.append(batch) or batch[:, :, ::8])
    with_network(read(marked[0], Reading(color=False)), NetworkFeatures())
    batch = np.concatenate(seen)
    np.testing.assert_array_equal(batch[:, 0], batch[:, 1])
    first = np.asarray(Image.open(marked[0] / "000.png").convert("L")) / 255
    np.testing.assert_allclose(batch[0, 0], first, atol=0.003)


def test_arrays_are_mapped_as_they_are(monkeypatch):
    stand_in(monkeypatch, lambda batch, device: batch[:, :, ::8, ::8])
    images = np.random.default_rng(0).uniform(size=(5, 32, 32, 3)).astype(np.float32)
    found = with_network(Collection("x", images, list("abcde")), NetworkFeatures())
    np.testing.assert_allclose(found.features, images[:, ::8, ::8], atol=1e-3)


def test_images_of_other_numbers_of_channels_are_refused():
    collection = Collection("x", np.ones((5, 9, 9, 4)), list("abcde"))
    with pytest.raises(ValueError, match="have 4 channels: a network takes one or thr"):
        with_network(collection, NetworkFeatures())


def test_what_a_network_tells_is_taken_where_pixels_tell_nothing(marked, monkeypatch):
    stand_in(monkeypatch, seen_classes)
    folder, classes = marked
    found, fitted = choose(read(folder), search(), NetworkFeatures())
    assert found.network is not None
    assert found.compared["network"] > found.compared["images"]
    assert clustering_accuracy(classes, fitted.labels_) == 1
    alone = search().fit(read(folder).images)
    assert clustering_accuracy(classes, alone.labels_) < 0.7


def test_images_are_taken_where_a_network_tells_nothing(grouped, monkeypatch):
    stand_in(monkeypatch, lambda batch, device: noise_of(batch))
    collection = read(grouped)
    found, fitted = choose(collection, search(), NetworkFeatures())
    assert found.features is None
    assert found.network is None
    assert found.compared["network"] < found.compared["images"]
    expected = search().fit(collection.images)
    np.testing.assert_array_equal(fitted.labels_, expected.labels_)


def with_nothing_compared(monkeypatch, channels):
    """Have searches in these channels find no graph that is connected well enough."""
    fit = AutoTSNMF.fit

    def nothing(self, X):
        found = fit(self, X)
        if self.channels == channels:
            found._compared, found.best_score_ = [], float("nan")
        return found

    monkeypatch.setattr(AutoTSNMF, "fit", nothing)


def test_images_with_nothing_to_compare_are_not_taken(grouped, monkeypatch):
    stand_in(monkeypatch, lambda batch, device: noise_of(batch))
    with_nothing_compared(monkeypatch, "auto")
    found, _ = choose(read(grouped), search(), NetworkFeatures())
    assert found.network is not None
    assert np.isnan(found.compared["images"])


def test_a_network_with_nothing_to_compare_is_not_taken(marked, monkeypatch):
    """Though its clusters, which are the classes, would be the better ones."""
    grouped = marked[0]
    stand_in(monkeypatch, seen_classes)
    with_nothing_compared(monkeypatch, "pixels")  # of features
    found, fitted = choose(read(grouped), search(), NetworkFeatures())
    assert found.network is None
    assert np.isfinite(fitted.best_score_)
    assert np.isnan(found.compared["network"])
    assert np.isfinite(found.compared["images"])


def test_files_are_cropped_alone(marked):
    with pytest.raises(ValueError, match="frame must be 'crop' for image files"):
        with_network(read(marked[0]), NetworkFeatures(frame="pad"))


@pytest.mark.parametrize(
    ("color", "told", "taken"),
    [
        (True, (0.80, 0.79), True),
        (True, (0.80, 0.77), False),
        (False, (0.80, 0.79), False),
        (False, (0.80, 0.81), True),
    ],
)
def test_a_level_choice_is_that_of_the_network_if_there_are_colours(
    marked, monkeypatch, color, told, taken
):
    stand_in(monkeypatch, seen_classes)
    known = iter(told)
    monkeypatch.setattr(AutoTSNMF, "edge_information", lambda *a, **b: next(known))
    collection = read(marked[0], Reading(color=color))
    found, _ = choose(collection, search(), NetworkFeatures())
    assert (found.network is not None) is taken
    assert found.compared == {"images": told[0], "network": told[1]}


def test_what_is_compared_is_told_by_the_graphs_of_both(grouped, monkeypatch):
    stand_in(monkeypatch, lambda batch, device: noise_of(batch))
    collection = read(grouped)
    told = choose(collection, search(), NetworkFeatures())[0].compared
    features = with_network(collection, NetworkFeatures()).features
    images = search().fit(collection.images)
    network = search().set_params(channels="pixels").fit(features)
    for name, labels in (("images", images.labels_), ("network", network.labels_)):
        together = network.edge_information(labels, others=[images])
        assert told[name] == pytest.approx(together)


def test_many_photos_are_judged_by_some_of_them(marked, monkeypatch):
    seen = []

    def run(batch, device):
        seen.append(len(batch))
        return seen_classes(batch, device)

    stand_in(monkeypatch, run)
    monkeypatch.setattr(choosing, "_SAMPLE", 30)
    folder, classes = marked
    found, fitted = choose(read(folder), search(), NetworkFeatures())
    assert sum(seen) == 30 + 60  # no cache
    assert len(found.features) == len(fitted.labels_) == 60
    assert clustering_accuracy(classes, fitted.labels_) == 1


def test_the_photos_that_are_looked_at_are_drawn_at_random(marked, monkeypatch):
    """Files come sorted by class; each keeps its name, its frame and its picture."""
    stand_in(monkeypatch, seen_classes)
    monkeypatch.setattr(choosing, "_SAMPLE", 30)
    looked_at, preferred = [], choosing._preferred
    monkeypatch.setattr(
        choosing, "_preferred", lambda *a: looked_at.append(a[0]) or preferred(*a)
    )
    whole = replace(read(marked[0]), frames=np.arange(60) % 7)
    monkeypatch.setattr(choosing, "image_blocks", first_frames)
    found, _ = choose(whole, search(), NetworkFeatures())
    [some] = looked_at
    rows = [whole.names.index(name) for name in some.names]
    assert rows == sorted(set(rows))
    assert len(rows) == 30
    assert max(rows) > 30
    assert np.ptp(np.diff(rows)) > 0
    np.testing.assert_array_equal(some.images, whole.images[rows])
    np.testing.assert_array_equal(some.frames, whole.frames[rows])
    assert some.paths == [whole.paths[i] for i in rows]
    assert found.compared["network"] > found.compared["images"]


def first_frames(paths, frames, *arguments, **options):
    """The blocks of files that have one frame, whatever frames are asked for."""
    return image_blocks(paths, [0] * len(paths), *arguments, **options)


def test_ten_photos_for_each_cluster_are_looked_at(marked, monkeypatch):
    seen = []

    def run(batch, device):
        seen.append(len(batch))
        return seen_classes(batch, device)

    stand_in(monkeypatch, run)
    monkeypatch.setattr(choosing, "_SAMPLE", 5)
    several = search().set_params(n_clusters=range(2, 5))
    found, _ = choose(read(marked[0]), several, NetworkFeatures())
    assert sum(seen) == 10 * 4 + 60
    assert len(found.features) == 60


@pytest.mark.parametrize(("sample", "parts"), [(60, 2), (30, 3)])
def test_searches_share_the_time(marked, monkeypatch, sample, parts):
    """Two searches of all photos, or two of some and one of all."""
    stand_in(monkeypatch, seen_classes)
    monkeypatch.setattr(choosing, "_SAMPLE", sample)
    limits, fit = [], AutoTSNMF.fit
    monkeypatch.setattr(
        AutoTSNMF, "fit", lambda self, X: limits.append(self.max_time) or fit(self, X)
    )
    collection = read(marked[0])
    choose(collection, search().set_params(max_time=60.0), NetworkFeatures())
    assert limits == [60.0 / parts] * parts
    limits.clear()
    choose(collection, search(), NetworkFeatures())
    assert limits == [None] * parts


def test_what_was_chosen_from_is_not_kept(marked, monkeypatch):
    """The samples of two searches are as large as what follows."""
    stand_in(monkeypatch, seen_classes)
    monkeypatch.setattr(choosing, "_SAMPLE", 30)
    some, fit = [], AutoTSNMF.fit

    def watched(self, X):
        if len(X) == 60:
            gc.collect()
            assert all(each() is None for each in some)
        some.append(weakref.ref(X))
        return fit(self, X)

    monkeypatch.setattr(AutoTSNMF, "fit", watched)
    choose(read(marked[0]), search(), NetworkFeatures())
    assert len(some) == 3


@pytest.mark.parametrize(
    "options", [{"maps": 2}, {"pooled": True}, {"frame": "pad"}], ids=str
)
def test_predict_maps_photos_as_the_fit_did(marked, monkeypatch, tmp_path, options):
    stand_in(monkeypatch, seen_classes)
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / "cache"))
    images = read(marked[0], Reading(size=(32, 24), color=True)).images
    np.save(tmp_path / "photos.npy", images)
    network, out = NetworkFeatures(**options), tmp_path / "out"
    collection = with_network(read(tmp_path / "photos.npy"), network)
    cluster(collection, search(), out)
    found, _, _ = predict(out, tmp_path / "photos.npy")
    np.testing.assert_array_equal(found.features, collection.features)


def test_the_results_tell_of_the_network_and_predict_by_it(
    marked, monkeypatch, tmp_path
):
    stand_in(monkeypatch, seen_classes)
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / "cache"))
    folder, classes = marked
    out = tmp_path / "out"
    done = cluster(read(folder), search(), out, network=NetworkFeatures())
    assert done.page == out / "report.html"
    report = json.loads((out / "report.json").read_text())
    assert report["network"] == "efficientnet-lite0"
    assert report["features"] == [4, 4, 4]
    assert set(report["search"]["compared"]) == {"images", "network"}
    page = done.page.read_text(encoding="utf-8")
    assert "features that a trained network, efficientnet-lite0, finds in them" in page
    assert "given with them" not in page
    assert report["parameters"]["channels"] == "network"
    tried = report["search"]["previews"] + report["search"]["fits"]
    assert {trial["channels"] for trial in tried} == {"network"}
    assert {row["channels"] for row in table(out / "search.csv")} == {"network"}
    rows = table(out / "assignments.csv")
    labels = [int(row["cluster"]) for row in rows]
    assert clustering_accuracy(classes, labels) == 1
    fresh = marked_photos(tmp_path / "fresh", 12, seed=5)
    _, assignments, _ = predict(out, tmp_path / "fresh")
    which = dict(zip(classes, labels, strict=True))
    assert assignments.clusters.tolist() == [which[c] for c in fresh]


def test_other_weights_are_refused(marked, monkeypatch, tmp_path):
    stand_in(monkeypatch, seen_classes)
    out = tmp_path / "out"
    cluster(read(marked[0]), search(), out, network=NetworkFeatures())
    stand_in(monkeypatch, seen_classes, digest="cd" * 32)
    with pytest.raises(ValueError, match=r"must have the weights that the model in"):
        predict(out, marked[0])
    with pytest.raises(ValueError, match=r"features must be left out .* a network's"):
        predict(out, marked[0], features=tmp_path / "x.npy")


def test_a_file_names_no_network_that_is_then_read(marked, monkeypatch, tmp_path):
    stand_in(monkeypatch, seen_classes)
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / "cache"))
    out, own = tmp_path / "out", NetworkFeatures("own.onnx")
    cluster(with_network(read(marked[0]), own), search(), out)
    _, about = load_model(out)
    assert about["network"]["name"] == "own.onnx"
    with pytest.raises(
        ValueError, match=r"network must be given .* 'own.onnx'; name it"
    ):
        predict(out, marked[0])
    collection, assignments, _ = predict(out, marked[0], network="own.onnx")
    rows = table(out / "assignments.csv")
    assert assignments.clusters.tolist() == [int(row["cluster"]) for row in rows]
    assert len(collection.features) == 60


def test_a_network_is_refused_for_a_model_without_one(grouped, tmp_path):
    cluster(read(grouped), search(), tmp_path / "out")
    with pytest.raises(ValueError, match=r"network must be left out .* without one"):
        predict(tmp_path / "out", grouped, network="own.onnx")
