"""``twofold cluster`` when it chooses the settings or the number of clusters."""

import json
import re
from types import SimpleNamespace

import numpy as np
import problems
import pytest
from PIL import Image
from small_photos import table

from twofold import TSNMF, AutoTSNMF
from twofold.app import workflow
from twofold.app.cli.display import Lines
from twofold.app.cli.model import PARAMETERS, read_request
from twofold.estimators.assessment import assess
from twofold.estimators.fitted import LEAST_STRUCTURE

SETTINGS = [
    ("--graph", "subspace", "graph", "subspace"),
    ("--graph", "auto", "graph", "auto"),
    ("--energy-weight", "0.5", "energy_weight", 0.5),
    ("--energy-weight", "0", "energy_weight", 0.0),
    ("--graph-weight", "2", "graph_weight", 2.0),
    ("--directions", "3", "n_directions", 3),
    ("--neighbors", "4", "n_neighbors", 4),
    ("--starts", "2", "n_init", 2),
    ("--max-iter", "7", "max_iter", 7),
    ("--tol", "0.1", "tol", 0.1),
]


@pytest.fixture
def samples(tmp_path):
    """A file a.npy of 30 images."""
    X = problems.images(30)
    np.save(tmp_path / "a.npy", X)
    return X


@pytest.fixture
def asked(here, samples, monkeypatch):
    """A function from arguments to the model that they ask for, which is not fitted."""
    found = SimpleNamespace(model=None)

    def keep(collection, model, *args, **kwargs):
        found.model = model
        raise ValueError("caught")

    monkeypatch.setattr(workflow, "cluster", keep)

    def model_for(*arguments):
        assert here(*arguments).stderr == "Error: caught\n"
        return found.model

    return model_for


# Which model it is


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ((), None),
        (("-k", "auto"), None),
        (("-k", "12"), 12),
        (("--clusters", "1"), 1),
        (("-k", "8-16"), range(8, 17)),
        (("-k8-16",), range(8, 17)),
        (("-k", "5-5"), 5),
        (("-k", "007"), 7),
    ],
)
def test_how_many_clusters(asked, given, numbers):
    model = asked("cluster", "a.npy", *given)
    assert isinstance(model, AutoTSNMF)
    assert model.n_clusters == numbers
    assert model.random_state == 0
    assert model.max_time is None


def test_all_that_a_search_is_told(asked):
    given = ("--seed", "5", "--max-time", "2.5", "--missing", "-1")
    model = asked("cluster", "a.npy", "-k", "3", *given)
    assert (model.random_state, model.max_time) == (5, 2.5)
    assert model.estimator.get_params() == TSNMF(missing_values=-1).get_params()
    told = {"n_clusters", "random_state", "max_time", "estimator"}
    for name, default in AutoTSNMF().get_params().items():
        assert name in told or getattr(model, name) == default


@pytest.mark.parametrize(("option", "text", "parameter", "value"), SETTINGS)
def test_a_given_setting_leaves_the_search_out(asked, option, text, parameter, value):
    model = asked("cluster", "a.npy", "-k", "3", "--seed", "5", option, text)
    assert isinstance(model, TSNMF)
    known = TSNMF(3, random_state=5).set_params(**{parameter: value})
    assert model.get_params() == known.get_params()


def test_missing_entries_are_no_setting(asked):
    model = asked("cluster", "a.npy", "-k", "3", "--missing", "-1")
    assert isinstance(model, AutoTSNMF)
    model = asked("cluster", "a.npy", "-k", "3", "--missing", "-1", "--tol", "0")
    assert isinstance(model, TSNMF)
    assert model.missing_values == -1


def test_the_demo_searches_for_ten(asked):
    model = asked("demo")
    assert isinstance(model, AutoTSNMF)
    assert model.n_clusters == 10


def test_every_setting_of_the_command_is_known():
    assert {option for option, *_ in SETTINGS} == PARAMETERS.keys()


def test_several_settings_are_taken():
    options = dict.fromkeys(PARAMETERS) | {"--tol": 0.0, "--starts": 3}
    wanted = read_request("4", options, max_time=None, cache=None, missing=None, seed=0)
    assert wanted.parameters == {"tol": 0.0, "n_init": 3}


# What cannot be


@pytest.mark.parametrize(
    "text",
    [
        *("0", "5-2", "x", "3-", "-3", "0-3", "1.5", "1e1", "", " ", "3 - 5", "2-3-4"),
        *("3,4", "Auto", "None", "9" * 5000, "²", "3\n", "3\u20135"),
    ],
)
def test_numbers_that_are_none(here, samples, tmp_path, text):
    failed = here("cluster", "a.npy", f"--clusters={text}")
    assert failed.returncode == 2
    assert failed.stderr.startswith(
        "Error: Invalid value for --clusters: expected a number from 1, such as 12, a "
        "range, such as 8-16, or auto, got"
    )
    assert failed.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(("option", "text"), [pair[:2] for pair in SETTINGS])
