"""What is written: complete, self-contained, and safe to open."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from twofold.paper import Protocol, Store, run, summarize, write_all


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    fast = Protocol(
        data=("tiny:faces",),
        methods=("kmeans", "2dpca", "tiny:broken", "ts-nmf"),
        subsets=2,
        max_iter=15,
        quick=True,
    )
    with Store(path) as store:
        run(fast, store, n_jobs=1)
        return summarize(fast, store.results())


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.sources, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [v for name, v in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_all_files_are_there_and_the_page_holds_them(summary, tmp_path):
    files = write_all(summary, tmp_path / "out")
    names = {str(file.relative_to(tmp_path / "out")) for file in files}
    assert names == {
        *("tables.md", "tables.csv", "studies.csv", "tables.tex", "index.html"),
        *(f"figures/tiny-faces-{m}.svg" for m in ("accuracy", "nmi", "purity")),
        *("figures/tiny-faces-directions.svg", "figures/tiny-faces-weights.svg"),
        "figures/convergence.svg",
    }
    assert sorted(tmp_path.glob("out/**/.*")) == []  # nothing half-written
    for file in tmp_path.glob("out/figures/*.svg"):
        assert ElementTree.parse(file).getroot().tag.endswith("svg")
    page = Reader()
    page.feed((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert page.tags.count("table") == 3
    assert page.tags.count("img") == 6
    assert all(source.startswith(("data:", "#")) for source in page.sources)


def test_titles_are_text_not_markup(summary, tmp_path):
    write_all(summary, tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Tiny &lt;faces&gt; &amp; co." in page
    assert "<faces>" not in page
    assert (
        r"Tiny \textless{}faces\textgreater{} \& co."
        in (tmp_path / "tables.tex").read_text()
    )


def test_failures_are_told(summary, tmp_path):
    write_all(summary, tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", page)
    assert "Broken: 2 fits, ArithmeticError: no luck with 3" in text


def test_same_results_same_files(summary, tmp_path):
    for name in "ab":
        write_all(summary, tmp_path / name)
    for file in sorted(tmp_path.glob("a/**/*.*")):
        twin = tmp_path / "b" / file.relative_to(tmp_path / "a")
        assert file.read_bytes() == twin.read_bytes()


def test_no_results_is_an_error():
    with pytest.raises(ValueError, match="no results of this protocol"):
        summarize(Protocol(data=("digits",)), [])


def test_without_matplotlib_there_are_tables_and_a_warning(
    summary, tmp_path, monkeypatch
):
    monkeypatch.delitem(sys.modules, "twofold.paper.figures", raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delattr("twofold.paper.figures", raising=False)
    with pytest.warns(UserWarning, match=r"pip install 'twofold\[plot\]'"):
        files = write_all(summary, tmp_path)
    assert [Path(file).name for file in files] == [
        *("tables.md", "tables.csv", "tables.tex", "studies.csv", "index.html")
    ]
