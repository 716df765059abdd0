"""Small files that claim much, and formats that would do more than be read."""

import json
import struct
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageFile

from twofold.io import read_images
from twofold.io.contents import tiff_pages
from twofold.progress import listening

MIB = 2**20


CARDS = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 6"]
FITS = "".join(card.ljust(80) for card in [*CARDS, "END"]).ljust(2880).encode()


def chunk(kind, data):
    crc = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + crc


def png(width, height, colour=0):
    """A PNG of one level that takes few bytes."""
    samples = {0: 1, 2: 3, 6: 4}[colour]
    row = b"\0" + b"\x40" * (width * samples)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * height))
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IEND", b"")


def head_of_png(width, height, colour):
    """A PNG that breaks off where its pixels begin."""
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"\0\1\0\0IDAT\x78\x9c"


def good(folder):
    Image.new("L", (8, 6), 99).save(folder / "good.png")


def peak_of(code, *arguments):
    """Run code in a process of its own; it prints what ``peak`` tells it."""
    begin = (
        "import json, re, sys, warnings\n"
        "from twofold.io import read_images\n"
        "from PIL import Image; Image.init()\n"
        "def seen(name):\n"
        "    text = open('/proc/self/status').read()\n"
        "    return 1024 * int(re.search(name + r':\\s+(\\d+)', text)[1])\n"
        "def reset():\n"
        "    open('/proc/self/clear_refs', 'w').write('5')\n"
        "    return seen('VmRSS')\n"
    )
    command = [sys.executable, "-c", begin + code, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture
def decoded(monkeypatch):
    """The sizes of all that Pillow decodes."""
    sizes, really = [], ImageFile.ImageFile.load

    def noted(image):
        if image.tile:
            sizes.append(image.size)
        return really(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", noted)
    return sizes


@pytest.mark.parametrize("color", [False, None])
def test_an_image_that_takes_too_much_is_not_decoded(tmp_path, decoded, color):
    good(tmp_path)
    (tmp_path / "wide.png").write_bytes(head_of_png(80_000_000, 1, 0))
    found = read_images(tmp_path, 4, color=color, max_memory=100 * MIB, thumbnails=9)
    [(path, reason)] = found.skipped
    assert path.name == "wide.png"
    assert reason.startswith("its 80,000,000 x 1 pixels take about ")
    assert reason.endswith(
        "more than the limit of 100.0 MiB; raise it with max_memory, on the command "
        "line --max-memory"
    )
    assert set(decoded) == {(8, 6)}
    with pytest.raises(ValueError, match=r"wide.png: its 80,000,000 x 1 pixels take"):
        read_images(tmp_path, 4, on_error="raise", max_memory=100 * MIB)


def test_many_grey_pixels_in_a_row_do_not_take_much(tmp_path):
    """They took eighteen bytes each, for the weights of a filter alone sixteen."""
    (tmp_path / "wide.png").write_bytes(png(10_000_000, 1))
    code = (
        "before = reset(); found = read_images(sys.argv[1], 64)\n"
        "print(json.dumps([seen('VmHWM') - before, float(found.images.mean())]))"
    )
    peak, mean = peak_of(code, tmp_path)
    assert peak < 8 * 10_000_000
    assert mean == pytest.approx(0x40 / 255)


def test_all_threads_together_keep_within_the_limit(tmp_path):
    """Each image takes 36 MiB as it is, and all of them six times that."""
    content = png(3072, 3072, 2)
    for i in range(6):
        (tmp_path / f"{i}.png").write_bytes(content)
    code = (
        "before = reset()\n"
        "found = read_images(sys.argv[1], 64, color=None, n_jobs=6, thumbnails=96,"
        " max_memory=130 * 2**20)\n"
        "print(json.dumps([seen('VmHWM') - before, len(found.images)]))"
    )
    peak, count = peak_of(code, tmp_path)
    assert count == 6
    # Besides, each thread keeps some megabytes for the strips of its next image.
    assert 36 * MIB < peak < 190 * MIB


def test_estimates_are_not_below_what_it_takes(tmp_path):
    y, x = np.mgrid[0:1300, 0:1400]
    rgb = np.stack([y % 256, x % 256, (x + y) % 256], axis=-1).astype(np.uint8)
    image = Image.fromarray(rgb)
    clear = image.copy()
    clear.putalpha(image.convert("L"))
    image.save(tmp_path / "rgb.png", compress_level=1)
    clear.save(tmp_path / "rgba.png", compress_level=1)
    image.convert("L").save(tmp_path / "grey.png", compress_level=1)
    image.save(tmp_path / "many.jpg", progressive=True)
    image.save(tmp_path / "lzw.tif", compression="tiff_lzw")
    clear.save(tmp_path / "a.png", save_all=True, append_images=[clear.rotate(180)])
    deep = rgb.astype(np.uint16) * 257
    tifffile.imwrite(tmp_path / "deep.tif", deep, photometric="rgb", compression="zlib")
    planes = np.moveaxis(np.concatenate([deep, deep], axis=2), 2, 0)
    options = {"photometric": "minisblack", "planarconfig": "separate"}
    tifffile.imwrite(tmp_path / "six.tif", planes, **options)
    code = (
        "import tifffile\n"
        "from pathlib import Path\n"
        "from twofold.io.budget import Budget\n"
        "from twofold.io.contents import contents_of\n"
        "from twofold.io.opening import Limits, opened\n"
        "from twofold.io.pixels import Rendering\n"
        "asked = []\n"
        "class Noted(Budget):\n"
        "    def taken(self, amount, claim):\n"
        "        asked.append(amount)\n"
        "        return super().taken(amount, claim)\n"
        "result = {}\n"
        "def read(path, rendering):\n"
        "    contents = contents_of(path)\n"
        "    limits = Limits(1e9, Noted(2**40))\n"
        "    with opened(path, contents, rendering, limits) as frames:\n"
        "        for k in range(contents.frames):\n"
        "            frames.rendered(k)\n"
        "for path in sorted(Path(sys.argv[1]).iterdir()):\n"
        "    for missing in (None, 0):\n"
        "        color = 6 if path.name == 'six.tif' else 3\n"
        "        rendering = Rendering((64, 64), color, 'stretch', missing, 96)\n"
        "        before = reset()\n"
        "        read(path, rendering)\n"
        "        peak = seen('VmHWM') - before\n"
        "        result[f'{path.name} {missing}'] = [peak, max(asked)]\n"
        "        asked.clear()\n"
        "print(json.dumps(result))"
    )
    measured = peak_of(code, tmp_path)
    assert len(measured) == 16
    for name, (peak, asked) in measured.items():
        assert peak <= asked, name
        assert asked < 12 * peak + 40 * MIB, name


def test_a_photo_of_89_million_pixels_does_not_take_too_much(tmp_path):
    """With the defaults, in colours; these break off before they are all decoded."""
    good(tmp_path)
    for colour in (0, 2, 6):
        (tmp_path / f"{colour}.png").write_bytes(head_of_png(9400, 9500, colour))
    image = Image.new("RGB", (64, 64), "red")
    for progressive in (False, True):
        path = tmp_path / f"{progressive}.jpg"
        image.save(path, progressive=progressive)
        data = bytearray(path.read_bytes())
        place = data.index(b"\xff\xc2" if progressive else b"\xff\xc0") + 5
        data[place : place + 4] = struct.pack(">HH", 9400, 9500)
        path.write_bytes(data)
    found = read_images(tmp_path, 8, color=True, thumbnails=96)
    assert len(found.images) + len(found.skipped) == 6
    assert not [reason for _, reason in found.skipped if "take about" in reason]
    assert not [reason for _, reason in found.skipped if "are more than" in reason]
    small = read_images(tmp_path, 8, color=True, max_memory=300 * MIB)
    refused = [path.name for path, reason in small.skipped if "take about" in reason]
    assert refused == ["2.png", "6.png", "True.jpg"]


def test_a_frame_beyond_the_screen_of_a_gif_counts(tmp_path, decoded):
    good(tmp_path)
    head = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6)
    dispose = b"!\xf9\x04" + bytes([2 << 2, 0, 0, 0, 0])
    frame = b"," + struct.pack("<4HB", 0, 0, 12_000, 12_000, 0) + b"\x02\x02\x84\x51\0"
    (tmp_path / "a.gif").write_bytes(head + dispose + frame + b";")
    [(_, reason)] = read_images(tmp_path, 4).skipped
    assert reason.startswith("its 12,000 x 12,000 pixels are more than the 89,478,485")
    [(_, reason)] = read_images(tmp_path, 4, max_pixels=None).skipped
    assert "its 12,000 x 12,000 pixels take about" in reason
    assert set(decoded) == {(8, 6)}


def test_what_an_icon_holds_counts_and_not_what_its_list_says(tmp_path, decoded):
    """Pillow decodes it when it is opened."""
    good(tmp_path)
    content = head_of_png(9000, 9000, 0)
    entry = struct.pack("<4B2H2I", 16, 16, 0, 0, 1, 32, len(content), 22)
    (tmp_path / "a.ico").write_bytes(b"\0\0\1\0\1\0" + entry + content)
    [(_, reason)] = read_images(tmp_path, 4, max_memory=100 * MIB).skipped
    assert reason.startswith("its 9,000 x 9,000 pixels take about")
    assert set(decoded) == {(8, 6)}


def test_a_segment_is_unpacked_to_its_length_alone(tmp_path):
    """The strip of a small page holds 200 MB of zeros."""
    path = tmp_path / "a.tif"
    options = {"photometric": "minisblack", "planarconfig": "contig"}
    tifffile.imwrite(
        path, np.zeros((6, 8, 5), np.uint16), compression="zlib", **options
    )
    bomb = zlib.compress(bytes(200_000_000), 1)
    with tifffile.TiffFile(path, mode="r+") as file:
        end = file.filehandle.size
        file.pages[0].tags[273].overwrite(end)
        file.pages[0].tags[279].overwrite(len(bomb))
    with path.open("ab") as file:
        file.write(bomb)
    code = (
        "import tifffile; before = reset()\n"
        "found = read_images(sys.argv[1], (6, 8), color=True)\n"
        "print(json.dumps([seen('VmHWM') - before, list(found.images.shape)]))"
    )
    peak, shape = peak_of(code, path)
    assert shape == [1, 6, 8, 5]
    assert peak < 60 * MIB


def test_a_page_that_claims_much_is_not_decoded(tmp_path):
    path = tmp_path / "a.tif"
    options = {"photometric": "minisblack", "planarconfig": "contig"}
    tifffile.imwrite(path, np.zeros((6, 8, 5), np.uint16), **options)
    with tifffile.TiffFile(path, mode="r+") as file:
        for tag in (256, 257):
            file.pages[0].tags[tag].overwrite(60_000)
    good(tmp_path)
    [(_, reason)] = read_images(tmp_path, 4).skipped
    assert reason.startswith("its 60,000 x 60,000 pixels are more than")
    [(_, reason)] = read_images(tmp_path, 4, max_pixels=None).skipped
    assert "take about" in reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.eps", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 6\n%%EndComments\n"),
        ("a.fits", FITS + bytes(48)),
    ],
)
def test_formats_that_do_more_than_be_read_are_not_opened(tmp_path, name, content):
    good(tmp_path)
    (tmp_path / name).write_bytes(content)
    for suffix in (name, "disguised.png"):
        (tmp_path / suffix).write_bytes(content)
    found = read_images(tmp_path, 4)
    assert {reason for _, reason in found.skipped} == {"not an image of a known format"}
    assert len(found.skipped) == 2