@pytest.mark.parametrize("numbers", [(), ("-k", "auto"), ("-k", "2-4")])
def test_several_numbers_need_the_search(here, samples, numbers, option, text):
    failed = here("cluster", "a.npy", *numbers, option, text)
    assert failed.returncode == 2
    came = numbers[-1] if numbers else "auto"
    assert f"got {came}; name one, or leave {option} out" in failed.stderr
    assert "Invalid value for --clusters" in failed.stderr
    assert failed.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("-k", "31"),
            1,
            "-k 31 must be at most 30, the number of samples; take fewer",
        ),
        (
            ("-k", "2-31"),
            1,
            "-k 2-31 must be at most 30, the number of samples; take fewer",
        ),
        (("-k", "1-999999999"), 1, "must be at most 30, the number of samples"),
        (("-k", "3", "--tol", "0", "--max-time", "5"), 2, "which --tol leaves out"),
        (("-k", "3", "--tol", "0", "--max-time", "5"), 2, "--max-time"),
        (
            ("-k", "31", "--tol", "0"),
            1,
            "-k 31 must be at most 30, the number of samples",
        ),
        (("--max-time", "nan"), 2, "--max-time"),
        (("--max-time", "-1"), 2, "--max-time"),
        (("--max-time", "x"), 2, "--max-time"),
        (("-k", "3", "--graph", "none"), 2, "--graph"),
    ],
)
def test_errors_are_one_line_and_a_code(
    here, samples, tmp_path, arguments, code, message
):
    failed = here("cluster", "a.npy", *arguments)
    assert failed.returncode == code
    assert failed.stderr.startswith("Error: ")
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_bad_numbers_are_told_before_anything_is_read(here):
    assert "--clusters" in here("cluster", "nowhere", "-k", "0").stderr
    assert "--clusters" in here("cluster", "nowhere", "--tol", "1").stderr


# What it prints and writes


def events_of(run):
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_json_lines_tell_what_was_chosen(here, samples):
    *steps, end = events_of(here("cluster", "a.npy", "-k", "2-4", "--json"))
    looks = [step for step in steps if step["event"] == "searching"]
    assert [step["done"] for step in looks] == list(range(len(looks)))
    assert all(step["done"] <= step["total"] for step in looks)
    auto = AutoTSNMF(range(2, 5), random_state=0).fit(samples)
    stages = auto.search_results_["stage"]
    assert len(looks) == 1 + stages.count("preview")
    best = auto.best_estimator_
    assert end["chosen"] == {
        "channels": "pixels",
        "graph": best.graph,
        "n_neighbors": best.n_neighbors,
        "n_directions": best.n_directions,
        "energy_weight": best.energy_weight,
        "graph_weight": best.graph_weight,
        "score": pytest.approx(auto.best_score_),
    }
    curve = auto.cluster_numbers_
    assert end["cluster_numbers"] == {
        "numbers": [2, 3, 4],
        "scores": pytest.approx(curve.scores),
        "chosen": curve.chosen,
        "likely": list(curve.likely),
        "at_end": False,
        "unsure": curve.unsure,
    }
    assert end["structure"] == pytest.approx(auto.structure_, abs=5e-5)
    assert end["found"] is True
    assert end["clusters"] == curve.chosen == 3
    assert end["out_of_time"] is False


def test_json_lines_of_one_number_and_of_no_search(here, samples):
    found = events_of(here("cluster", "a.npy", "-k", "3", "--json"))[-1]
    assert "chosen" in found
    assert "cluster_numbers" not in found
    assert found["found"] is True
    plain = here("cluster", "a.npy", "-k", "3", "--tol", "0.05", "--json", "--force")
    events = events_of(plain)
    assert "searching" not in {event["event"] for event in events}
    assert not {"chosen", "cluster_numbers", "out_of_time"} & events[-1].keys()
    told = assess(TSNMF(3, tol=0.05, random_state=0).fit(samples)).structure
    assert events[-1]["structure"] == pytest.approx(told, abs=5e-5)
    assert "outliers" not in events[-1]
    one = events_of(here("cluster", "a.npy", "-k", "1", "--json", "--force"))[-1]
    assert not {"structure", "found"} & one.keys()


