"""Folders of photos with known classes: real ones, and some that are made here."""

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from twofold import datasets

PICTURES = (
    *("astronaut", "camera", "chelsea", "coffee", "coins", "hubble_deep_field"),
    *("ihc", "moon", "motorcycle_left", "page", "retina", "rocket", "text", "color"),
    *("china", "flower"),
)
"""Pictures of scikit-image and scikit-learn whose crops are a class each."""

TEXTURES = (
    *("brick", "grass", "gravel", "coins", "ihc", "text", "page", "cell", "moon"),
    "hubble_deep_field",
)
"""Pictures of which every part looks like every other one."""

FILES = ("umist", "coil20", "notmnist", "usps")
"""Sets in files of their own, of which 1,200 images at most are taken."""

SETS = ("yale", "orl", "jaffe", "pix", "semeion", "eyaleb", "mnist")
"""Sets of the paper."""


Names = list[str] | None
"""Names of folders; None for all."""

MOST = 1200
"""Number of images of a set that are written, drawn at random."""


def data_folder() -> Path:
    return Path(os.environ.get("TWOFOLD_DATA", "../shared/data"))


def picture(name: str) -> Image.Image:
    """A picture that comes with scikit-image or scikit-learn."""
    for package, inside in (("skimage", "data"), ("sklearn", "datasets/images")):
        found = find_spec(package)
        for place in (found.submodule_search_locations or []) if found else []:
            for path in Path(place, inside).glob(f"{name}.*"):
                if path.suffix in (".png", ".jpg"):
                    return Image.open(path).convert("RGB")
    raise SystemExit(f"{name} is in neither scikit-image nor scikit-learn: make torch")


def crop(
    photo: Image.Image, least: float, most: float, rng: np.random.RandomState
) -> Image.Image:
    """A square part of a picture, mirrored or not, in another light and colour."""
    side = int(min(photo.size) * rng.uniform(least, most))
    left, top = (rng.randint(length - side + 1) for length in photo.size)
    part = photo.crop((left, top, left + side, top + side)).resize((224, 224))
    if rng.rand() < 0.5:
        part = part.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    part = ImageEnhance.Brightness(part).enhance(rng.uniform(0.6, 1.3))
    return ImageEnhance.Color(part).enhance(rng.uniform(0.2, 1.5))


def crops(
    names: tuple[str, ...], count: int, least: float, most: float, seed: int
) -> Callable[[Path], None]:
    """A function that writes crops of pictures into a folder, a class for each."""

    def write(folder: Path) -> None:
        rng = np.random.RandomState(seed)
        for name in names:
            (folder / name).mkdir(parents=True)
            photo = picture(name)
            for i in range(count):
                crop(photo, least, most, rng).save(folder / name / f"{i:02}.jpg")

    return write


def written(name: str, *, tinted: bool = False) -> Callable[[Path], None]:
    """A function that writes the images of a set into a folder, tinted or grey."""

    def write(folder: Path) -> None:
        images, target = images_of(name)
        rng = np.random.RandomState(0)
        rows = rng.permutation(len(images))[:MOST]
        low, high = float(images.min()), float(images.max())
        pixels = 255 * (images - low) / (high - low)
        for i in rows:
            tint = rng.uniform(0.4, 1, 3) if tinted else np.ones(1)
            colours = np.rint(pixels[i][..., None] * tint).astype(np.uint8)
            place = folder / str(target[i])
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(colours.squeeze()).save(place / f"{i}.png")

    return write


def images_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The images of a set, and their classes."""
    if name not in FILES:
        loaded = datasets.load(name)
        return loaded.images, loaded.target
    arrays = np.load(data_folder() / "more" / f"{name}.npz")
    return arrays["X"], arrays["y"]


def photos(name: str) -> Callable[[Path], None]:
    """A function that copies a folder of real photos into another one."""

    def write(folder: Path) -> None:
        [source] = (path for path in real_folders() if path.name == name)
        for kind in sorted(path for path in source.iterdir() if path.is_dir()):
            shutil.copytree(kind, folder / kind.name)

    return write


def together(*makers: tuple[str, Callable[[Path], None]]) -> Callable[[Path], None]:
    """A function that puts the kinds of several folders into one."""

    def write(folder: Path) -> None:
        for name, make in makers:
            make(folder / name)
            for kind in sorted((folder / name).iterdir()):
                kind.rename(folder / f"{name} {kind.name}")
            (folder / name).rmdir()

    return write


MADE = {
    "crops": crops(PICTURES, 30, 0.5, 0.8, 1),
    "parts": crops(PICTURES, 40, 0.2, 0.5, 2),
    "textures": crops(TEXTURES, 50, 0.15, 0.3, 3),
    "two": crops(("chelsea", "coffee"), 80, 0.3, 0.6, 4),
}
"""Folders of crops, by name: large ones, smaller ones, parts of textures."""

ALIGNED = {name: written(name) for name in (*SETS, *FILES)}
"""Folders of images that are aligned, faces, digits, letters and objects, by name."""

MIXED = {"mixed": together(*((name, photos(name)) for name in ("clothing", "signs")))}
"""Both folders of real photos in one, on which the rule of the choice was found."""

AFTERWARDS = {
    "faces": together(*((name, written(name)) for name in ("yale", "orl", "jaffe"))),
    "tinted": written("eyaleb", tinted=True),
    "desk": together(("signs", photos("signs")), ("umist", written("umist"))),
    "shelf": together(("clothing", photos("clothing")), ("coil20", written("coil20"))),
}
"""Folders that were made and looked at once the rule had been chosen that they try."""


def real_folders() -> list[Path]:
    """The folders of real photos."""
    return sorted((data_folder() / "photos").iterdir())


def photo_folders(place: Path, names: Names = None) -> Iterator[tuple[str, Path]]:
    """The names and folders of photos: the real ones, and the crops."""
    for folder in real_folders():
        if is_asked_for(folder.name, names):
            yield folder.name, folder
    yield from made_folders(MADE, place, names)


def made_folders(
    makers: dict[str, Callable[[Path], None]], place: Path, names: Names = None
) -> Iterator[tuple[str, Path]]:
    """The names and folders that are made, in a place for them."""
    for name, write in makers.items():
        if is_asked_for(name, names):
            write(place / name)
            yield name, place / name


def is_asked_for(name: str, names: Names) -> bool:
    return names is None or name in names


def check_names(names: Names) -> None:
    """Raise SystemExit for a folder that there is not."""
    made = MADE | ALIGNED | MIXED | AFTERWARDS
    known = [*(folder.name for folder in real_folders()), *made]
    wrong = sorted(set(names or []) - set(known))
    if wrong:
        raise SystemExit(f"--folders must be some of {', '.join(known)}, got {wrong}")
