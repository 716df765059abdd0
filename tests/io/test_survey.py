"""What ``read_images`` finds out by itself, and the thumbnails that depend on it."""

import numpy as np
import pytest
from PIL import Image, ImageFile

from twofold.io import read_images

RANDOM = np.random.default_rng(0)


def noise(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def smooth(height, width):
    """Colours that change slowly, as JPEG likes them."""
    y, x = np.mgrid[0:height, 0:width]
    channels = [255 * y / height, 255 * x / width, 255 - 255 * y / height]
    return np.stack(channels, axis=-1).astype(np.uint8)


def save(path, pixels, **options):
    Image.fromarray(pixels).save(path, **options)
    return path


def cut(path, pixels):
    """A PNG of which the header is whole and the pixels are not."""
    save(path, pixels)
    path.write_bytes(path.read_bytes()[:400])


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.fixture
def files_opened(monkeypatch):
    """The names of the files that Pillow opens."""
    names, really = [], Image.open

    def noted(path, **options):
        names.append(path.name)
        return really(path, **options)

    monkeypatch.setattr(Image, "open", noted)
    return names


@pytest.fixture
def shapes_decoded(monkeypatch):
    """The (width, height) of all that is decoded."""
    shapes, really = [], ImageFile.ImageFile.load

    def noted(image):
        if image.tile:  # which is empty once it has been
            shapes.append(image.size)
        return really(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", noted)
    return shapes


@pytest.mark.parametrize(
    ("shapes", "size"),
    [
        ([(28, 28)], (28, 28)),
        ([(300, 400)], (48, 64)),
        ([(30, 40), (50, 60), (20, 61)], (30, 60)),
        ([(10, 20), (20, 30)], (15, 25)),
        ([(200, 128)], (64, 41)),
        ([(1, 1000)], (1, 64)),
        ([(1, 1)], (1, 1)),
        ([(64, 65)], (63, 64)),
    ],
)
def test_the_size_is_that_of_the_median_image_or_less(tmp_path, shapes, size):
    for i, shape in enumerate(shapes):
        save(tmp_path / f"{i}.png", noise(*shape))
    assert read_images(tmp_path).images.shape[1:] == size


@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_the_size_is_that_of_upright_images(tmp_path, ending, orientation):
    path = tmp_path / f"a.{ending}"
    save(path, smooth(20, 50), exif=turned(orientation))
    found = read_images(tmp_path, color=None, thumbnails=50)
    upright = (50, 20) if orientation > 4 else (20, 50)
    assert found.images.shape == (1, *upright, 3)
    np.testing.assert_array_equal(found.thumbnail_sizes, [upright])


def test_a_large_photo_is_surveyed_by_its_header_and_a_fraction(
    tmp_path, shapes_decoded
):
    save(tmp_path / "a.jpg", smooth(2400, 3200))
    assert read_images(tmp_path).images.shape == (1, 48, 64)
    assert shapes_decoded == [(400, 300)]  # the reading itself
    shapes_decoded.clear()
    assert read_images(tmp_path, color=None).images.shape == (1, 48, 64, 3)
    assert shapes_decoded == [(400, 300)] * 2


def test_grey_files_are_known_by_their_headers(tmp_path, shapes_decoded):
    save(tmp_path / "a.png", noise(20, 30))
    assert read_images(tmp_path, color=None).images.shape == (1, 20, 30)
    assert shapes_decoded == [(30, 20)]  # the reading itself


def test_headers_are_enough_for_the_size(tmp_path):
    for i in range(2):
        cut(tmp_path / f"{i}.png", noise(40, 50))
    save(tmp_path / "good.png", noise(20, 30))
    found = read_images(tmp_path, thumbnails=100)
    assert found.images.shape == (1, 40, 50)
    assert found.thumbnails.shape == (1, 50, 50, 3)


def test_files_that_cannot_be_read_do_not_count(tmp_path):
    save(tmp_path / "good.png", noise(20, 30))
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not an image")
    found = read_images(tmp_path, color=None, thumbnails=99)
    assert found.images.shape == (1, 20, 30)
    assert found.thumbnails.shape == (1, 30, 30, 3)
    assert len(found.skipped) == 2


@pytest.mark.parametrize("kind", [2, 5, 7])
def test_sizes_that_are_no_whole_numbers_do_not_count(tmp_path, kind):
    """The width of a TIFF file may be text, a fraction or bytes."""
    save(tmp_path / "good.png", noise(20, 30))
    path = save(tmp_path / "odd.tif", noise(6, 8))
    data = bytearray(path.read_bytes())
    entry = int.from_bytes(data[4:8], "little") + 2
    assert data[entry : entry + 4] == bytes([0, 1, 4, 0])  # ImageWidth, of 32 bits
    data[entry + 2] = kind
    path.write_bytes(data)
    found = read_images(tmp_path, color=None, thumbnails=99)
    assert found.images.shape == (1, 20, 30)
    assert [path.name for path, _ in found.skipped] == ["odd.tif"]


def test_where_none_can_be_read_the_error_is_that_of_reading(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match=r"got 2 files and .*a.png: the file is empty"):
        read_images(tmp_path, color=None, thumbnails=10)


def test_the_size_where_no_file_of_the_sample_can_be_read(tmp_path):
    """Of 201 files every other one is looked at."""
    paths = [tmp_path / f"{i:03}.png" for i in range(201)]
    for path in paths:
        path.write_bytes(b"")
    save(paths[1], noise(20, 30, 3))
    found = read_images(tmp_path, color=None, thumbnails=70)
    assert found.paths == [paths[1]]
    assert found.images.shape == (1, 64, 64)
    assert found.thumbnails.shape == (1, 70, 70, 3)
    np.testing.assert_array_equal(found.thumbnail_sizes, [[20, 30]])


def test_images_above_the_limit_are_neither_counted_nor_decoded(
    tmp_path, shapes_decoded
):
    for i in range(3):
        save(tmp_path / f"{i}.png", noise(100, 200, 3))
    save(tmp_path / "small.png", noise(10, 20))
    found = read_images(tmp_path, color=None, thumbnails=50, max_pixels=1000)
    assert found.images.shape == (1, 10, 20)
    assert found.thumbnails.shape == (1, 20, 20, 3)
    assert set(shapes_decoded) == {(20, 10)}


def test_the_sample_is_spread_over_the_sorted_files(tmp_path, files_opened):
    content = save(tmp_path / "000.png", noise(4, 4)).read_bytes()
    paths = [tmp_path / f"{i:03}.png" for i in range(300)]
    for path in paths:
        path.write_bytes(content)
    read_images(RANDOM.permutation(paths), n_jobs=1)
    looked_at = [int(name[:3]) for name in files_opened[:100]]
    assert looked_at[0] == 0
    assert looked_at[-1] == 299
    assert set(np.diff(looked_at)) == {3, 4}
    assert len(files_opened) == 400


def test_files_are_opened_once_but_for_the_survey(tmp_path, files_opened):
    for name in ("a.png", "b.jpg"):
        save(tmp_path / name, smooth(20, 30))
    read_images(tmp_path, 8, color=True)
    assert sorted(files_opened) == ["a.png", "b.jpg"]
    files_opened.clear()
    read_images(tmp_path, color=None, thumbnails=10)
    assert sorted(files_opened) == ["a.png"] * 2 + ["b.jpg"] * 2


def in_color(folder, **options):
    return read_images(folder, 8, color=None, **options).images.ndim == 4


GREY = np.repeat(noise(64, 64, 1), 3, axis=2)
PATCH = GREY.copy()
PATCH[:16, :16] = [200, 0, 0]  # a sixteenth of the image
SPECK = GREY.copy()
SPECK[:4, :4] = [200, 0, 0]
TINT = np.full((64, 64, 3), [204, 202, 200], dtype=np.uint8)
SEPIA = (GREY * [1, 0.85, 0.65]).astype(np.uint8)
GRAIN = np.clip(RANDOM.normal(128, 10, (256, 256, 3)), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("pixels", "colored"),
    [
        (smooth(40, 50), True),
        (PATCH, True),
        (SEPIA, True),
        (GREY, False),
        (SPECK, False),
        (TINT, False),
        (GRAIN, False),
        (GREY[..., 0], False),
        (GREY[..., 0].astype(np.uint16) * 257, False),
    ],
    ids=["colours", "patch", "sepia", "grey", "speck", "tint", "grain", "one", "deep"],
)
@pytest.mark.parametrize("ending", ["png", "jpg", "tif"])
def test_what_colour_is(tmp_path, pixels, colored, ending):
    if pixels.dtype == np.uint16 and ending == "jpg":
        pixels = pixels.astype(np.uint8)
    save(tmp_path / f"a.{ending}", pixels)
    assert in_color(tmp_path) is colored


def test_colours_of_palettes_and_of_what_is_seen_through(tmp_path):
    for name, rgb in [("grey", [90, 90, 90]), ("green", [0, 200, 0])]:
        palette = Image.new("P", (8, 8), 0)
        palette.putpalette(rgb)
        palette.save(tmp_path / f"{name}.gif")
    hidden = np.zeros((8, 8, 4), dtype=np.uint8)
    hidden[..., 0] = 255
    save(tmp_path / "hidden.png", hidden)
    shown = {name: in_color(tmp_path / name) for name in ("grey.gif", "hidden.png")}
    assert shown == {"grey.gif": False, "hidden.png": False}
    assert in_color(tmp_path / "green.gif")


@pytest.mark.parametrize(
    ("colored", "count", "kept"), [(5, 10, True), (1, 10, True), (1, 11, False)]
)
def test_one_image_in_ten_must_have_colour(tmp_path, colored, count, kept):
    """Files that break off do not count."""
    for i in range(count):
        save(tmp_path / f"{i:02}.png", smooth(9, 9) if i < colored else GREY)
    for i in range(8):
        cut(tmp_path / f"cut{i}.png", noise(50, 50, 3))
    found = read_images(tmp_path, 9, color=None)
    assert len(found.paths) == count
    assert found.images.shape == ((count, 9, 9, 3) if kept else (count, 9, 9))
    if kept:
        np.testing.assert_allclose(found.images[0], smooth(9, 9) / 255, atol=1e-6)


def taken_out(found):
    """The thumbnails without what is around them, which must be 0."""
    side = found.thumbnails.shape[1]
    for square, (height, width) in zip(
        found.thumbnails, found.thumbnail_sizes, strict=True
    ):
        top, left = (side - height) // 2, (side - width) // 2
        inside = np.zeros((side, side), dtype=bool)
        inside[top : top + height, left : left + width] = True
        assert not square[~inside].any()
        yield square[inside].reshape(height, width, 3)


def test_thumbnails_are_those_of_pillow(tmp_path):
    shapes = [(60, 40), (20, 90), (7, 200), (40, 40), (3, 2), (1, 300)]
    for i, shape in enumerate(shapes):
        save(tmp_path / f"{i}.png", noise(*shape, 3))
    (tmp_path / "2b.png").write_bytes(b"")
    found = read_images(tmp_path, 8, thumbnails=32)
    assert found.thumbnails.shape == (6, 32, 32, 3)
    assert found.thumbnails.dtype == np.uint8
    for path, ours in zip(found.paths, taken_out(found), strict=True):
        with Image.open(path) as image:
            image.thumbnail((32, 32), Image.Resampling.HAMMING, reducing_gap=None)
            np.testing.assert_array_equal(ours, np.asarray(image))
    expected = [(32, 21), (7, 32), (1, 32), (32, 32), (3, 2), (1, 32)]
    assert [tuple(size) for size in found.thumbnail_sizes.tolist()] == expected
    plain = read_images(tmp_path, 8)
    np.testing.assert_array_equal(found.images, plain.images)
    assert "thumbnails" not in plain


@pytest.mark.parametrize(("asked", "side"), [(20, 20), (28, 28), (500, 28)])
def test_thumbnails_are_no_larger_than_the_median_image(tmp_path, asked, side):
    for i, shape in enumerate([(28, 28), (28, 20), (90, 70)]):
        save(tmp_path / f"{i}.png", noise(*shape))
    found = read_images(tmp_path, 8, thumbnails=asked)
    assert found.thumbnails.shape == (3, side, side, 3)
    assert found.thumbnail_sizes.max() == side


def test_thumbnails_stand_upright(tmp_path):
    scene = smooth(400, 600)
    rotated = np.ascontiguousarray(np.rot90(scene))
    save(tmp_path / "a.jpg", rotated, exif=turned(6), quality=95)
    found = read_images(tmp_path, 8, thumbnails=60)
    (ours,) = taken_out(found)
    expected = Image.fromarray(scene).resize((60, 40), Image.Resampling.BOX)
    np.testing.assert_allclose(ours, np.asarray(expected, dtype=float), atol=6)


@pytest.mark.parametrize("size", [8, 512])
def test_a_jpeg_is_decoded_finely_enough_for_image_and_thumbnail(tmp_path, size):
    """Stripes of 8 pixels stay stripes in the larger of the two."""
    stripes = np.tile(np.repeat(np.uint8([0, 255]), 8), (1024, 64))
    path = save(tmp_path / "a.jpg", np.stack([stripes] * 3, axis=-1), quality=95)
    found = read_images(path, size, thumbnails=256 if size == 8 else 8)
    larger = found.thumbnails[0, ..., 1] / 255 if size == 8 else found.images[0]
    expected = np.tile([0, 0, 1, 1] if size == 8 else [0] * 4 + [1] * 4, 64)
    np.testing.assert_allclose(larger[100], expected, atol=0.1)


@pytest.mark.parametrize("color", [False, True])
def test_images_of_small_jpegs_do_not_depend_on_thumbnails(tmp_path, color):
    save(tmp_path / "a.jpg", noise(40, 50, 3))
    plain = read_images(tmp_path, 30, color=color).images
    found = read_images(tmp_path, 30, color=color, thumbnails=50)
    np.testing.assert_array_equal(found.images, plain)
    (ours,) = taken_out(found)
    with Image.open(tmp_path / "a.jpg") as image:
        np.testing.assert_allclose(ours, np.asarray(image, dtype=float), atol=2)


def test_thumbnails_of_transparent_deep_and_grey_images(tmp_path):
    layer = np.zeros((4, 6, 4), dtype=np.uint8)
    layer[:, 3:] = [10, 20, 30, 255]
    save(tmp_path / "alpha.png", layer)
    deep = RANDOM.integers(0, 65536, (4, 6), dtype=np.uint16)
    save(tmp_path / "deep.png", deep)
    grey = noise(4, 6)
    save(tmp_path / "grey.png", grey)
    found = read_images(tmp_path, thumbnails=6)
    alpha, of_deep, of_grey = taken_out(found)
    np.testing.assert_array_equal(alpha[:, :3], np.full((4, 3, 3), 255))
    np.testing.assert_array_equal(alpha[:, 3:], layer[:, 3:, :3])
    for thumbnail, expected in [(of_deep, np.rint(deep / 257)), (of_grey, grey)]:
        np.testing.assert_array_equal(thumbnail, np.stack([expected] * 3, axis=-1))
    np.testing.assert_allclose(found.images[1], deep / 65535, atol=1e-6)
