"""Folders of one file, and what becomes of them."""

import os
import time

DAY = 24 * 3600


def filled(folder, text="old"):
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(text)
    return folder


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def fill(folder):
    (folder / "model.json").write_text("new")


def age(path, seconds):
    os.utime(path, (time.time() - seconds,) * 2)
