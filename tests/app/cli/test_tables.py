"""Tables that a user opens in a spreadsheet, of files that a stranger has named."""

import csv
import json

import problems
from PIL import Image
from small_photos import table

from twofold.io import from_cell

FORMULA = '=HYPERLINK("http:a","b").png'
SPECIAL = tuple("=+-@\t\r\n")


def test_no_name_is_a_formula(here, tmp_path):
    names = [FORMULA, "+1.png", "-1.png", "@A1.png", "\t=1.png", "'=1.png", "a;=1.png"]
    names += [f"{i}.png" for i in range(14)]
    pixels = (20 * problems.images(21) + 128).clip(0, 255).astype("uint8")
    for name, image in zip(names, pixels, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    (tmp_path / "=broken.png").write_text("no image")
    said = here("cluster", "*.png", "-k3", "--graph=auto", "--sort=link", "--out=out")
    assert said.returncode == 0, said.stderr
    columns = [("assignments", "path"), ("assignments", "nearest_representative")]
    columns += [("duplicates", "path"), ("skipped", "path"), ("sorted", "path")]
    for file, column in columns:
        cells = [row[column] for row in table(tmp_path / f"out/{file}.csv")]
        assert not any(cell.startswith(SPECIAL) for cell in cells)
        texts = [from_cell(cell) for cell in cells]
        if column == "path" and file in ("assignments", "sorted"):
            assert sorted(texts) == sorted(names)
        assert set(texts) <= {*names, "=broken.png"}
    assert table(tmp_path / "out/skipped.csv")[0]["path"] == "'=broken.png"
    # The links to odd names are known as those of the run.
    again = here("cluster", "*.png", "-k3", "--graph=auto", "--out=out", "--force")
    assert again.returncode == 0, again.stderr
    printed = list(csv.DictReader(here("predict", "out", FORMULA).stdout.splitlines()))
    assert [row["path"] for row in printed] == [f"'{FORMULA}"]
    assert here("predict", "out", FORMULA, "--out", "new.csv").returncode == 0
    assert table(tmp_path / "new.csv") == printed
    as_json = json.loads(here("predict", "out", FORMULA, "--json").stdout)
    assert as_json["path"] == FORMULA
