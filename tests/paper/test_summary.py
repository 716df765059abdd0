"""Tables from results made up by hand."""

import csv
import io
import json
from dataclasses import replace
from statistics import stdev

import pytest
from small_yale import made, results

from twofold.paper import Protocol, markdown_page, summarize
from twofold.paper.comparison import Outcome, Table
from twofold.paper.published import Cell
from twofold.paper.studies import Study, studies_csv
from twofold.paper.tables import csv_text, latex, markdown

PROTOCOL = Protocol(data=("yale",), methods=("kmeans", "gnmf"), subsets=2)

pytestmark = pytest.mark.usefixtures("small_yale")


def tables(found=None, protocol=PROTOCOL, **more):
    found = results() if found is None else found
    return summarize(protocol, found, **more).tables


def accuracy_table(*args, **more):
    return tables(*args, **more)[0]


def test_the_best_combination_on_average_is_reported():
    cell = accuracy_table().ours[2, "gnmf"]
    assert (cell.mean, cell.std) == (60.0, pytest.approx(stdev([70, 50])))
    assert json.loads(cell.grid_point) == {"graph_weight": 1.0}
    assert (cell.subsets, cell.complete) == (2, True)


def test_or_the_best_of_each_subset():
    cell = accuracy_table(best="subset").ours[2, "gnmf"]
    assert (cell.mean, cell.std) == (70.0, pytest.approx(stdev([90, 50])))
    assert cell.grid_point is None


def test_all_classes_have_no_deviation_and_rows_average():
    table = accuracy_table()
    assert table.rows == (2, 15)
    assert table.ours[15, "kmeans"].std is None
    assert table.average("kmeans") == (50 + 39) / 2
    assert table.average("gnmf") == (60 + 45) / 2
    # Two rows of the paper's twelve: their mean, not the average it prints.
    paper = table.paper[2, "kmeans"].mean, table.paper[15, "kmeans"].mean
    assert table.paper_average("kmeans") == sum(paper) / 2


def test_each_measure_has_its_own_best():
    found = [
        replace(one, nmi=99.0 if "0.001" in one.grid_point else 1.0)
        for one in results()
    ]
    by_metric = {table.metric: table for table in tables(found)}
    assert (
        json.loads(by_metric["nmi"].ours[2, "gnmf"].grid_point)["graph_weight"] == 0.001
    )
    assert (
        json.loads(by_metric["accuracy"].ours[2, "gnmf"].grid_point)["graph_weight"]
        == 1
    )


def test_what_is_missing_is_marked():
    found = [one for one in results() if not (one.subset == 1 and one.method == "gnmf")]
    cell = accuracy_table(found).ours[2, "gnmf"]
    assert (cell.mean, cell.subsets, cell.complete) == (90.0, 1, False)


def test_a_grid_point_run_on_fewer_subsets_cannot_win():
    found = [
        one
        for one in results()
        if not (
            one.subset == 1 and json.loads(one.grid_point).get("graph_weight") == 0.1
        )
    ]
    assert accuracy_table(found).ours[2, "gnmf"].mean == 60.0


def test_a_combination_that_failed_cannot_win_and_the_cell_counts_as_run():
    found = [
        replace(one, accuracy=None, nmi=None, purity=None, error="ValueError: no")
        if json.loads(one.grid_point).get("graph_weight") == 1 and one.subset == 1
        else one
        for one in results()
    ]
    cell = accuracy_table(found).ours[2, "gnmf"]
    assert (cell.mean, cell.complete) == (50.0, True)
    failed = [
        replace(one, accuracy=None, error="no") if one.method == "kmeans" else one
        for one in results()
    ]
    assert accuracy_table(failed).ours[2, "kmeans"].mean is None
    assert "| 2 | - (" in markdown(accuracy_table(failed))


def test_results_of_other_data_code_or_protocols_do_not_count():
    others = [
        replace(one, accuracy=100.0, key=f"other {i}")
        for i, one in enumerate(results())
    ]
    assert accuracy_table(results() + others).ours == accuracy_table().ours
    with pytest.raises(ValueError, match="those given are of: yale, seed 0"):
        summarize(PROTOCOL, others)


def test_rows_that_were_not_run_are_shown_as_missing():
    only = [one for one in results() if one.n_clusters == 2]
    table = accuracy_table(only)
    assert table.rows == (2, 15)
    assert table.average("kmeans") is None
    assert not table.pair(15, "kmeans").ours.complete
    text = markdown_page(summarize(PROTOCOL, only))
    assert "K-Means, GNMF for N = 15" in text


