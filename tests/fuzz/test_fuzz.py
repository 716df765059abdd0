"""Damaged files: a few by a fixed seed, and all that a reader has failed on before."""

from pathlib import Path

import pytest
from fuzz.campaign import campaign
from fuzz.targets import EXPECTED, TARGETS

KEPT = Path(__file__).parent / "crashes"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="needs Linux, to limit memory"
)


def reasons(folder):
    return [path.read_text() for path in folder.glob("*.txt")]


def test_a_few_damaged_files_of_every_kind(tmp_path):
    end = 12 * len(TARGETS)
    assert campaign(tmp_path, "--seed=1", f"--end={end}") == (0, end), reasons(tmp_path)


def test_what_readers_have_failed_on_before(tmp_path):
    n_kept = sum(path.suffix != ".md" for path in KEPT.iterdir())
    assert n_kept > 0
    done = campaign(tmp_path, f"--replay={KEPT}")
    assert done == (0, n_kept), reasons(tmp_path)


def test_every_way_to_fail_is_found(tmp_path):
    """And kept with its reason; a process that died is not the end of it."""
    options = ["--end=7", "--seconds-each=1"]
    assert campaign(tmp_path, *options, registry="fuzz.planted:TARGETS") == (5, 7)
    kept = {path.name.rpartition("-")[0]: path for path in tmp_path.glob("*.bin.txt")}
    assert kept.keys() == {
        "several-lines",
        "unexpected",
        "much-memory",
        "dies",
        "hangs",
    }
    assert "and another" in kept["several-lines"].read_text()
    assert "KeyError: 'not a documented error'" in kept["unexpected"].read_text()
    assert "MemoryError" in kept["much-memory"].read_text()
    assert "exit code -6" in kept["dies"].read_text()
    assert "Timeout (0:00:01)!" in kept["hangs"].read_text()


@pytest.mark.filterwarnings("ignore:the store .* damaged record")
@pytest.mark.parametrize("name", TARGETS)
def test_undamaged_files_are_read(tmp_path, name):
    """So that damage is not refused at the first look."""
    target = TARGETS[name]
    path = tmp_path / target.file
    done = 0
    for content in target.seeds():
        path.write_bytes(target.finish(content))
        try:
            done += target.read(path) is not None
        except EXPECTED as error:
            print(error)
    assert done > 0
