"""``twofold datasets``, as a user runs it."""


def test_datasets_says_what_is_here_and_how_to_get_the_rest(here, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ORL.mat").touch()
    said = here(
        "datasets",
        TWOFOLD_DATA=str(tmp_path / "data"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert said.returncode == 0, said.stderr
    lines = {line.split()[0]: line for line in said.stdout.splitlines()}
    assert lines["orl"].endswith(str(tmp_path / "data" / "ORL.mat"))
    assert "downloaded when it is first asked for" in lines["yale"]
    assert "ask its authors at https://" in lines["jaffe"]
    assert "digits.csv.gz" in lines["digits"]
