import io
import os
import struct
import threading
import zlib

import numpy as np
import pytest
from PIL import Image

from twofold.io import read_images
from twofold.progress import listening

RAMP = np.linspace(0, 255, 48).round().astype(np.uint8).reshape(6, 8)


def save(path, pixels=RAMP, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


@pytest.fixture
def folder(tmp_path):
    for name, shift in [("b/2.png", 20), ("a/1.png", 0), ("b/1.bmp", 10)]:
        save(tmp_path / name, np.minimum(RAMP, 200) + np.uint8(shift))
    save(tmp_path / ".hidden.png")
    save(tmp_path / ".cache/1.png")
    return tmp_path


def test_a_folder_is_read_in_order_of_its_names(folder):
    found = read_images(folder, (6, 8))
    assert [str(p.relative_to(folder)) for p in found.paths] == [
        "a/1.png",
        "b/1.bmp",
        "b/2.png",
    ]
    assert found.images.shape == (3, 6, 8)
    assert found.images.dtype == np.float32
    expected = np.minimum(RAMP, 200) / 255
    for image, shift in zip(found.images, (0, 10, 20), strict=True):
        np.testing.assert_allclose(image, expected + shift / 255, atol=1e-6)
    assert found.skipped == []


def test_folders_are_labels(folder):
    found = read_images(folder, 4, labels=True)
    assert found.target_names == ["a", "b"]
    np.testing.assert_array_equal(found.target, [0, 1, 1])
    listed = read_images([folder / "b/1.bmp", folder / "a/1.png"], 4, labels=True)
    assert [listed.target_names[i] for i in listed.target] == ["b", "a"]
    only = read_images(folder / "b", 4, labels=True)
    assert only.target_names == ["."]


def test_labels_are_paths_and_do_not_depend_on_what_is_readable(tmp_path, monkeypatch):
    for name in ("c/1.png", "c/c/2.png", "c/d/3.png"):
        save(tmp_path / name)
    (tmp_path / "broken.png").write_bytes(b"")
    assert read_images(tmp_path / "c", 4, labels=True).target_names == [".", "c", "d"]
    pattern = read_images(str(tmp_path / "**/*.png"), 4, labels=True)
    assert pattern.target_names == ["c", "c/c", "c/d"]
    monkeypatch.chdir(tmp_path)
    mixed = read_images(["c/1.png", tmp_path / "c/d/3.png"], 4, labels=True)
    assert mixed.target_names == [".", "d"]


def test_patterns_lists_and_single_files(folder):
    assert len(read_images(str(folder / "**/*.png"), 4).paths) == 2
    in_b = [folder / "b/1.bmp", folder / "b/2.png"]
    assert read_images(f"{folder}/b/*", 4).paths == in_b
    assert read_images(f"{folder}/**", 4).paths == [folder / "a/1.png", *in_b]
    files = [folder / "b/2.png", str(folder / "a/1.png")]
    assert read_images(files, 4).paths == [folder / "b/2.png", folder / "a/1.png"]
    assert len(read_images(folder / "a/1.png", 4).images) == 1


def test_grey_and_colour(tmp_path):
    red = np.zeros((4, 4, 3), dtype=np.uint8)
    red[..., 0] = 255
    save(tmp_path / "red.png", red)
    colour = read_images(tmp_path, 2, color=True).images
    np.testing.assert_allclose(colour, np.broadcast_to([1, 0, 0], (1, 2, 2, 3)))
    grey = read_images(tmp_path, 2).images
    np.testing.assert_allclose(grey, 0.299, atol=0.002)  # the luma of red


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_undone(tmp_path, orientation):
    """Each row is what a camera so turned stores of the same scene."""
    scene = np.zeros((32, 32), dtype=np.uint8)
    scene[:16, :] = 200
    scene[:16, :16] = 255
    stored = {
        1: scene,
        2: scene[:, ::-1],
        3: scene[::-1, ::-1],
        4: scene[::-1],
        5: scene.T,
        6: np.rot90(scene),
        7: np.rot90(scene, 2).T,
        8: np.rot90(scene, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(tmp_path / "a.jpg", np.ascontiguousarray(stored), exif=exif, quality=95)
    corners = read_images(path, 8).images[0][::7, ::7]
    np.testing.assert_allclose(corners, [[1, 200 / 255], [0, 0]], atol=0.03)


def test_sixteen_bits_keep_their_depth(tmp_path):
    deep = (RAMP.astype(np.uint16) * 257) // 16  # twelve of the sixteen bits
    save(tmp_path / "a.png", deep)
    save(tmp_path / "b.tif", deep)
    images = read_images(tmp_path, (6, 8)).images
    for image in images:
        np.testing.assert_allclose(image, deep / 65535, atol=1e-6)
    colour = read_images(tmp_path, (6, 8), color=True).images
    np.testing.assert_array_equal(colour[..., 1], images)


@pytest.mark.parametrize("ending", ["png", "tif", "pgm", "jp2"])
def test_brightness_is_the_same_in_every_format_of_sixteen_bits(tmp_path, ending):
    for name, value in [("dark", 1000), ("light", 60_000)]:
        path, pixels = tmp_path / f"{name}.{ending}", np.full((6, 8), value, ">u2")
        if ending == "pgm":  # which not every Pillow writes
            path.write_bytes(b"P5 8 6 65535\n" + pixels.tobytes())
        else:
            save(path, pixels.astype(np.uint16))
    images = read_images(tmp_path, 4).images
    np.testing.assert_allclose(images[0], 1000 / 65535, atol=1e-6)
    np.testing.assert_allclose(images[1], 60_000 / 65535, atol=1e-6)


def test_float_images(tmp_path):
    save(tmp_path / "a.tif", RAMP.astype(np.float32) / 255)
    save(tmp_path / "above.tif", RAMP.astype(np.float32))
    save(tmp_path / "below.tif", RAMP.astype(np.float32) / 255 - 0.5)
    save(tmp_path / "nan.tif", np.full((6, 8), np.nan, dtype=np.float32))
    save(tmp_path / "wide.tif", np.full((6, 8), 70_000, dtype=np.int32))
    found = read_images(tmp_path, (6, 8))
    np.testing.assert_allclose(found.images, RAMP[None] / 255, atol=1e-6)
    reasons = {path.name: reason for path, reason in found.skipped}
    assert len(reasons) == 4
    way_out = "scale them, or save the images as an array file, such as .npy"
    wrong = "its pixels of 32 bits are not between 0 and"
    assert reasons["nan.tif"] == f"{wrong} 1; {way_out}"
    assert reasons["wide.tif"] == f"{wrong} 65535; {way_out}"


def test_a_large_jpeg_is_decoded_at_a_fraction_of_its_size(tmp_path):
    """Its four quarters stay what they are, on all sides of every such fraction."""
    quarters = np.kron([[250, 150], [100, 0]], np.ones((512, 512))).astype(np.uint8)
    save(tmp_path / "a.jpg", quarters, quality=95)
    for size in (16, 64, 100, 600):
        image = read_images(tmp_path, size).images[0]
        quarter = size // 4
        corners = image[quarter :: 2 * quarter, quarter :: 2 * quarter][:2, :2]
        expected = np.array([[250, 150], [100, 0]]) / 255
        np.testing.assert_allclose(corners, expected, atol=0.02)


def test_palettes_alpha_and_bits(tmp_path):
    transparent = np.zeros((4, 4, 4), dtype=np.uint8)  # black that is not seen
    transparent[:, 2:, 3] = 255
    save(tmp_path / "alpha.png", transparent)
    Image.fromarray(transparent).convert("LA").save(tmp_path / "grey-alpha.png")
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([255, 255, 255, 0, 0, 0])
    palette.paste(1, (2, 0, 4, 4))
    palette.save(tmp_path / "palette.gif")
    palette.putpalette([9, 9, 9, 0, 0, 0])  # dark where it is seen through
    palette.save(tmp_path / "palette-hole.png", transparency=0)
    deep = np.tile(np.array([7, 7, 0, 0], dtype=np.uint16), (4, 1))
    Image.fromarray(deep).save(tmp_path / "deep-hole.png", transparency=7)
    bits = Image.fromarray(np.tile([True, True, False, False], (4, 1)))
    bits.save(tmp_path / "bits.png")
    cmyk = Image.fromarray(transparent[..., :3]).convert("CMYK")
    cmyk.paste((0, 0, 0, 0), (0, 0, 2, 4))
    cmyk.save(tmp_path / "cmyk.tif")
    found = read_images(tmp_path, 4)
    assert len(found.paths) == 7
    for path, image in zip(found.paths, found.images, strict=True):
        expected = np.tile([1, 1, 0, 0], (4, 1))
        np.testing.assert_array_equal(image, expected, err_msg=str(path))


def test_a_smaller_image_is_the_mean_of_its_parts(tmp_path):
    """Stripes of one pixel would alias to black or white without."""
    stripes = np.tile(np.array([0, 255], dtype=np.uint8), (64, 32))
    save(tmp_path / "a.png", stripes)
    np.testing.assert_allclose(read_images(tmp_path, 8).images, 0.5, atol=0.02)


def test_cropping_keeps_proportions(tmp_path):
    wide = np.zeros((8, 24), dtype=np.uint8)
    wide[:, 8:16] = 255
    save(tmp_path / "a.png", wide)
    cropped = read_images(tmp_path, 8, fit="crop").images
    np.testing.assert_array_equal(cropped, np.ones((1, 8, 8)))
    assert read_images(tmp_path, 8).images.mean() == pytest.approx(1 / 3, abs=0.05)


def bomb(width, height):
    """A PNG of few bytes whose header promises a huge image."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\x00" * 1000)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.fixture
def damaged(folder):
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    Image.fromarray(noise).save(buffer, "JPEG")
    (folder / "cut.jpg").write_bytes(buffer.getvalue()[:1000])
    (folder / "empty.png").write_bytes(b"")
    (folder / "notes.txt").write_text("not an image")
    (folder / "huge.png").write_bytes(bomb(50_000, 50_000))
    (folder / "large.png").write_bytes(bomb(3000, 3000))
    return folder


def test_files_that_cannot_be_read_are_listed_with_their_reason(damaged):
    found = read_images(damaged, 4, max_pixels=1_000_000)
    assert len(found.images) == len(found.paths) == 3
    reasons = {path.name: reason for path, reason in found.skipped}
    assert set(reasons) == {
        "cut.jpg",
        "empty.png",
        "notes.txt",
        "huge.png",
        "large.png",
    }
    assert "truncated" in reasons["cut.jpg"]
    assert reasons["empty.png"] == "the file is empty"
    assert reasons["notes.txt"] == "not an image of a known format"
    assert "decompression bomb" in reasons["huge.png"]
    assert reasons["large.png"] == (
        "its 3,000 x 3,000 pixels are more than the 1,000,000 that are allowed "
        "(max_pixels of read_images); make it smaller"
    )
    alone = read_images(found.paths, 4).images
    np.testing.assert_array_equal(found.images, alone)


def test_or_they_stop_it_all(damaged):
    with pytest.raises(ValueError, match=r"cut.jpg: .*truncated"):
        read_images(damaged, 4, on_error="raise", max_pixels=1_000_000)


def test_a_file_that_vanished_is_listed(folder):
    found = read_images([folder / "a/1.png", folder / "gone.png", folder / "b"], 4)
    assert found.skipped == [
        (folder / "gone.png", "there is no such file"),
        (folder / "b", "not a regular file"),
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder / "pipe.png")
    found = read_images(folder, color=None)
    assert found.skipped == [(folder / "pipe.png", "not a regular file")]


def test_links_are_followed_to_files_and_listed_for_folders(folder, tmp_path_factory):
    elsewhere = save(tmp_path_factory.mktemp("elsewhere") / "1.png")
    (folder / "a/file.png").symlink_to(elsewhere)
    (folder / "linked").symlink_to(elsewhere.parent)
    (folder / "nowhere.png").symlink_to(folder / "gone.png")
    found = read_images(folder, 4)
    assert len(found.paths) == 4
    assert found.skipped == [
        (folder / "linked", "a link to a folder, not followed"),
        (folder / "nowhere.png", "not a regular file"),
    ]
    pattern = read_images(f"{folder}/**/*.png", 4)
    assert pattern.skipped == [(folder / "nowhere.png", "not a regular file")]
    with pytest.raises(ValueError, match="linked: a link to a folder"):
        read_images(folder, 4, on_error="raise")


def test_a_folder_that_may_not_be_seen_is_listed(folder, monkeypatch):
    scandir = os.scandir

    def closed(path):
        if str(path).endswith("b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("os.scandir", closed)
    found = read_images(folder, 4)
    assert found.skipped == [(folder / "b", "Permission denied")]
    with pytest.raises(ValueError, match="Permission denied"):
        read_images(folder, 4, on_error="raise")
    with pytest.raises(FileNotFoundError, match="Permission denied"):
        read_images(folder / "b", 4)


def test_an_error_stops_what_has_not_begun(folder, monkeypatch):
    begun = []

    def slow(path, *_):
        begun.append(path)
        raise OSError("broken")

    monkeypatch.setattr("twofold.io.decoding.opened", slow)
    with pytest.raises(ValueError, match="broken"):
        read_images([folder / "a/1.png"] * 10_000, 4, n_jobs=2, on_error="raise")
    assert len(begun) <= 2 * 8 + 2


def test_nothing_to_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected image files, got none"):
        read_images(tmp_path, 4)
    with pytest.raises(
        FileNotFoundError, match=r"expected a folder.* none of this name"
    ):
        read_images(tmp_path / "none", 4)
    (tmp_path / "notes.txt").write_text("not an image")
    with pytest.raises(ValueError, match="expected readable images, got 1 file"):
        read_images(tmp_path, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be .* got 0"),
        ({"size": (4, 4, 3)}, r"size must be .* got \(4, 4, 3\)"),
        ({"size": 4.0}, "size must be .* or None, got 4.0"),
        ({"thumbnails": 0}, "thumbnails must be a positive integer or None, got 0"),
        ({"thumbnails": 9.5}, "thumbnails must be .* got 9.5"),
        ({"thumbnails": True}, "thumbnails must be .* got True"),
        ({"fit": "pad"}, "fit must be one of stretch, crop, got 'pad'"),
        ({"on_error": "ignore"}, "on_error must be one of skip, raise, got 'ignore'"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer, -1 or None, got 0"),
    ],
)
def test_bad_options(folder, options, message):
    with pytest.raises(ValueError, match=message):
        read_images(folder, **{"size": 4, **options})


def test_many_threads_give_the_same(folder):
    one = read_images(folder, np.int64(5), n_jobs=1)
    many = read_images([*one.paths] * 40, 5, n_jobs=8)
    np.testing.assert_array_equal(many.images, np.tile(one.images, (40, 1, 1)))


def test_a_bar_is_shown_if_asked_for(folder, capsys):
    read_images(folder, 4)
    assert capsys.readouterr().err == ""
    read_images(folder, 4, progress=True)
    assert "3/3" in capsys.readouterr().err


def test_every_file_is_reported(damaged, capfd):
    """In the thread of the caller, and the files that are left out too."""
    events = []

    def listener(event):
        events.append((event.stage, event.done, event.total, threading.get_ident()))

    with listening(listener):
        found = read_images(damaged, 4, max_pixels=1_000_000, n_jobs=2)
    total = len(found.paths) + len(found.skipped)
    assert total == 8
    own = threading.get_ident()
    assert events == [("reading", i, total, own) for i in range(total + 1)]
    assert capfd.readouterr().err == ""


def test_a_listener_may_stop_it(folder):
    done = []

    def listener(event):
        done.append(event.done)
        if event.done == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), listening(listener):
        read_images([folder / "a/1.png"] * 1000, 4, n_jobs=2)
    assert done == [0, 1, 2, 3, 4, 5]
