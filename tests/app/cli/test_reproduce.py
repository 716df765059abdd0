"""The command line of ``twofold reproduce``."""

import re

import pytest
from runner import twofold


def test_a_run_prints_a_plan_the_averages_and_the_page(here, tmp_path):
    done = here(
        *("reproduce", "--data", "tiny:faces", "--method", "kmeans,tiny:slow"),
        *("--subsets", "2", "--clusters", "2,3", "--out", "there", "--jobs", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^16 fits; 16 jobs to run, about ", done.stdout)
    assert "Tables and figures: there/index.html" in done.stdout
    assert (tmp_path / "there" / "tables.csv").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]
    assert "\x1b[" not in done.stdout  # no colours outside a terminal


def test_digits_alone_where_there_is_no_data(here, tmp_path):
    done = here(
        *("reproduce", "--quick", "--method", "2dpca", "--jobs", "1"),
        TWOFOLD_DATA=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    assert "left out: yale, jaffe, orl-40" in done.stderr
    assert "TWOFOLD_DATA" in done.stderr
    assert "Digits" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "nix"], 1, "Error: --data must be one of"),
        (["--method", "nix:x"], 1, "Error: --method nix:x cannot be imported"),
        (["--data", "digits", "--clusters", "99"], 1, "--clusters must be at most 10"),
        (["--clusters", "a,b"], 2, "expected numbers from 2"),
        (["--shard", "3/2", "--data", "digits"], 2, "such as 1/4, got 3/2"),
        (["--max-iter", "0"], 2, "--max-iter"),
        (["--jobs", "0", "--data", "digits"], 2, "--jobs"),
        (
            ["--data", "tiny:load_nothing"],
            1,
            "must load an object with images and target",
        ),
        pytest.param(
            *(["--data", "tiny:faces", "--device", "no"], 1, "Error: device='no' "),
            marks=pytest.mark.torch,
        ),
        (["--nonsense"], 2, "No such option"),
        (["--tables-only", "--store", "none.sqlite"], 1, "no store none.sqlite"),
        (["--store", "text.txt", "--data", "digits"], 1, "cannot open the store"),
        (["--scheduler", "nowhere", "--data", "tiny:faces"], 1, "cannot be reached"),
        (["merge", "new.sqlite", "none.sqlite"], 1, "there is no store none.sqlite"),
    ],
)
def test_errors_are_lines_and_codes(tmp_path, here, arguments, code, message):
    (tmp_path / "text.txt").write_text("just text")
    failed = here("reproduce", *arguments)
    assert failed.returncode == code
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr
    errors = [ln for ln in failed.stderr.splitlines() if not ln.startswith("Note")]
    assert len(errors) == 1
    assert (tmp_path / "text.txt").read_text() == "just text"
    assert not (tmp_path / "new.sqlite").exists()


def test_failures_are_told_at_the_end(here):
    done = here(
        *("reproduce", "--data", "tiny:faces", "--method", "kmeans,tiny:broken"),
        *("--subsets", "1", "--clusters", "2", "--jobs", "1"),
    )
    assert done.returncode == 0
    assert "Warning: 1 fits failed" in done.stderr
    assert "no luck with 2; --retry-failed" in done.stderr


def test_debug_shows_the_traceback(tmp_path):
    failed = twofold("--debug", "reproduce", "--data", "nix", folder=tmp_path)
    assert failed.returncode == 1
    assert "Traceback" in failed.stderr


def test_tables_only_runs_nothing(here, tmp_path):
    arguments = ("reproduce", "--data", "tiny:faces", "--method", "tiny:slow")
    log = tmp_path / "log"
    first = here(*arguments, "--jobs", "1", TWOFOLD_LOG=str(log))
    assert first.returncode == 0, first.stderr
    fits = len(log.read_text().splitlines())
    again = here(*arguments, "--tables-only", TWOFOLD_LOG=str(log))
    assert again.returncode == 0, again.stderr
    assert len(log.read_text().splitlines()) == fits


def test_version_and_help(tmp_path):
    import twofold as package

    said = twofold("--version", folder=tmp_path)
    assert said.stdout == f"twofold {package.__version__}\n"
    assert "reproduce" in twofold("--help", folder=tmp_path).stdout