def test_an_interrupt_ends_threads_that_wait_for_memory(tmp_path):
    content = png(2000, 2000, 2)
    for i in range(40):
        (tmp_path / f"{i:02}.png").write_bytes(content)
    before = threading.active_count()

    def listener(event):
        if event.done == 1:
            raise KeyboardInterrupt

    # One image at a time fits.
    limits = {"n_jobs": 4, "max_memory": 120 * MIB}
    with pytest.raises(KeyboardInterrupt), listening(listener):
        read_images(tmp_path, 4, **limits)
    assert threading.active_count() == before
    assert len(read_images([*tmp_path.iterdir()][:6], 4, **limits).images) == 6


@pytest.mark.parametrize("name", ["max_pixels", "max_memory"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "1G"])
def test_limits_that_are_none(tmp_path, name, value):
    good(tmp_path)
    with pytest.raises(
        ValueError, match=f"{name} must be a positive integer or None, "
    ):
        read_images(tmp_path, 4, **{name: value})


def test_no_limit_of_pixels_leaves_it_to_pillow(tmp_path, monkeypatch):
    good(tmp_path)
    (tmp_path / "large.png").write_bytes(png(300, 100))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 16_000)
    assert len(read_images(tmp_path, 4, max_pixels=None).images) == 2
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    [(_, reason)] = read_images(tmp_path, 4, max_pixels=None).skipped
    assert "exceeds limit of 2000 pixels" in reason


