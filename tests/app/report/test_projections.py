"""What is kept, as sums over pixels."""

import numpy as np
import problems
import pytest
from browsing import page_of

from twofold import TSNMF
from twofold.app.report.sections.projections import describe_projections
from twofold.channels import BANKS


def fitted(images, directions):
    return TSNMF(2, n_directions=directions, random_state=0, tol=0.1).fit(images)


def stack_of(shape, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1, size=shape)


def through(image, left, right):
    """Sum over every pair of directions, channel by channel."""
    flat = image.reshape(*image.shape[:2], -1)
    seen = np.zeros(flat.shape)
    for c in range(flat.shape[2]):
        for q in left.T:
            for p in right.T:
                seen[:, :, c] += (q @ flat[:, :, c] @ p) * np.outer(q, p)
    return seen.reshape(image.shape)


@pytest.mark.parametrize("shape", [(12, 6, 5), (10, 5, 6, 3)])
def test_kept_energy_and_pictures(shape, pixels_of):
    images = stack_of(shape)
    model = fitted(images, (3, 2))
    found = describe_projections(images, model)
    left, right = model.left_projection_, model.right_projection_
    every_row, every_column = np.eye(shape[1]), np.eye(shape[2])
    sides = {
        "left": (left, every_column),
        "right": (every_row, right),
        "both": (left, right),
    }
    assert [view.side for view in found.views] == list(sides)
    mean = images.mean(axis=0)
    low, high = mean.min(), mean.max()
    for view, (q, p) in zip(found.views, sides.values(), strict=True):
        parts = [(through(x, q, p) ** 2).sum() / (x**2).sum() for x in images]
        assert view.kept == pytest.approx(np.mean(parts), abs=6e-5)
        seen = np.clip((through(mean, q, p) - low) / (high - low), 0, 1) * 255
        shown = pixels_of(view.picture).reshape(*shape[1:3], 3)
        known = seen if seen.ndim == 3 else np.stack([seen] * 3, axis=2)
        assert np.abs(shown - known).max() < 1
    assert found.views[0].directions == [3]
    assert found.views[1].many == [shape[2]]
    assert found.views[2].directions == [3, 2]
    assert found.views[2].many == list(shape[1:3])
    unseen = (mean - low) / (high - low) * 255
    known = unseen if unseen.ndim == 3 else np.stack([unseen] * 3, axis=2)
    assert np.abs(pixels_of(found.mean) - known).max() < 1


def test_maps_of_many_channels_are_shown_by_their_strength(pixels_of):
    maps = stack_of((10, 5, 6, 7)) * np.random.default_rng(1).choice([-1, 1], 7)
    model = fitted(maps, (3, 2))
    found = describe_projections(maps, model)
    unit = maps / np.linalg.norm(maps.reshape(10, -1), axis=1)[:, None, None, None]
    pairs = [(np.eye(5), np.eye(6)), (model.left_projection_, model.right_projection_)]
    for picture, pair in zip((found.mean, found.views[2].picture), pairs, strict=True):
        seen = np.array([through(each, *pair) for each in unit])
        strength = np.sqrt((seen**2).sum(axis=3).mean(axis=0))
        known = 255 * strength / strength.max()
        assert np.abs(pixels_of(picture)[..., 0] - known).max() < 1


def test_all_directions_keep_everything(pixels_of):
    images = stack_of((8, 4, 3))
    found = describe_projections(images, fitted(images, (4, 3)))
    for view in found.views:
        assert view.kept == pytest.approx(1, abs=1e-4)
        shown = pixels_of(view.picture).astype(int)
        assert np.abs(shown - pixels_of(found.mean)).max() <= 1


def test_both_sides_keep_no_more_than_one():
    images = stack_of((15, 7, 6), seed=3)
    kept = [view.kept for view in describe_projections(images, fitted(images, 2)).views]
    assert kept[2] <= min(kept[:2])
    assert all(0 < part < 1 for part in kept)