def test_fewer_subsets_than_the_protocol_has_are_not_whole():
    cell = accuracy_table(protocol=replace(PROTOCOL, subsets=3)).ours[2, "kmeans"]
    assert (cell.mean, cell.subsets, cell.complete) == (50.0, 2, False)
    text = markdown(accuracy_table(protocol=replace(PROTOCOL, subsets=3)))
    assert "\n| 2 | 50.00 ± 14.14\\* (" in text


def test_the_document_says_what_changes_the_figures():
    text = markdown_page(summarize(PROTOCOL, results(), best="subset"))
    assert "Seed 0, 2 subsets for each N, the best subset is reported" in text


def test_markdown_has_ours_the_papers_and_the_difference():
    lines = markdown(accuracy_table()).splitlines()
    assert lines[0] == "| N | K-Means | GNMF |"
    paper = accuracy_table().paper[2, "gnmf"].mean
    assert f"**60.00 ± 14.14** ({paper:.2f}, {60 - paper:+.2f}) |" in lines[2]
    assert lines[3].startswith("| 15 | 39.00 (39.39, -0.39) | **45.00** (43.03, +1.97)")
    assert lines[4].startswith("| Average | 44.50 (")


def test_latex_is_the_papers_layout():
    text = latex(tables())
    lines = text.splitlines()
    assert r"\begin{tabular}{|c||c|c|}" in lines
    assert r"\multirow{2}{*}{$N$} & \multicolumn{2}{c|}{Accuracy (\%)} \\" in lines
    assert r" & K-Means & GNMF \\ \hline" in lines
    [row] = [line for line in lines if line.startswith(r"\multirow{3}{*}{15} & 39")]
    assert row.endswith(r"39.00 & \textbf{45.00} \\")
    assert text.count("{") == text.count("}")
    bodies = [line for line in lines if "&" in line and "multicolumn" not in line]
    assert {line.count("&") for line in bodies} == {2}


def test_csv_has_every_cell():
    found = tables()
    read = list(csv.DictReader(io.StringIO(csv_text(found))))
    assert len(read) == 3 * 2 * 2
    [cell] = [
        row
        for row in read
        if (row["metric"], row["n_clusters"], row["method"])
        == ("accuracy", "15", "gnmf")
    ]
    assert (cell["mean"], cell["std"], cell["paper_mean"]) == ("45.00", "", "43.03")
    assert (cell["difference"], cell["complete"]) == ("1.97", "1")


def test_names_are_no_formulas_and_differences_are_numbers():
    paper = {(2, "-m:x"): Cell(50.0)}
    ours = {(2, "-m:x"): Outcome(40.0)}
    table = Table("=d:x", "D", "nmi", (2,), ("-m:x",), ours, paper)
    [row] = csv.DictReader(io.StringIO(csv_text([table])))
    assert (row["dataset"], row["method"]) == ("'=d:x", "'-m:x")
    assert row["difference"] == "-10.00"
    study = Study("=d:x", 2, {("-m:x", "nmi"): {3: 40.0}}, {"nmi": {(1, 1): 5.0}}, [])
    assert studies_csv([study]).splitlines()[1:] == [
        "'=d:x,2,'-m:x,nmi,3,,,40.00",
        "'=d:x,2,ts-nmf,nmi,,1,1,5.00",
    ]


def test_studies_take_the_best_over_what_they_do_not_show():
    protocol = Protocol(data=("yale",), methods=("ts-nmf",))

    def fit(r, energy, graph, score, n=15, **more):
        weights = {"energy_weight": energy, "graph_weight": graph}
        return made("ts-nmf", n, 0, score, n_directions=r, **weights, **more)

    found = [
        fit(3, 1.0, 1.0, 50.0),
        fit(3, 1.0, 10.0, 60.0),
        fit(5, 1.0, 1.0, 55.0),
        fit(19, 1.0, 1.0, 99.0),
        fit(5, 1.0, 1.0, 98.0, n=2),
        replace(fit(5, 1.0, 1.0, 97.0, traced=True, tol=0.0), trace="[3.0, 2.0]"),
    ]
    [study] = summarize(protocol, found).studies
    assert study.n_clusters == 15
    assert study.directions["ts-nmf", "accuracy"] == {3: 60.0, 5: 55.0, 19: 99.0}
    assert study.weights["accuracy"] == {(1.0, 1.0): 55.0, (1.0, 10.0): 60.0}
    assert study.trace == [3.0, 2.0]
    lines = studies_csv([study]).splitlines()
    assert lines[1] == "yale,15,ts-nmf,accuracy,3,,,60.00"
    assert "yale,15,ts-nmf,accuracy,,1.0,10.0,60.00" in lines