def forged_tiff(tags, content=b""):
    """Write a TIFF file of one directory, whose entries are all of 32 bits."""
    start = 8 + 2 + 12 * len(tags) + 4
    tags = {tag: start if value is None else value for tag, value in tags.items()}
    entries = b"".join(struct.pack("<HHII", t, 4, 1, v) for t, v in tags.items())
    head = b"II*\0" + struct.pack("<IH", 8, len(tags))
    return head + entries + bytes(4) + content


def test_a_tile_that_is_larger_than_its_image(tmp_path):
    data = zlib.compress(bytes(1000))
    tags = {256: 10, 257: 10, 258: 8, 259: 8, 262: 1, 277: 1}
    tags |= {322: 30_000, 323: 30_000, 324: None, 325: len(data)}
    path = tmp_path / "a.tif"
    path.write_bytes(forged_tiff(tags, data))
    with pytest.raises(ValueError, match=r"take about 86\d.\d MiB to read, more than"):
        read_images([path], 16, max_memory=10**8, on_error="raise")


def test_directories_that_overlap_are_not_all_read(tmp_path):
    """Three thousand of 65,535 entries each, in a file that holds one of them."""
    n = 3000
    file = bytearray(b"II*\0" + struct.pack("<I", 8)) + bytearray(12 * 65535 + 16 * n)
    for i in range(n):
        place = 8 + 8 * i
        struct.pack_into("<H", file, place, 65535)
        struct.pack_into("<I", file, place + 2 + 12 * 65535, place + 8)
    path = tmp_path / "a.tif"
    path.write_bytes(file)
    with path.open("rb") as opened:
        assert len(tiff_pages(opened)) <= 2
