"""A small folder of pictures, results for it, and ways to look at them."""

import csv
import os

import numpy as np
import problems
from PIL import Image

from twofold import TSNMF
from twofold.app.workflow import cluster, read

FILES = {
    "assignments.csv",
    "duplicates.csv",
    "skipped.csv",
    "model.safetensors",
    "report.json",
    "report.html",
}
ODD_NAMES = [
    'quo"te.png',
    "line\nbreak.png",
    "carriage\rreturn.png",
    "both\r\n.png",
    "comma, semi; tab\t.png",
    os.fsdecode(b"no utf-8 \xff\xfe.png"),
    "\u202egnp.exe.png",
    "\u05e9\u05dc\u05d5\u05dd.png",
    " lead and trail ",
    "'",
    "\u2028\u0085.png",
    "%s[1]*?.png",
    "\\n.png",
    "#.png",
    "=1+1.png",
    "@SUM(A1)",
    "-5",
    "\uff0b1.png",
    "'=1.png",
    "a;=1+1;.png",
]
ODD = {
    0: 'quo"te.png',
    1: "line\nbreak\r.png",
    2: "\u202egnp.png",
    3: os.fsdecode(b"\xff.png"),
    4: "comma,.png",
}


def make_images(folder, seed=0, n=24):
    """Small pictures in three groups, some of odd names, and a file that is none."""
    folder.mkdir(parents=True)
    pixels = np.rint(25 * problems.images(n, seed=seed) + 128).clip(0, 255)
    for i, image in enumerate(pixels.astype(np.uint8)):
        name = ODD.get(i, f"{i:02}.png")
        Image.fromarray(image).save(folder / f"{i}.png")
        (folder / f"{i}.png").rename(folder / name)
    (folder / "broken.png").write_bytes(b"broken")
    return folder


def odd_photos(folder):
    """Write photos of many colours, depths and shapes, and two files of 7 frames."""
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (60, 40, 3), dtype=np.uint8)
    photo = Image.fromarray(colors)
    photo.save(folder / "plain.png")
    photo.convert("CMYK").save(folder / "cmyk.jpg")
    photo.convert("P").save(folder / "palette.png")
    deep = rng.integers(0, 65536, (30, 50), dtype=np.uint16)
    Image.fromarray(deep).save(folder / "deep.png")
    alpha = rng.integers(0, 256, (30, 50, 4), dtype=np.uint8)
    Image.fromarray(alpha).save(folder / "through.png")
    long = rng.integers(0, 256, (1, 5000, 3), dtype=np.uint8)
    Image.fromarray(long).save(folder / "long.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    photo.save(folder / "turned.jpg", exif=turned)
    grey = rng.integers(0, 256, (7, 20, 30), dtype=np.uint8)
    first, *others = map(Image.fromarray, grey)
    first.save(folder / "moving.gif", save_all=True, append_images=others)
    first.save(folder / "stack.tif", save_all=True, append_images=others)
    return folder


def run(source, out, model=None, **options):
    labels = options.pop("labels", None)
    reading = options.pop("reading", None)
    collection = read(source, reading, labels=labels)
    model = model or TSNMF(3, random_state=0)
    found = cluster(collection, model, out, **options)
    return found.page, collection, model


def table(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        return list(csv.DictReader(file))


def snapshot(folder):
    """All that can be seen of a folder, times included."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[path] = (seen.st_mtime_ns, seen.st_mode, seen.st_size, content)
    return found