def test_vectors_have_one_side():
    images = stack_of((20, 9))
    model = fitted(images, 4)
    (view,) = describe_projections(images, model).views
    assert view.side == "left"
    assert view.many == [9]
    parts = [((model.left_projection_.T @ x) ** 2).sum() / (x @ x) for x in images]
    assert view.kept == pytest.approx(np.mean(parts), abs=6e-5)


@pytest.mark.parametrize("shape", [(12, 26, 10), (10, 9, 12, 3)])
@pytest.mark.parametrize("channels", ["gradients", "fine_gradients"])
def test_maps_are_projected_where_the_model_has_them(shape, channels, pixels_of):
    images = np.cumsum(stack_of(shape) - 0.5, axis=2)
    model = TSNMF(2, n_directions=(3, 2), channels=channels, random_state=0)
    found = describe_projections(images, model.fit(images))
    assert found.channels == channels
    maps = BANKS[channels].transformer.transform(images)
    left, right = model.left_projection_, model.right_projection_
    every_row, every_column = np.eye(maps.shape[1]), np.eye(maps.shape[2])
    sides = [(left, every_column), (every_row, right), (left, right)]
    unit = [x / np.linalg.norm(x) for x in maps]
    shown = [found.mean, *(view.picture for view in found.views)]
    for picture, (q, p) in zip(shown, [(every_row, every_column), *sides], strict=True):
        squares = np.mean([through(x, q, p) ** 2 for x in unit], axis=0)
        lengths = np.sqrt(squares.sum(axis=2))
        known = 255 * lengths / lengths.max()
        assert np.abs(pixels_of(picture) - known[..., None]).max() < 1
    for view, (q, p) in zip(found.views, sides, strict=True):
        parts = [(through(x, q, p) ** 2).sum() / (x**2).sum() for x in maps]
        assert view.kept == pytest.approx(np.mean(parts), abs=6e-5)
    assert found.views[2].many == list(maps.shape[1:3])


def test_aligned_images_are_projected_where_the_model_aligns():
    picture = np.cumsum(np.cumsum(stack_of((12, 10), 3) - 0.5, axis=0), axis=1)
    images = np.array([np.roll(picture, i % 4 - 2, axis=1) for i in range(12)])
    images += 0.1 * stack_of(images.shape)
    model = TSNMF(2, align="shifts", channels="pixels", random_state=0).fit(images)
    moved = model.state_.alignment.apply(images[:, None])[1][:, 0]
    assert (moved != images).any()
    both = describe_projections(images, model).views[2]
    sides = model.left_projection_, model.right_projection_
    parts = [(through(x, *sides) ** 2).sum() / (x**2).sum() for x in moved]
    assert both.kept == pytest.approx(np.mean(parts), abs=6e-5)


def test_the_page_says_what_is_seen(summary):
    assert "The mean image, as the model sees it" in page_of(summary)
    summary["projections"]["channels"] = "gradients"
    page = page_of(summary)
    assert "The model compares the gradients of the images rather than" in page
    assert 'alt="The maps through their row directions"' in page
    assert "The mean image" not in page
    del summary["projections"]["channels"]  # as in older files
    assert "The mean image, as the model sees it" in page_of(summary)


def test_blank_samples_do_not_count():
    images = stack_of((12, 5, 4))
    model = fitted(images, 2)
    known = [view.kept for view in describe_projections(images, model).views]
    more = np.concatenate([images, np.zeros((5, 5, 4))])
    found = [view.kept for view in describe_projections(more, model).views]
    assert found == pytest.approx(known, abs=1e-4)


def test_dark_samples_count_as_others():
    """The squares of their entries vanish."""
    images = problems.images(n=24)
    plain = describe_projections(images, model := fitted(images, 2))
    images[::2] *= 1e-200
    dark = describe_projections(images, model)
    assert [view.kept for view in dark.views] == [view.kept for view in plain.views]
