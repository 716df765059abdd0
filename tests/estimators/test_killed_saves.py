"""A model over an earlier one, killed at every event of the file system."""

import os

import pytest
from killing import kills, needs_kills

from twofold import TSNMF
from twofold.estimators import load_model, save_model

pytestmark = needs_kills


@pytest.mark.parametrize("earlier", [False, True])
def test_the_old_model_or_the_new_one(model, images, tmp_path, earlier, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # of no use to a kill
    old, name = TSNMF(2, random_state=0).fit(images), "model.safetensors"

    def prepare(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        if earlier:
            save_model(old, folder)
        return folder

    found = []
    for folder in kills(prepare, lambda folder: save_model(model, folder)):
        others = set(os.listdir(folder)) - {name}
        assert all(other.startswith(f".{name}.partial-") for other in others)
        there = (folder / name).exists()
        found.append(load_model(folder)[0].n_clusters if there else None)
        save_model(model, folder)
        assert load_model(folder)[0].n_clusters == 3
    assert set(found) == {2 if earlier else None, 3}
    assert found[-1] == 3