def test_the_lines_at_the_end(here, samples, tmp_path):
    run = here("cluster", "a.npy")
    assert run.returncode == 0, run.stderr
    auto = AutoTSNMF(random_state=0).fit(samples)
    best, curve = auto.best_estimator_, auto.cluster_numbers_
    low, high = curve.likely
    assert run.stdout.splitlines()[1:-2] == [
        f"chosen: 3 clusters (likely {low} to {high})",
        f"chosen: channels pixels, graph {best.graph}, {best.n_directions} directions, "
        f"energy weight {best.energy_weight:g}; score {auto.best_score_:.2f}",
        f"structure: {auto.structure_:.2f} (noise has about 0)",
    ]
    assert not curve.unsure
    assert run.stderr == ""
    rows = table(tmp_path / "a-clusters/assignments.csv")
    assert [int(row["cluster"]) for row in rows] == auto.labels_.tolist()
    assert len(table(tmp_path / "a-clusters/search.csv")) == len(
        auto.search_results_["stage"]
    )


def facts(**more):
    chosen = {
        "channels": "fine_gradients",
        "graph": "subspace",
        "n_directions": 1,
        "energy_weight": 0.1,
        "score": 0.456,
    }
    return {
        **{"report": "r", "images": 9, "shape": [2, 2], "skipped": 0, "clusters": 2},
        **{"iterations": 4, "chosen": chosen, "out_of_time": False},
        **more,
    }


def number(likely, at_end=False, unsure=False):
    return {
        **{"numbers": [1, 2, 3], "scores": [0.0, 0.5, 0.4]},
        **{"chosen": 2, "likely": likely, "at_end": at_end, "unsure": unsure},
    }


def test_how_many_neighbours_were_found_is_said_where_it_is_not_all(capsys):
    Lines().end(**facts(neighbors_found=0.9873))
    assert "approximate: 98.7% of the nearest are found\n" in capsys.readouterr().out
    Lines().end(**facts())
    assert "neighbours" not in capsys.readouterr().out


@pytest.mark.parametrize("unsure", [False, True])
def test_a_number_that_is_not_clear_comes_with_a_warning(capsys, unsure):
    Lines().end(**facts(cluster_numbers=number((1, 3), unsure=unsure)))
    said = capsys.readouterr()
    # 3 is the largest that was tried.
    assert "chosen: 2 clusters (likely 1 to 3 or more)\n" in said.out
    warned = said.err.startswith("Warning: the data do not say clearly how many")
    assert warned == unsure
    assert said.err.count("\n") == warned


def test_the_largest_number_that_was_tried_comes_with_a_warning(capsys):
    Lines().end(**facts(cluster_numbers=number((2, 2), at_end=True)))
    assert capsys.readouterr().err == (
        "Warning: there may be more: no number above 2 was tried\n"
    )


def test_clusters_of_noise_come_with_a_warning(here, tmp_path):
    noise = np.random.default_rng(0).uniform(size=(40, 12, 12))
    np.save(tmp_path / "noise.npy", noise)
    run = here("cluster", "noise.npy", "-k", "3")
    assert run.returncode == 0
    said = "the samples do not look as if they had any clusters: do not trust these"
    assert run.stderr == f"Warning: {said}\n"
    [line] = [line for line in run.stdout.splitlines() if line.startswith("structure")]
    told = re.fullmatch(r"structure: (-?\d\.\d\d) \(noise has about 0\)", line)
    assert float(told[1]) < LEAST_STRUCTURE
    page = (tmp_path / "noise-clusters" / "report.html").read_text()
    assert "These images do not look as if they had any clusters." in page
    again = here("cluster", "noise.npy", "-k", "3", "--json", "--tol", "1", "--force")
    end = events_of(again)[-1]
    assert end["structure"] < LEAST_STRUCTURE
    assert end["found"] is False


