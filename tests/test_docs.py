"""The documentation says what the code does."""

import doctest
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import twofold
import twofold.core
from twofold.paper.methods import PAPER_METHODS

ROOT = Path(__file__).resolve().parents[1]
EQUATIONS = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \|.*\| `([\w.]+)` \| `([\w/.]+)::(\w+)` \|$", re.M)
ROWS = ROW.findall(EQUATIONS)


def core_function(path):
    package = "twofold" if path.startswith("estimators") else "twofold.core"
    return pkgutil.resolve_name(f"{package}.{path}")


def core_modules():
    for module in pkgutil.walk_packages(twofold.core.__path__, "twofold.core."):
        yield importlib.import_module(module.name)


def test_every_row_of_the_tables_is_read():
    tables = EQUATIONS.split("| --- | --- | --- | --- |")[1:]
    lengths = [len(table.split("\n\n")[0].strip().split("\n")) for table in tables]
    assert len(ROWS) == sum(lengths)
    assert len(lengths) == 2
    assert min(lengths) > 10


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_an_equation_is_where_the_page_says(row):
    label, function, file, test = row
    module = inspect.getsource(inspect.getmodule(core_function(function)))
    docstring = inspect.getdoc(core_function(function))
    assert f"({label})" in docstring, f"{function} does not name Eq. ({label})"
    assert f"def {function.rsplit('.', 1)[1]}(" in module
    assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_every_equation_named_in_the_core_has_a_row():
    labels = {row[0] for row in ROWS}
    for module in core_modules():
        named = set(re.findall(r"Eqs?\. \((\w+)\)", inspect.getsource(module)))
        assert named <= labels, f"{module.__name__}: {named - labels} have no row"


def test_the_lines_of_the_algorithm_are_where_the_page_says():
    lines = EQUATIONS.split("| line of Algorithm 1 |")[1].split("\n\n")[0]
    named = re.findall(r"`([\w.]+\.\w+)`", lines)
    assert len(named) > 8
    for path in named:
        assert callable(core_function(path))


def test_the_public_names_are_these():
    assert set(twofold.__all__) == {"AutoTSNMF", "TSNMF", "__version__"}


def test_the_core_imports_nothing_from_the_rest():
    for module in core_modules():
        imported = re.findall(
            r"(?:from|import) (twofold[\w.]*)", inspect.getsource(module)
        )
        assert all(name.startswith("twofold.core") for name in imported)


@pytest.mark.torch
def test_importing_twofold_does_not_import_extras():
    extras = {"torch", "matplotlib", "pyarrow"}
    code = f"import sys, twofold; print({extras} & sys.modules.keys())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize("page", ["README.md", "docs/methods.md"])
def test_the_python_code_of_the_pages_runs(page, capsys):
    """What needs files of the user's stands in blocks of ``py`` instead."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    promised = re.findall(r"^print\(.*\)  # (.+)$", "\n".join(blocks), re.M)
    assert printed == promised


def test_the_examples_of_the_docstrings_hold():
    found = pkgutil.walk_packages(twofold.__path__, "twofold.")
    names = {module.name for module in found}
    if importlib.util.find_spec("torch") is None:
        names -= {"twofold.channels.network.efficientnet"}  # all of it is PyTorch's
    modules = [importlib.import_module(name) for name in sorted(names)]
    results = [doctest.testmod(module) for module in modules]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) > 25


def test_every_method_of_the_paper_is_compared_and_timed():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    for name in PAPER_METHODS:
        assert page.count(f"\n| {name} | ") == 3, f"make methods has no {name}"
        assert f"\n| `{name}` | " in page


def test_the_version_is_in_the_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert twofold.__version__.removesuffix(".dev0") in changelog
