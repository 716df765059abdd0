"""What a store of missing cells adds to the files beside docs/reproduction.md."""

import csv
import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_yale import WEIGHTS, made, results

from twofold.paper import Protocol, Store, summarize
from twofold.paper.comparison import build_tables
from twofold.paper.data import PAPER_DATA
from twofold.paper.studies import Study

ROOT = Path(__file__).resolve().parents[2]
MODULES = "pages", "reproduction_files", "reproduction_page", "reproduction"
FIRST, SECOND = 1_700_000_000.0, 1_700_100_000.0  # 2023-11-14 and 2023-11-16


@pytest.fixture(scope="module")
def benchmarks():
    """The modules by name; ``reproduction`` is the last of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name)


@pytest.fixture
def files_of(benchmarks, small_yale, tmp_path):
    """Return the files that results make by themselves, by way of a store."""

    def files_of(found, when, name=""):
        path = tmp_path / f"{when}.sqlite"
        with Store(path) as store:
            store.add(replace(result, finished=when) for result in found)
        reproduction = benchmarks["reproduction"]
        return reproduction.files_of(reproduction.summary_of(path), name)

    return files_of


def all_subsets(**scores):
    """Fits of K-means to all subsets of two classes, and to all classes."""
    return [
        *(made("kmeans", 2, subset, scores["two"]) for subset in range(10)),
        made("kmeans", 15, 0, scores["all"]),
    ]


def cell(files, n, method, metric="accuracy"):
    wanted = metric, str(n), method
    [row] = [
        row
        for row in files.cells
        if (row["metric"], row["n_clusters"], row["method"]) == wanted
    ]
    return row["mean"], row["subsets"], row["complete"], row["run"]


def test_a_whole_cell_of_the_store_stands(benchmarks, files_of):
    earlier = files_of(all_subsets(two=40.0, all=30.0), FIRST)
    later = files_of(all_subsets(two=50.0, all=20.0)[:10], SECOND)
    both = benchmarks["reproduction"].merge_run(earlier, later)
    assert cell(both, 2, "kmeans") == ("50.00", "10", "1", "2023-11-16")
    assert cell(both, 15, "kmeans") == ("30.00", "1", "1", "2023-11-14")
    assert [run.name for run in both.runs] == ["2023-11-14", "2023-11-16"]


def test_a_part_of_a_cell_gives_way_to_any_fits_but_not_to_none(benchmarks, files_of):
    part = all_subsets(two=50.0, all=20.0)[:3]
    merge = benchmarks["reproduction"].merge_run
    whole = merge(
        files_of(all_subsets(two=40.0, all=30.0), FIRST), files_of(part, SECOND)
    )
    assert cell(whole, 2, "kmeans") == ("40.00", "10", "1", "2023-11-14")
    assert [run.name for run in whole.runs] == ["2023-11-14"]  # nothing of the other
    other = [replace(fit, accuracy=1.0) for fit in part[:2]]
    partial = merge(files_of(other, FIRST + 1), files_of(part, SECOND + 1))
    assert cell(partial, 2, "kmeans")[:3] == ("1.00", "2", "0")
    lacking = merge(
        files_of([made("kmeans", 15, 0, 30.0)], FIRST + 2), files_of(part, SECOND + 2)
    )
    assert cell(lacking, 2, "kmeans") == ("50.00", "3", "0", "2023-11-16")


def test_a_cell_that_was_not_run_is_of_no_run(files_of):
    files = files_of(all_subsets(two=40.0, all=30.0), FIRST)
    assert cell(files, 2, "gnmf") == ("", "0", "0", "")


def test_a_cell_whose_fits_all_failed_is_of_its_run(files_of):
    failed = [
        replace(fit, accuracy=None, nmi=None, purity=None, error="ValueError: no")
        for fit in all_subsets(two=0.0, all=0.0)
    ]
    files = files_of(failed, FIRST)
    assert cell(files, 2, "kmeans") == ("", "0", "1", "2023-11-14")
    assert files.runs[0].failures == ["Yale, K-Means: 11 fits, ValueError: no"]


def test_two_runs_of_one_name_are_refused_and_the_same_one_is_not(benchmarks, files_of):
    merge = benchmarks["reproduction"].merge_run
    earlier = files_of(all_subsets(two=40.0, all=30.0), FIRST)
    assert merge(earlier, earlier) == merge(earlier, earlier)
    assert merge(earlier, earlier).cells == earlier.cells
    later = files_of(all_subsets(two=50.0, all=20.0)[:10], FIRST + 5)
    with pytest.raises(SystemExit, match=r"^--run 2023-11-14 names another run"):
        merge(earlier, later)
    named = files_of(all_subsets(two=50.0, all=20.0)[:10], FIRST + 6, "again")
    assert cell(merge(earlier, named), 2, "kmeans")[-1] == "again"


def study(score, *directions, method="2dpca"):
    weights = {} if method == "2dpca" else {"energy_weight": 1.0, "graph_weight": 1.0}
    return [made(method, 15, 0, score, n_directions=r, **weights) for r in directions]


def test_a_curve_is_of_one_run_and_the_later_one_unless_it_is_shorter(
    benchmarks, files_of
):
    earlier = files_of([*study(40.0, 1, 3, 5), *study(9.0, 1, method="ts-nmf")], FIRST)
    merge = benchmarks["reproduction"].merge_run

    def curve(files, method="2dpca"):
        [found] = benchmarks["reproduction_files"].studies_of(files.points)
        return found.directions[method, "accuracy"]

    shorter = merge(earlier, files_of(study(50.0, 1, 3), SECOND))
    assert curve(shorter) == {1: 40.0, 3: 40.0, 5: 40.0}
    longer = merge(earlier, files_of(study(50.0, 1, 3, 5, 11), SECOND + 1))
    assert curve(longer) == {1: 50.0, 3: 50.0, 5: 50.0, 11: 50.0}
    assert curve(longer, "ts-nmf") == {1: 9.0}
    assert {row["run"] for row in longer.points} == {"2023-11-14", "2023-11-16"}


def test_files_give_back_the_tables_and_studies(benchmarks, files_of, tmp_path):
    found = [*results(), *study(40.0, 1, 3), *study(9.0, 1, 3, method="ts-nmf")]
    files = files_of(found, FIRST)
    module = benchmarks["reproduction_files"]
    module.write_files(files, tmp_path / "files")
    assert module.read_files(tmp_path / "files") == files
    read = module.tables_of(files.cells)
    made_anew = build_tables(Protocol(data=("yale",)), found, "combination")
    for ours, theirs in zip(read, made_anew, strict=True):
        assert ours.rows == theirs.rows
        assert ours.methods == theirs.methods
        assert ours.paper == theirs.paper
        assert ours.ours.keys() == theirs.ours.keys()
        for key, outcome in ours.ours.items():
            assert outcome.mean == pytest.approx(theirs.ours[key].mean, abs=0.005)
            assert outcome.grid_point == theirs.ours[key].grid_point
            assert outcome.complete == theirs.ours[key].complete
    [of_yale] = module.studies_of(files.points)
    assert of_yale.directions["2dpca", "accuracy"] == {1: 40.0, 3: 40.0}
    assert of_yale.weights["accuracy"] == {(1.0, 1.0): 9.0}


def test_the_page_says_what_is_of_which_run(benchmarks, files_of):
    earlier = files_of(all_subsets(two=40.0, all=30.0), FIRST)
    gnmf = [made("gnmf", 15, 0, 45.0, graph_weight=w) for w in WEIGHTS]
    both = benchmarks["reproduction"].merge_run(earlier, files_of(gnmf, SECOND))
    text = benchmarks["reproduction_page"].page_text(both)
    assert "\n| 2023-11-14 | Yale | 11 | " in text
    assert "\n| 2023-11-16 | Yale | 7 | " in text
    [first] = [line for line in text.splitlines() if line.startswith("| 2023-11-14")]
    [second] = [line for line in text.splitlines() if line.startswith("| 2023-11-16")]
    assert (first.split(" | ")[-1], second.split(" | ")[-1]) == ("2 |", "1 |")
    assert "Run 2023-11-16 (2023-11-16):\n\n- 7 fits on " in text
    assert "; GNMF for N = 2\n" in text
    assert "| 15 | 30.00 (39.39, -9.39) |" in text


def test_the_page_says_which_points_the_study_of_r_lacks(benchmarks, files_of):
    page_text = benchmarks["reproduction_page"].page_text
    both = study(9.0, 1, 3, method="ts-nmf")
    text = page_text(files_of([*both, *study(40.0, 1)], FIRST))
    assert "\n- Not in the study of r: Yale, 2DPCA for r = 3\n" in text
    text = page_text(files_of([*both, *study(40.0, 1, 3)], SECOND))
    assert "Not in the study" not in text


def test_figures_are_drawn_from_the_files(benchmarks, files_of):
    found = [*results(), *study(40.0, 1, 3), *study(9.0, 1, 3, method="ts-nmf")]
    drawn = benchmarks["reproduction_page"].draw(files_of(found, FIRST))
    assert set(drawn) == {"yale-accuracy", "yale-directions", "yale-weights"}
    assert all("<svg" in svg for svg in drawn.values())


def test_convergence_is_drawn_from_the_traces_of_all_data_sets(benchmarks, small_yale):
    reproduction = benchmarks["reproduction"]
    some = summarize(Protocol(data=("yale",)), results())
    assert reproduction.convergence(some) == {}
    studies = [Study(data, 2, {}, {}, [3.0, 1.5, 1.0]) for data in PAPER_DATA]
    drawn = reproduction.convergence(replace(some, studies=studies))
    assert "<svg" in drawn["convergence"]


def test_a_store_without_the_papers_data_or_no_store_is_an_error(benchmarks, tmp_path):
    summary_of = benchmarks["reproduction"].summary_of
    with pytest.raises(SystemExit, match=r"^--store .*nix: there is no such file$"):
        summary_of(tmp_path / "nix")
    Store(tmp_path / "empty.sqlite").close()
    with pytest.raises(SystemExit, match="has no results on the paper's data sets"):
        summary_of(tmp_path / "empty.sqlite")


def test_the_page_of_the_documentation_is_what_its_files_give(benchmarks, monkeypatch):

    files = benchmarks["reproduction_files"].read_files(ROOT / "docs" / "reproduction")
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert {row["dataset"] for row in files.cells} == set(PAPER_DATA)
    shown = page.partition(benchmarks["reproduction"].MARKER)[2]
    assert shown.strip().startswith(benchmarks["reproduction_page"].page_text(files))


def test_the_page_shows_the_panels_of_the_papers_two_figures():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    panels = [f"{data}-directions" for data in ("yale", "orl", "semeion", "pix")]
    panels += [f"{data}-weights" for data in ("yale", "orl", "semeion", "jaffe")]
    for name in panels:
        assert f"](reproduction/{name}.svg)" in page
        assert (ROOT / "docs" / "reproduction" / f"{name}.svg").is_file()
    with (ROOT / "docs" / "reproduction" / "studies.csv").open() as file:
        points = list(csv.DictReader(file))
    assert all(point["run"] for point in points)
