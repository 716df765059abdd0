"""How AutoTSNMF chooses, and how good that is, into the tables of docs/automatic.md.

No labels are used but for scoring, and by the oracle. Every table has marks of its own
in the page, so that with --only some can be measured anew.
"""

from collections.abc import Callable
from typing import Any

import automatic_criteria as criteria
import automatic_judged as judged
import automatic_parts as parts
import numpy as np
import pages
from automatic_tables import (
    SETS,
    SEVEN,
    TEN,
    Found,
    Numbers,
    Plan,
    all_means,
    lines,
    mean_of,
    means,
    measure,
    table,
)

import twofold

MARKER = "<!-- measured by benchmarks/automatic.py: {} -->"

METHODS = {
    "TSNMF": "TSNMF, defaults",
    "pixels": "TSNMF, pixels",
    "AutoTSNMF": "**AutoTSNMF**",
    "oracle": "best candidate, by labels",
    "paper": "paper, by labels",
    "K-means": "K-means",
    "spectral clustering": "spectral clustering",
    "subspace clustering": "least-squares subspace clustering",
}
RIVALS = ("paper", "K-means", "spectral clustering", "subspace clustering")
LEVEL = 0.05
"""Points of difference that a table does not show."""


def judge(plan: Plan) -> list[str]:
    found = measure(judged.judged, plan)
    shown = [
        "TSNMF and AutoTSNMF are told the number of clusters. The best candidate has "
        "the highest accuracy, or NMI, among the previews of all candidates that "
        "AutoTSNMF compares, and its fit; regret is what the automatic choice falls "
        "short of it. The paper has the best of 245 settings by labels, on 5 and 10 "
        "persons of Extended Yale B a mean over random persons. K-means (10 starts), "
        'scikit-learn\'s SpectralClustering (`affinity="nearest_neighbors"`, 10 '
        "neighbours) and subspace clustering (ridge 0.1, 10 largest shares) see "
        "flattened pixels. The last column counts the sets of the seven.",
        *(judged_table(found, measured) for measured in ("accuracy", "NMI")),
        count_all(found),
    ]
    seconds = {
        row: {n: min(s[row]["seconds"] for s in seeds) for n, seeds in found.items()}
        for row in ("pixels", "TSNMF", "AutoTSNMF")
    }
    ratios = {
        f"{above} over {below}": {
            name: seconds[above][name] / seconds[below][name] for name in found
        }
        for above, below in (("TSNMF", "pixels"), ("AutoTSNMF", "TSNMF"))
    }
    rows = {f"{METHODS[row]}, seconds": times for row, times in seconds.items()}
    shown.append(table("on one core, the fastest seed", rows | ratios, digits=2))
    return shown


def judged_rows(found: dict[str, list[Found]], measured: str) -> dict[str, Numbers]:
    paper = parts.paper_figures(measured)
    return {
        row: {name: paper.get(name, np.nan) for name in found}
        if row == "paper"
        else means(found, row, measured)
        for row in METHODS
    }


def judged_table(found: dict[str, list[Found]], measured: str) -> str:
    rows = judged_rows(found, measured)
    ours = rows["AutoTSNMF"]
    regret = {name: rows["oracle"][name] - ours[name] for name in found}
    counts = {
        METHODS[row]: compared(ours, numbers)
        for row, numbers in rows.items()
        if row != "AutoTSNMF"
    }
    labelled = {METHODS[row]: numbers for row, numbers in rows.items()}
    return table(
        measured,
        {**labelled, "regret": regret},
        {"AutoTSNMF above, level, below": counts},
    )


def compared(ours: Numbers, theirs: Numbers) -> str:
    """On how many of the seven we are above, level and below."""
    apart = np.array([ours[n] - theirs[n] for n in SEVEN if n in ours])
    above, below = np.sum(apart > LEVEL), np.sum(apart < -LEVEL)
    return f"{above}, {np.sum(np.abs(apart) <= LEVEL)}, {below}"


def count_all(found: dict[str, list[Found]]) -> str:
    rows = judged_rows(found, "accuracy")
    short = {
        name: [
            METHODS[row]
            for row in RIVALS
            if rows["AutoTSNMF"][name] < rows[row][name] - LEVEL
        ]
        for name in SEVEN
        if name in found
    }
    count = sum(not above for above in short.values())
    but = "; ".join(f"{n}: {', '.join(above)}" for n, above in short.items() if above)
    return (
        "In accuracy AutoTSNMF is above or level with the paper's figure, K-means, "
        f"spectral and subspace clustering on {count} of {len(short)} of the seven"
        + (f" (it is below on {but})." if but else ".")
    )


def compare_criteria(plan: Plan) -> list[str]:
    found = measure(criteria.see, plan)
    picked = criteria.over_sets(found, criteria.accuracies)
    regrets = criteria.over_sets(found, criteria.regret)
    related = criteria.over_sets(found, criteria.correlation)
    ends = {
        "best look, by labels": {n: over(s, np.max) for n, s in found.items()},
        "looks, on average": {n: over(s, np.mean) for n, s in found.items()},
    }
    return [
        "The labels of the looks at all settings of the grid, before any fit: accuracy "
        "of the look that a criterion takes.",
        table("accuracy of what is taken", {**ends, **picked}),
        "Regret against the best look.",
        table("regret", regrets),
        "Correlation with NMI over the looks.",
        table("correlation", related, digits=2),
        *confirm(regrets, [name for name in SEVEN if name in found]),
        "Several looks taken together, instead of one: the graphs of all, or of the "
        f"{criteria.FEW} of the best scores, each divided by its total weight; and the "
        "spectral clusters of how often two images share a cluster.",
        together_table(found),
        "Hopeless corners of the grid are not looked at.",
        corners_table(found),
        *held_out_tables(found),
    ]