def test_images_that_belong_nowhere_get_no_cluster(here, tmp_path):
    """As files, which are sorted into a folder of their own."""
    pixels = np.rint(25 * problems.images(40, 9, 8) + 128)
    odd, rng = [5, 31], np.random.default_rng(7)
    pixels[odd[0]], pixels[odd[1]] = 90, rng.uniform(0, 255, (9, 8))
    (tmp_path / "in").mkdir()
    for i, image in enumerate(pixels.clip(0, 255).astype(np.uint8)):
        Image.fromarray(image).save(tmp_path / f"in/{i:02}.png")
    given = ("-k", "3", "--max-time", "0", "--outliers", "--sort", "copy")
    [*_, end] = events_of(here("cluster", "in", *given, "--json"))
    rows = table(tmp_path / "in-clusters/assignments.csv")
    flagged = [i for i, row in enumerate(rows) if row["cluster"] == "-1"]
    assert set(odd) <= set(flagged)
    assert end["outliers"] == len(flagged) <= 4
    assert end["clusters"] == 3
    report = json.loads((tmp_path / "in-clusters/report.json").read_text())
    assert sorted(report["outliers"]) == flagged
    assert {item["cluster"] for item in report["items"]} == {0, 1, 2}
    [folder] = tmp_path.glob("in-clusters/*/outliers")
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"{i:02}.png" for i in flagged]
    assert {path.name for path in folder.parent.iterdir()} == {
        "0",
        "1",
        "2",
        "outliers",
    }
    lines = here("cluster", "in", *given, "--force").stdout.splitlines()
    assert f"{len(flagged)} samples of no cluster (-1)" in lines
    assert {rows[i]["confidence"] for i in flagged} == {"0.0"}
    # New images are placed all the same.
    placed = here("predict", "in-clusters", "in", "--out", "placed.csv")
    assert placed.returncode == 0, placed.stderr
    found = [row["cluster"] for row in table(tmp_path / "placed.csv")]
    assert set(found) == {"0", "1", "2"}


def test_outliers_are_asked_for(asked):
    assert asked("cluster", "a.npy", "-k", "3", "--outliers").estimator.outliers
    assert asked("cluster", "a.npy", "-k", "3", "--outliers", "--tol", "0").outliers
    assert not asked("cluster", "a.npy", "-k", "3").estimator.outliers


def test_a_stopped_search_goes_on_from_its_cache(here, samples, tmp_path):
    once = here("cluster", "a.npy", "-k", "3", "--cache", "looks", "--max-time", "0")
    assert once.returncode == 0, once.stderr
    [look] = (tmp_path / "looks").iterdir()
    before = look.stat().st_mtime_ns
    again = here("cluster", "a.npy", "-k", "3", "--cache", "looks", "--force")
    assert again.returncode == 0, again.stderr
    assert len(list((tmp_path / "looks").iterdir())) > 1
    assert look.stat().st_mtime_ns == before


def test_a_single_likely_number_and_a_lack_of_time(capsys):
    Lines().end(**facts(cluster_numbers=number((2, 2)), out_of_time=True))
    assert capsys.readouterr().out.splitlines()[1:4] == [
        "chosen: 2 clusters (likely 2)",
        "chosen: channels fine_gradients, graph subspace, 1 direction, energy weight "
        "0.1; score 0.46",
        "--max-time was up before all settings were tried",
    ]


def test_a_search_without_time_looks_once(here, samples, tmp_path):
    run = here("cluster", "a.npy", "-k", "3", "--max-time", "0")
    assert run.returncode == 0, run.stderr
    assert "--max-time was up before all settings were tried" in run.stdout
    stages = [row["stage"] for row in table(tmp_path / "a-clusters/search.csv")]
    assert stages == ["preview", "fit"]


def test_graphs_in_more_pieces_than_clusters(here, tmp_path):
    rng = np.random.default_rng(0)
    far = 1000 * np.repeat(rng.random((6, 3)), 60, axis=0)
    np.save(tmp_path / "far.npy", far + rng.random((360, 3)))
    run = here("cluster", "far.npy", "-k", "3")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    said = "chosen: the defaults; the graphs are in more pieces than clusters"
    assert lines[1] == said
    [row] = table(tmp_path / "far-clusters/search.csv")
    assert row["stage"] == "fit"
    page = (tmp_path / "far-clusters/report.html").read_text(encoding="utf-8")
    assert "there was nothing to compare, and the defaults were fitted" in page


def test_the_same_seed_gives_the_same_files(here, samples, tmp_path):
    for name in ("one", "two"):
        run = here("cluster", "a.npy", "-k", "2-4", "--seed", "3", "--out", name)
        assert run.returncode == 0, run.stderr
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert one == two
    assert "search.csv" in one


def test_quiet_prints_the_path_alone(here, samples):
    run = here("cluster", "a.npy", "-k", "3", "-q")
    assert (run.stdout, run.stderr) == ("a-clusters/report.html\n", "")


def test_the_device_is_that_of_a_search_and_of_a_fit(asked):
    pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    search = asked("cluster", "a.npy", "-k", "3", "--device", "cpu")
    assert search.estimator.device == "cpu"
    fit = asked("cluster", "a.npy", "-k", "3", "--device", "cpu", "--tol", "0")
    assert fit.device == "cpu"
    assert asked("cluster", "a.npy").estimator.device is None


def test_a_device_that_is_not_there_is_named(here, samples):
    pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    ended = here("cluster", "a.npy", "--device", "abacus")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: --device='abacus' cannot be used (")
    assert ended.stderr.endswith("leave it out to fit on the CPU\n")
