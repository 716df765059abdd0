"""Files with several frames: animations and TIFF pages, and what looks like them."""

import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, TiffImagePlugin

from twofold.io import read_images
from twofold.progress import listening

LEVELS = [10, 60, 110, 160, 210]


def levels(count, shape=(6, 8)):
    """Grey images of one level each."""
    return [Image.fromarray(np.full(shape, LEVELS[i], np.uint8)) for i in range(count)]


def save_all(path, images, **options):
    images[0].save(path, save_all=True, append_images=images[1:], **options)
    return path


def means(found):
    return (255 * found.images.mean(axis=(1, 2))).round().tolist()


@pytest.mark.parametrize("ending", ["tif", "gif", "png", "webp", "avif"])
def test_every_frame_is_an_image(tmp_path, ending):
    Image.init()
    if ending == "avif" and "AVIF" not in Image.SAVE_ALL:
        pytest.skip("this Pillow has no AVIF")
    lossless = {"webp": {"lossless": True}, "avif": {"quality": 100}}
    path = tmp_path / f"scan.{ending}"
    save_all(path, levels(5), **lossless.get(ending, {}))
    Image.fromarray(np.full((6, 8), 99, np.uint8)).save(tmp_path / "single.png")
    found = read_images(tmp_path, 4, thumbnails=6)
    names = [f"{path}[{k}]" for k in range(5)]
    assert found.names == [*names, str(tmp_path / "single.png")]
    assert found.paths == [path] * 5 + [tmp_path / "single.png"]
    np.testing.assert_array_equal(found.frames, [0, 1, 2, 3, 4, 0])
    np.testing.assert_allclose(means(found), [*LEVELS, 99], atol=2)
    np.testing.assert_allclose(found.thumbnails[:, 3, 3, 0], [*LEVELS, 99], atol=2)
    assert found.skipped == []


@pytest.mark.parametrize("ending", ["tif", "gif", "png", "webp"])
def test_or_the_first_alone_is(tmp_path, ending):
    path = save_all(tmp_path / f"scan.{ending}", levels(3))
    found = read_images(tmp_path, 4, frames="first")
    assert found.names == [str(path)]
    np.testing.assert_array_equal(found.frames, [0])
    np.testing.assert_allclose(means(found), LEVELS[:1], atol=2)


