"""What a model keeps of its collection, and files that claim to be that."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold import TSNMF
from twofold.app.collection import Collection, Reading
from twofold.app.origin import Origin
from twofold.app.results import assign_new, assign_trained, typical_orders, typicality
from twofold.estimators import load_model, save_model


@pytest.fixture(scope="module")
def collection(images):
    names = [f"\udcff{i}\n.png" for i in range(60)]
    reading = Reading(size=(7, 6), color=False, fit="crop", key="fea", order="F")
    return Collection("my \udcffphotos", images, names, reading=reading)


@pytest.fixture(scope="module")
def origin(collection, model):
    typical = typicality(collection.images, model.labels_)
    return Origin.of(collection, typical_orders(model.labels_, typical))


def test_the_representatives_are_the_most_typical_samples(collection, origin, model):
    typical = typicality(collection.images, model.labels_)
    for cluster, (row, name) in enumerate(
        zip(origin.rows, origin.representatives, strict=True)
    ):
        members = np.flatnonzero(model.labels_ == cluster)
        assert row in members
        assert typical[row] == typical[members].max()
        assert name == collection.names[row]
    assert len(origin.rows) == 3


def test_it_comes_back_from_a_file(collection, origin, model, tmp_path):
    save_model(model, tmp_path, about=origin.as_dict())
    loaded, about = load_model(tmp_path)
    assert Origin.from_dict(about, loaded) == origin
    assert (origin.title, origin.fit, origin.order, origin.key) == (
        collection.title,
        "crop",
        "F",
        "fea",
    )


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("title", None),
        ("title", 3),
        ("fit", ["stretch"]),
        ("order", None),
        ("key", 0),
        ("representatives", None),
        ("representatives", "abc"),
        ("representatives", ["a", "b"]),
        ("representatives", ["a", "b", 3]),
        ("representatives", []),
        ("representatives", {"a": 1, "b": 2, "c": 3}),
        ("rows", None),
        ("rows", []),
        ("rows", "012"),
        ("rows", 0),
        ("rows", [0.0, 1.0, 2.0]),
        ("rows", [True, False, True]),
        ("rows", [0, 1, 60]),
        ("rows", [-1, 0, 1]),
        ("rows", [0, 1, 10**30]),
        ("rows", [0, 0, 0]),
        ("rows", [[0], [1], [2]]),
        ("images", [0, 4]),
        ("images", "4 x 4"),
        ("more", "fields"),
        ("1", 1),
    ],
)
def test_what_is_no_origin_is_refused(origin, model, change, value):
    about = origin.as_dict() | {change: value}
    with pytest.raises(ValueError, match="says nothing of its images; make the model"):
        Origin.from_dict(about, model)


def test_missing_fields_and_models_of_other_makers(origin, model):
    whole = origin.as_dict()
    # Models that say nothing of frames are of a time when files had but one, and those
    # that say nothing of images were fitted to them, without a network.
    later = ("frames", "images", "network")
    earlier = {key: value for key, value in whole.items() if key not in later}
    assert Origin.from_dict(earlier, model).frames == "all"
    assert Origin.from_dict(earlier, model).images is None
    assert Origin.from_dict(earlier, model).network is None
    for name in earlier:
        about = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(ValueError, match="says nothing of its images"):
            Origin.from_dict(about, model)
    with pytest.raises(ValueError, match="make the model again with twofold cluster"):
        Origin.from_dict({}, model)


def test_representatives_must_be_of_their_clusters(origin, model):
    about = origin.as_dict()
    about["rows"] = about["rows"][::-1]
    with pytest.raises(ValueError, match="says nothing of its images"):
        Origin.from_dict(about, model)
    fewer = origin.as_dict()
    fewer["rows"], fewer["representatives"] = fewer["rows"][:2], ["a", "b"]
    with pytest.raises(ValueError, match="says nothing of its images"):
        Origin.from_dict(fewer, model)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
FIELDS = st.sampled_from(["title", "fit", "order", "key", "representatives", "rows"])


def origin_or_refusal(about, model):
    try:
        return Origin.from_dict(about, model), ""
    except ValueError as error:
        return None, str(error)


@settings(max_examples=200, deadline=None)
@given(change=st.dictionaries(FIELDS | st.text(max_size=2), JSON, max_size=4))
def test_anything_gives_a_whole_origin_or_a_refusal(origin, model, change):
    about = json.loads(json.dumps(origin.as_dict() | change))
    found, reason = origin_or_refusal(about, model)
    if found is None:
        assert "says nothing of its images" in reason
    else:
        assert [model.labels_[row] for row in found.rows] == [0, 1, 2]
        texts = [found.title, found.fit, found.order, *found.representatives]
        assert {type(text) for text in texts} == {str}
        assert len(found.representatives) == 3


# How new samples are read and named


@pytest.mark.parametrize(
    ("shape", "size", "color"),
    [((7, 6), (7, 6), False), ((7, 3, 2), (7, 3), True), ((42,), None, False)],
)
def test_new_samples_are_read_as_the_trained_ones_were(
    images, origin, shape, size, color
):
    model = TSNMF(3, sample_shape=shape, random_state=0).fit(images.reshape(60, -1))
    expected = Reading(size, color, "crop", "fea", None, "F")
    assert origin.reading(model) == expected
    assert origin.reading(model, "other").key == "other"


@pytest.mark.parametrize("assign", [assign_new, assign_trained])
def test_the_nearest_representative_has_the_smallest_angle(
    images, origin, model, assign
):
    found = assign(model, images)
    V = model.coefficients_
    for v, name in zip(found.coefficients, origin.nearest(model, found), strict=True):
        cosines = [v @ V[row] / np.linalg.norm(V[row]) for row in origin.rows]
        assert name == origin.representatives[int(np.argmax(cosines))]


def test_each_representative_is_its_own_nearest(images, origin, model):
    nearest = origin.nearest(model, assign_trained(model, images))
    assert [nearest[row] for row in origin.rows] == origin.representatives


@pytest.mark.torch
def test_the_nearest_of_a_model_of_tensors(images, collection):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    model = TSNMF(3, random_state=0).fit(torch.asarray(images))
    found = assign_new(model, torch.asarray(images))
    typical = typicality(images, found.clusters)
    origin = Origin.of(collection, typical_orders(found.clusters, typical))
    assert Origin.from_dict(origin.as_dict(), model) == origin
    nearest = origin.nearest(model, found)
    assert [nearest[row] for row in origin.rows] == origin.representatives
