"""TIFF files of many or deep channels, and stacks of them."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from twofold.io import read_images

RANDOM = np.random.default_rng(0)


def deep(*shape):
    return RANDOM.integers(0, 65536, shape, dtype=np.uint16)


def write(path, array, **options):
    options = {"photometric": "minisblack", "metadata": None, **options}
    tifffile.imwrite(path, array, **options)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_many_channels_are_kept(tmp_path, planar, kind, order):
    pixels = deep(6, 8, 5)
    largest = 1 if kind == np.float32 else np.iinfo(kind).max
    pixels = (pixels / 65535 * largest).astype(kind)
    stored = pixels if planar == "contig" else np.moveaxis(pixels, 2, 0)
    path = write(tmp_path / "a.tif", stored, planarconfig=planar, byteorder=order)
    for color in (None, True):
        found = read_images(path, (6, 8), color=color, thumbnails=8)
        assert found.names == [str(path)]
        np.testing.assert_allclose(found.images[0], pixels / largest, atol=1e-6)
    grey = pixels.mean(axis=2) / largest  # as the pictures of a report are
    np.testing.assert_allclose(found.thumbnails[0, 1:7, :, 1] / 255, grey, atol=0.003)
    found = read_images(path, (6, 8))
    np.testing.assert_allclose(found.images[0], grey, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zlib"},
        {"compression": "zlib", "predictor": 2},
        {"compression": "lzma"},
        {"compression": "zlib", "predictor": 2, "tile": (16, 16)},
        {"tile": (32, 16)},
        {"rowsperstrip": 7},
        {"bigtiff": True},
    ],
    ids=str,
)
def test_deep_colours_keep_their_bits(tmp_path, options):
    pixels = deep(40, 50, 3)
    write(tmp_path / "a.tif", pixels, photometric="rgb", **options)
    found = read_images(tmp_path, (40, 50), color=None)
    np.testing.assert_allclose(found.images[0], pixels / 65535, atol=1e-7)
    luma = pixels @ [0.299, 0.587, 0.114] / 65535
    grey = read_images(tmp_path, (40, 50)).images[0]
    np.testing.assert_allclose(grey, luma, atol=1e-6)


def test_deep_colours_packed_by_lzw(tmp_path):
    """Which tifffile unpacks only with another package."""
    pixels = deep(10, 12, 3) // 7
    path = write(tmp_path / "a.tif", pixels, photometric="rgb", rowsperstrip=10)
    rows = pixels.view(np.uint8).reshape(1, -1)
    Image.fromarray(rows).save(tmp_path / "b.tif", compression="tiff_lzw")
    with tifffile.TiffFile(tmp_path / "b.tif") as packed:
        page = packed.pages[0]
        data = packed.filehandle.read_segments(page.dataoffsets, page.databytecounts)
        ((segment, _),) = data
    with tifffile.TiffFile(path, mode="r+") as file:
        end = file.filehandle.size
        file.pages[0].tags[259].overwrite(5)
        file.pages[0].tags[273].overwrite(end)
        file.pages[0].tags[279].overwrite(len(segment))
    with path.open("ab") as file:
        file.write(segment)
    (tmp_path / "b.tif").unlink()
    found = read_images(tmp_path, (10, 12), color=True)
    np.testing.assert_allclose(found.images[0], pixels / 65535, atol=1e-7)


@pytest.mark.parametrize("kind", ["unassalpha", "assocalpha"])
def test_deep_transparent_parts_are_white(tmp_path, kind):
    pixels = np.zeros((4, 6, 4), np.uint16)
    pixels[:, :3] = [10_000, 20_000, 30_000, 65535]
    write(tmp_path / "a.tif", pixels, photometric="rgb", extrasamples=[kind])
    found = read_images(tmp_path, (4, 6), color=True).images[0]
    seen = np.array([10_000, 20_000, 30_000]) / 65535
    np.testing.assert_allclose(found[:, :3], np.broadcast_to(seen, (4, 3, 3)))
    np.testing.assert_array_equal(found[:, 3:], 1)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_deep_colours_stand_upright(tmp_path, orientation):
    """As Pillow turns the same with eight bits."""
    pixels = np.repeat(RANDOM.integers(0, 256, (5, 9, 1), np.uint8), 3, axis=2)
    extra = [(274, "H", 1, orientation, True)]
    write(tmp_path / "8.tif", pixels, photometric="rgb", extratags=extra)
    big = pixels.astype(np.uint16) * 257
    write(tmp_path / "16.tif", big, photometric="rgb", extratags=extra)
    assert read_images(tmp_path).images.shape[1:] == (
        (5, 9) if orientation < 5 else (9, 5)
    )
    sixteen, eight = read_images(tmp_path, (7, 7), color=True).images
    np.testing.assert_allclose(sixteen, eight, atol=0.006)


def test_the_fourth_channel_is_kept_unless_it_is_transparency(tmp_path):
    pixels = RANDOM.integers(0, 256, (6, 8, 4), np.uint8)
    pixels[..., 3] = 255
    write(tmp_path / "n.tif", pixels, photometric="rgb", extrasamples=["unspecified"])
    assert read_images(tmp_path, color=True).images.shape == (1, 6, 8, 4)
    write(tmp_path / "n.tif", pixels, photometric="rgb", extrasamples=["unassalpha"])
    assert read_images(tmp_path, color=True).images.shape == (1, 6, 8, 3)


def test_most_files_decide_the_channels(tmp_path):
    for i in range(3):
        write(tmp_path / f"{i}.tif", deep(6, 8, 5), planarconfig="contig")
    Image.new("RGB", (8, 6), "red").save(tmp_path / "red.png")
    found = read_images(tmp_path, color=None)
    assert found.images.shape == (3, 6, 8, 5)
    [(path, reason)] = found.skipped
    assert path.name == "red.png"
    assert "must have 5 channels as most others, got one, or red" in reason
    for i in range(5):
        Image.new("RGB", (8, 6), "red").save(tmp_path / f"more{i}.png")
    found = read_images(tmp_path, color=None)
    assert found.images.shape == (6, 6, 8, 3)
    assert {reason for _, reason in found.skipped} == {
        "it must have 3 channels as most others, got 5; read it by itself"
    }


def test_grey_beside_deep_colours_is_repeated(tmp_path):
    write(tmp_path / "a.tif", deep(6, 8, 3), photometric="rgb")
    grey = deep(6, 8)
    write(tmp_path / "b.tif", grey)
    found = read_images(tmp_path, (6, 8), color=True)
    expected = np.stack([grey / 65535] * 3, axis=-1)
    np.testing.assert_allclose(found.images[1], expected, atol=1e-7)


def test_values_of_unknown_range(tmp_path):
    write(tmp_path / "a.tif", deep(6, 8, 5).astype(np.float32), planarconfig="contig")
    write(tmp_path / "b.tif", deep(6, 8, 5), planarconfig="contig")
    found = read_images(tmp_path, color=True)
    [(path, reason)] = found.skipped
    assert path.name == "a.tif"
    assert reason.startswith("its pixels of 32 bits are not between 0 and 1; scale")


def test_channels_of_an_imagej_stack_are_together(tmp_path):
    stack = deep(2, 3, 4, 6, 8)
    tifffile.imwrite(tmp_path / "a.tif", stack, imagej=True, metadata={"axes": "TZCYX"})
    found = read_images(tmp_path, (6, 8), color=None)
    expected = np.moveaxis(stack, 2, -1).reshape(6, 6, 8, 4) / 65535
    assert found.names == [f"{tmp_path}/a.tif[{k}]" for k in range(6)]
    np.testing.assert_allclose(found.images, expected, atol=1e-7)


def test_a_large_imagej_stack_has_but_one_page(tmp_path):
    stack = deep(5, 6, 8)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, stack, imagej=True, metadata={"axes": "ZYX"}, truncate=True)
    with Image.open(path) as image:
        assert image.n_frames == 1
    found = read_images(path, (6, 8))
    np.testing.assert_allclose(found.images, stack / 65535, atol=1e-7)
    path.write_bytes(path.read_bytes()[:-50])
    found = read_images(path, (6, 8))
    np.testing.assert_allclose(found.images, stack[:4] / 65535, atol=1e-7)
    assert [(str(name), why) for name, why in found.skipped] == [
        (f"{path}[4]", "the file is truncated")
    ]


def test_a_stack_of_one_page_is_not_believed_that_it_has_many_channels(tmp_path):
    page = deep(6, 8)
    text = "ImageJ=1.53\nimages=999999999\nchannels=999999999\n"
    path = write(tmp_path / "a.tif", page, description=text)
    with path.open("ab") as file:
        file.write(bytes(1000))
    found = read_images(tmp_path, (6, 8))
    np.testing.assert_allclose(found.images, page[None] / 65535, atol=1e-7)


@pytest.mark.parametrize("axes", ["TZCYX", "CZYX", "ZCYX", "TCYX", "TZYX"])
def test_channels_of_an_ome_stack_are_together(tmp_path, axes):
    sizes = {"T": 2, "Z": 3, "C": 4, "Y": 6, "X": 8}
    stack = deep(*(sizes[axis] for axis in axes))
    tifffile.imwrite(tmp_path / "a.ome.tif", stack, metadata={"axes": axes})
    found = read_images(tmp_path, (6, 8), color=None)
    if "C" in axes:
        moved = np.moveaxis(stack, axes.index("C"), -1)
        expected = moved.reshape(-1, 6, 8, 4) / 65535
    else:
        expected = stack.reshape(-1, 6, 8) / 65535
    np.testing.assert_allclose(found.images, expected, atol=1e-7)
    assert len(found.names) == len(expected)


def test_levels_of_a_pyramid_are_no_frames(tmp_path):
    pixels = RANDOM.integers(0, 256, (64, 64, 3), np.uint8)
    with tifffile.TiffWriter(tmp_path / "a.ome.tif") as file:
        file.write(pixels, subifds=2, photometric="rgb", metadata={"axes": "YXS"})
        for step in (2, 4):
            file.write(pixels[::step, ::step], subfiletype=1, photometric="rgb")
    found = read_images(tmp_path, (64, 64), color=True)
    assert found.names == [str(tmp_path / "a.ome.tif")]
    np.testing.assert_allclose(found.images[0], pixels / 255, atol=1e-6)


def ome(data, sizes='SizeC="2" SizeZ="1" SizeT="1"', start=""):
    """A description that gives the places of pages."""
    return (
        f'{start}<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
        f'UUID="urn:uuid:1"><Image ID="Image:0"><Pixels ID="Pixels:0" '
        f'DimensionOrder="XYCZT" Type="uint16" SizeX="8" SizeY="6" {sizes}>'
        f"{data}</Pixels></Image></OME>"
    ).encode()


def other(name, attributes=""):
    return (
        f'<TiffData {attributes}><UUID FileName="{name}">urn:uuid:2</UUID></TiffData>'
    )


def test_no_file_makes_us_read_another(tmp_path, monkeypatch):
    secret = write(tmp_path / "secret.tif", deep(6, 8))
    (tmp_path / "in").mkdir()
    own = '<TiffData IFD="0" FirstC="0" PlaneCount="1"/>'
    text = ome(own + other("../secret.tif", 'IFD="0" FirstC="1" PlaneCount="1"'))
    pixels = deep(6, 8)
    path = write(tmp_path / "in/a.ome.tif", pixels, description=text)
    followed = tifffile.imread(path)  # which shows that the name leads to the secret
    np.testing.assert_array_equal(followed[1], tifffile.imread(secret))
    opened, really = [], type(path).open
    monkeypatch.setattr(
        type(path), "open", lambda p, *a, **k: opened.append(p) or really(p, *a, **k)
    )
    monkeypatch.setattr(
        tifffile.TiffFile, "series", property(lambda _: opened.append(0))
    )
    found = read_images(tmp_path / "in", (6, 8))
    np.testing.assert_allclose(found.images[0], pixels / 65535, atol=1e-7)
    assert found.names == [str(path)]
    assert secret not in opened
    assert set(opened) == {path}


@pytest.mark.parametrize(
    "text",
    [
        ome('<TiffData IFD="0" PlaneCount="999999999999"/>'),
        ome('<TiffData IFD="-9" PlaneCount="9"/>'),
        ome('<TiffData FirstC="-3" IFD="1" PlaneCount="2"/>'),
        ome("<TiffData/>" * 50),
        ome("", 'SizeC="0" SizeZ="0" SizeT="0"'),
        ome("<TiffData/>", 'SizeC="x" SizeZ="1" SizeT="1"'),
        ome("<TiffData/>", 'SizeC="1" SizeZ="99999999999" SizeT="1"'),
        ome("&a;", start='<!DOCTYPE a [<!ENTITY a "aaaaaaaa">]>'),
        ome("<TiffData/>")[:-20],
        b"ImageJ=1.53\nimages=999999999\nchannels=999999999\n",
        b"ImageJ=1.53\nimages=-1\nchannels=0\n",
    ],
    ids=range(11),
)
def test_pages_stay_frames_where_their_description_makes_no_sense(tmp_path, text):
    stack = deep(3, 6, 8)
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        for i, page in enumerate(stack):
            options = {"description": text} if i == 0 else {}
            file.write(page, photometric="minisblack", metadata=None, **options)
    found = read_images(tmp_path, (6, 8))
    np.testing.assert_allclose(found.images, stack / 65535, atol=1e-7)
    assert found.skipped == []


def test_what_is_packed_in_an_unknown_way_is_named(tmp_path):
    path = write(tmp_path / "a.tif", deep(6, 8, 5), planarconfig="contig")
    with tifffile.TiffFile(path, mode="r+") as file:
        file.pages[0].tags[259].overwrite(34712)  # JPEG 2000
    write(tmp_path / "b.tif", deep(6, 8, 5), planarconfig="contig")
    found = read_images(tmp_path, color=True)
    [(name, reason)] = found.skipped
    assert name.name == "a.tif"
    assert "packed by method 34712" in reason
    assert "save it packed by LZW" in reason


def test_a_page_that_is_cut_short_is_named(tmp_path):
    path = write(tmp_path / "a.tif", deep(40, 50, 5), planarconfig="contig")
    path.write_bytes(path.read_bytes()[:-1000])
    write(tmp_path / "b.tif", deep(40, 50, 5), planarconfig="contig")
    found = read_images(tmp_path, color=True)
    assert [(p.name, why) for p, why in found.skipped] == [
        ("a.tif", "the file is truncated")
    ]


def test_deep_grey_of_which_the_smallest_is_white(tmp_path):
    grey = np.linspace(0, 65535, 48).astype(np.uint16).reshape(6, 8)
    for name, values in (("minisblack", grey), ("miniswhite", 65535 - grey)):
        tifffile.imwrite(tmp_path / f"{name}.tif", values, photometric=name)
    found = read_images(tmp_path, (6, 8))
    np.testing.assert_allclose(found.images[0], grey / 65535, atol=1e-6)
    np.testing.assert_allclose(found.images[1], found.images[0], atol=1e-6)
