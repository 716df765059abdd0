"""Write handwritten digits as image files, some of them broken, to try the command on.

python examples/digit_files.py FOLDER [COUNT]

COUNT images, 2000 unless given: scikit-learn's 1,797 digits, then lighter copies of
the first ones, which are near-duplicates. Odd names and six files that cannot be read
are among them.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

SIDE = 32

ODD_NAMES = (
    "<img src=x onerror=alert(1)>.png",
    "\"quoted\" & 'quoted'.png",
    "with spaces and a new\nline.png",
    "Zürich 数字 👋.png",
    "ספרה ‮gnp.png",
    "javascript:alert(1).png",
    "=cmd.png",
)


def main(folder: Path, count: int) -> None:
    """Write the images, a folder for each digit, and the broken files."""
    digits = load_digits()
    for i in range(count):
        source = i % len(digits.images)
        pixels = np.rint(255 / 16 * digits.images[source])
        if i >= len(digits.images):  # a copy, seen through thin fog
            pixels = 40 + 0.8 * pixels
        name = ODD_NAMES[i] if i < len(ODD_NAMES) else f"{i:05}.png"
        inside = folder / f"digit {digits.target[source]}"
        inside.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(pixels.astype(np.uint8)).resize((SIDE, SIDE))
        image.save(inside / name)
    write_broken(folder)
    print(f"{count} images and 6 broken files in {folder}")


def write_broken(folder: Path) -> None:
    """What is found among real photos, too."""
    whole = next(folder.glob("*/0*.png")).read_bytes()
    (folder / "cut off.png").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.jpg").touch()
    (folder / "notes.txt").write_text("no image at all\n")
    (folder / "no image <b>.png").write_text("text under a wrong name\n")
    (folder / "cut header.gif").write_bytes(b"GIF89a\x10")
    (folder / "nowhere.png").symlink_to(folder / "gone.png")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 2000)
