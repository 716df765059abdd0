"""The help of every command, in the docs and for a shell."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from runner import environment, twofold

from twofold import TSNMF
from twofold.app.cli.app import app
from twofold.channels import BANKS
from twofold.core.graphs import KINDS

PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"


def commands(group, path=()):
    """The words of every command and of every group."""
    yield path
    for name, command in sorted(getattr(group, "commands", {}).items()):
        yield from commands(command, (*path, name))


ALL = list(commands(typer.main.get_command(app)))


def words(text):
    """What a text says, but for layout and what typer sets in brackets."""
    return re.sub(r"<[^>]*>|\[[^\]]*\]|[{}\\]|\.\.\.", " ", text).split()


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_the_help_of_every_command_is_in_the_docs(here, command):
    page = PAGE.read_text(encoding="utf-8")
    call = f"$ {' '.join(('twofold', *command))} --help\n"
    assert page.count(call) == 1, "make help-text writes it"
    documented = page.split(call)[1].split("```")[0]
    assert words(here(*command, "--help").stdout) == words(documented)


def test_every_kind_of_graph_is_in_the_docs():
    page = PAGE.read_text(encoding="utf-8")
    for kind in KINDS.values():
        row = f"| `{kind.name}` | {kind.description} |"
        assert row in page, "make help-text writes it"


def test_there_are_the_promised_commands():
    names = {path[0] for path in ALL if path}
    promised = {"cluster", "predict", "report", "datasets", "demo", "reproduce"}
    assert names == promised


def test_the_defaults_that_the_help_tells_are_those_of_the_estimator(here):
    said = " ".join(here("cluster", "--help").stdout.split())
    own = TSNMF().get_params() | {"energy_weight": BANKS["gradients"].energy_weight}
    options = {
        "energy-weight": "energy_weight",
        "graph-weight": "graph_weight",
        "starts": "n_init",
        "max-iter": "max_iter",
        "tol": "tol",
    }
    for option, parameter in options.items():
        text = said.split(f"--{option} ")[1].split(" --")[0]
        told = re.search(r"Default: ([\d.]+)[.,]", text)
        assert float(told[1]) == own[parameter]


def test_the_help_tells_what_fine_gradients_have_instead(here):
    said = " ".join(here("cluster", "--help").stdout.split())
    fine = BANKS["fine_gradients"]
    assert f"Default: 1, or {fine.energy_weight:g} of fine gradients." in said
    assert f"Default: 4 of images, {fine.n_directions} of fine gradients." in said
    assert all(name in said for name in BANKS)


def test_no_command_at_all_shows_the_help(here):
    assert here().stdout == here("--help").stdout
    assert here().returncode == 0


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("twofold cl", "cluster"), ("twofold cluster x --so", "--sort")],
)
def test_a_shell_completes(tmp_path, line, wanted):
    parts = line.split()
    said = twofold(
        folder=tmp_path,
        _TWOFOLD_COMPLETE="complete_bash",
        COMP_WORDS=line,
        COMP_CWORD=str(len(parts) - 1),
    )
    assert wanted in said.stdout.split()


def test_help_does_not_wait_for_scikit_learn(tmp_path):
    program = (
        "import sys; sys.argv = ['twofold', 'cluster', '--help']\n"
        "from twofold.app.cli import main\n"
        "try: main()\n"
        "finally: print('sklearn' in sys.modules, 'numpy' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines()[-1] == "False False"