def over(seeds: criteria.Seeds, what: Callable[[np.ndarray], Any]) -> float:
    return float(np.mean([what(seen.accuracy) for seen in seeds]))


def confirm(regrets: dict[str, Numbers], sets: list[str]) -> list[str]:
    """A criterion is chosen on some sets and confirmed on the others."""
    if len(sets) < 2:
        return []
    head = ["chosen on", "criterion", "regret there", "on the others"]
    rows = [[*head, "the score on the others", "the best criterion on the others"]]
    for some, others in criteria.halves(sets):
        chosen = criteria.chosen_on(regrets, some)
        best = criteria.chosen_on(regrets, others)
        told = [(chosen, some), (chosen, others), (criteria.ADOPTED, others)]
        cells = [mean_of(regrets[label], on) for label, on in (*told, (best, others))]
        rows.append([", ".join(some), chosen, *(f"{cell:.1f}" for cell in cells)])
    splits = criteria.all_splits(sets)
    counts, mean = criteria.confirmed(regrets, splits)
    often = ", ".join(f"{label} {times}" for label, times in counts.most_common())
    return [
        "The criterion of the lowest mean regret on one half of the sets (every other "
        "one of the list), and its regret on the other half.",
        lines(rows),
        f"The same for all {len(splits)} ways to choose on one half and confirm on the "
        f"other. How often each was chosen: {often}. Mean regret on the sets that had "
        "no part in the choice: "
        + ", ".join(f"{value:.1f} {what}" for what, value in mean.items())
        + ".",
    ]


def together_table(found: dict[str, criteria.Seeds]) -> str:
    adopted = criteria.over_sets(found, criteria.accuracies)[criteria.ADOPTED]
    rows = {criteria.ADOPTED: adopted}
    for title in next(iter(found.values()))[0].together:
        rows[title] = {
            name: float(np.mean([seen.together[title] for seen in seeds]))
            for name, seeds in found.items()
        }
    return table("accuracy", rows)


def corners_table(found: dict[str, criteria.Seeds]) -> str:
    """What is lost by leaving out hopeless corners."""
    mean: dict[str, Callable[[criteria.Seen], float]] = {
        "looks left out": lambda seen: seen.skipped,
        "accuracy of the look that is taken": lambda seen: seen.accuracy[seen.kept],
        "the same, nothing left out": lambda s: s.accuracy[np.argmax(s.score)],
    }
    rows = {
        label: {name: float(np.mean(list(map(f, s)))) for name, s in found.items()}
        for label, f in mean.items()
    }
    return table("hopeless corners", rows)


def held_out_tables(found: dict[str, criteria.Seeds]) -> list[str]:
    """Of the sets for which it was measured."""
    small = {
        name: seeds
        for name, seeds in found.items()
        if not any(np.isnan(seen.held_out).any() for seen in seeds)
    }
    if not small:
        return []
    ways: dict[str, criteria.Criterion] = {
        "held-out pixels": lambda seen: seen.held_out,
        criteria.ADOPTED: criteria.CRITERIA[criteria.ADOPTED],
    }
    rows = {}
    for label, way in ways.items():
        for what, function in (
            ("accuracy", criteria.accuracies),
            ("regret", criteria.regret),
            ("correlation, percent", lambda s, c: 100 * criteria.correlation(s, c)),
        ):
            rows[f"{label}, {what}"] = {
                name: float(np.mean(function(seeds, way)))
                for name, seeds in small.items()
            }
    return [
        f"Held-out pixels, on sets of at most {criteria.SMALL} images: every setting "
        f"is fitted without {criteria.HELD_OUT:.0%} of the pixels, and that which "
        "draws them best is taken.",
        table("held-out pixels", rows),
    ]


def compare_graphs(plan: Plan) -> list[str]:
    found = measure(parts.graphs, plan)
    return [
        "The clusters of graphs before any iteration, with one setting for all sets: "
        "energy weight 1 where nothing else is said, r directions on each side, of "
        "which the digits have 8. The union adds the 5-neighbour heat graph and the "
        "self-expressive one, each divided by its total weight; the part that "
        "subspace has in it is 25, 50 or 75%, or that of the three whose clusters "
        "stand out most beyond chance.",
        table("accuracy", all_means(found, "accuracy")),
        table("NMI", all_means(found, "NMI")),
    ]


def compare_readings(plan: Plan) -> list[str]:
    read, restarted = measure(parts.readings, plan), measure(parts.restarts, plan)
    return [
        "Labels of the same fits, read off in several ways. At the defaults, but for "
        "what is said.",
        table("accuracy", all_means(read, "accuracy")),
        table("NMI", all_means(read, "NMI")),
        f"One start and {parts.STARTS} at the defaults, and which of them is kept.",
        table("accuracy", all_means(restarted, "accuracy")),
    ]


TABLES = {
    "judged": judge,
    "criteria": compare_criteria,
    "graphs": compare_graphs,
    "readings": compare_readings,
}


def report(name: str, plan: Plan) -> str:
    about = f"`make automatic`: twofold {twofold.__version__}, {len(plan.seeds)} seeds."
    return "\n\n".join([about, *TABLES[name](plan)])


def main() -> None:
    parser = pages.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=",".join(TABLES), help="tables, by commas")
    parser.add_argument("--sets", help="data sets, by commas")
    options = parser.parse_args()
    for name in options.only.split(","):
        # The other parts are about pixels, and of the ten sets.
        sets = SETS if name == "judged" else TEN
        chosen = options.sets.split(",") if options.sets else sets
        plan = Plan(chosen, range(options.seeds), options.jobs)
        pages.publish(report(name, plan), MARKER.format(name), options.into)


if __name__ == "__main__":
    main()