def test_progress_and_folders_count_frames(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    save_all(tmp_path / "a/1.tif", levels(3))
    levels(1)[0].save(tmp_path / "b/2.png")
    events = []
    with listening(events.append):
        found = read_images(tmp_path, 4, labels=True)
    assert [(e.done, e.total) for e in events] == [(i, 4) for i in range(5)]
    assert [found.target_names[i] for i in found.target] == ["a", "a", "a", "b"]


def test_frames_of_different_sizes_are_each_resized(tmp_path):
    frames = [levels(1)[0], levels(2, (40, 30))[1], levels(3, (5, 90))[2]]
    found = read_images(save_all(tmp_path / "a.tif", frames), 4, thumbnails=6)
    assert found.images.shape == (3, 4, 4)
    assert means(found) == LEVELS[:3]
    assert found.thumbnail_sizes.tolist() == [[4, 6], [6, 4], [1, 6]]


def test_partial_frames_are_composed(tmp_path):
    """Each frame but the first changes a corner; GIF stores the corner alone."""
    pixels = np.full((8, 8), 50, np.uint8)
    frames = []
    for place in [(0, 0), (0, 4), (4, 0)]:
        pixels[place[0] : place[0] + 4, place[1] : place[1] + 4] = 250
        frames.append(pixels.copy())
    for ending in ("gif", "png"):
        path = tmp_path / f"a.{ending}"
        save_all(path, [Image.fromarray(frame) for frame in frames])
        found = read_images(path, 8).images
        np.testing.assert_allclose(255 * found, frames, atol=1)


def test_smaller_copies_and_masks_in_a_tiff_are_no_frames(tmp_path):
    whole = Image.fromarray(np.full((64, 48), 200, np.uint8))
    with TiffImagePlugin.AppendingTiffWriter(tmp_path / "a.tif", True) as file:
        for image, kind in [
            (whole, 0),
            (whole.resize((6, 8)), 1),  # a thumbnail
            (whole, 2),  # a page of several
            (whole.point(lambda _: 1), 4),  # a mask
        ]:
            image.save(file, "TIFF", tiffinfo={254: kind})
            file.newFrame()
    found = read_images(tmp_path, 4)
    assert found.names == [f"{tmp_path}/a.tif[0]", f"{tmp_path}/a.tif[1]"]
    assert means(found) == [200, 200]


def test_a_photo_of_a_telephone_is_one_image(tmp_path):
    """Its second picture is a map of depths, a gain map or a preview."""
    photo, second = levels(2, (64, 48))
    path = save_all(tmp_path / "a.jpg", [photo, second], format="MPO")
    with Image.open(path) as image:
        assert (image.format, image.n_frames) == ("MPO", 2)
    found = read_images(tmp_path, 4)
    assert found.names == [str(path)]
    assert means(found) == LEVELS[:1]


def test_an_icon_of_several_sizes_is_one_image(tmp_path):
    Image.new("L", (64, 64), 90).save(tmp_path / "a.ico", sizes=[(16, 16), (64, 64)])
    found = read_images(tmp_path)
    assert found.names == [str(tmp_path / "a.ico")]
    assert found.images.shape == (1, 64, 64)
    assert means(found) == [90]


def test_a_damaged_page_is_a_skipped_frame(tmp_path):
    path = save_all(tmp_path / "a.tif", levels(4), compression="tiff_adobe_deflate")
    with Image.open(path) as image:
        image.seek(2)
        (offset,) = image.tag_v2[273]
    data = bytearray(path.read_bytes())
    data[offset : offset + 4] = b"\xff" * 4
    path.write_bytes(data)
    found = read_images(tmp_path, 4)
    assert found.names == [f"{path}[{k}]" for k in (0, 1, 3)]
    np.testing.assert_array_equal(found.frames, [0, 1, 3])
    assert means(found) == [LEVELS[0], LEVELS[1], LEVELS[3]]
    assert [str(name) for name, _ in found.skipped] == [f"{path}[2]"]
    with pytest.raises(ValueError, match=r"a.tif\[2\]: "):
        read_images(tmp_path, 4, on_error="raise")


@pytest.mark.parametrize("ending", ["gif", "png", "tif"])
def test_frames_that_a_cut_file_lacks_are_named(tmp_path, ending):
    """None is dropped without a word, and none is made up."""
    noise = np.random.default_rng(0).integers(0, 256, (5, 40, 50), dtype=np.uint8)
    path = tmp_path / f"a.{ending}"
    save_all(path, [Image.fromarray(frame) for frame in noise])
    whole = read_images(path, (40, 50)).images
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 7 // 10])
    found = read_images(path, (40, 50))
    np.testing.assert_array_equal(found.images, whole[: len(found.images)])
    assert 2 <= len(found.images) < 5
    assert found.skipped
    first = len(found.images)
    assert str(found.skipped[0][0]) == f"{path}[{first}]"


def test_a_png_is_not_believed_that_it_has_many_frames(tmp_path):
    path = save_all(tmp_path / "a.png", levels(3))
    data = path.read_bytes()
    place = data.index(b"acTL")
    chunk = b"acTL" + struct.pack(">II", 2**31 - 1, 0)
    chunk += struct.pack(">I", zlib.crc32(chunk))
    path.write_bytes(data[:place] + chunk + data[place + 16 :])
    with Image.open(path) as image:
        assert image.n_frames == 2**31 - 1
    found = read_images(tmp_path, 4)
    assert means(found) == LEVELS[:3]
    assert found.skipped == []


def test_frames_that_would_take_much_more_than_the_file(tmp_path):
    """Ten thousand frames of a few bytes each, as large images."""
    head = b"GIF89a" + struct.pack("<HHBBB", 2, 2, 0x80, 0, 0) + bytes(6)
    frame = b"," + struct.pack("<4HB", 0, 0, 2, 2, 0) + b"\x02\x02\x84\x51\x00"
    (tmp_path / "many.gif").write_bytes(head + frame * 10_000 + b";")
    levels(1)[0].save(tmp_path / "one.png")
    found = read_images(tmp_path, (300, 300), thumbnails=100)
    assert [path.name for path in found.paths] == ["one.png"]
    [(path, reason)] = found.skipped
    assert path.name == "many.gif"
    assert "10,000 frames would take 3.4" in reason
    assert "more than the limit of 1.0 GiB; raise it with max_memory" in reason
    few = read_images(tmp_path, 2)
    assert len(few.images) == 10_001


def test_pages_in_a_circle_end(tmp_path):
    path = save_all(tmp_path / "a.tif", levels(2))
    data = bytearray(path.read_bytes())
    (first,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, first)
    (second,) = struct.unpack_from("<I", data, first + 2 + 12 * count)
    (count,) = struct.unpack_from("<H", data, second)
    struct.pack_into("<I", data, second + 2 + 12 * count, first)
    path.write_bytes(data)
    assert means(read_images(path, 4)) == LEVELS[:2]


@pytest.mark.parametrize("magic", [b"II\0*", b"MM*\0"])
def test_swapped_signatures_of_tiff_files(tmp_path, magic):
    """Pillow opens them; a big-endian stack is one of three frames all the same."""
    plain = tmp_path / "plain.tif"
    tifffile.imwrite(
        plain,
        np.zeros((3, 6, 8), np.uint8) + 9,
        photometric="minisblack",
        byteorder="<" if magic[:2] == b"II" else ">",
        metadata=None,
    )
    path = tmp_path / "odd.tif"
    path.write_bytes(magic + plain.read_bytes()[4:])
    assert len(read_images([path], 6).images) == 3
