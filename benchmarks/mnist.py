"""All 70,000 MNIST digits on a GPU: accuracy, NMI and seconds, into docs/automatic.md.

The search chooses on a sample; the choice is fitted to all.
"""

import time
from typing import Any

import pages
from automatic_parts import scored
from defaults import load

from twofold import TSNMF, AutoTSNMF
from twofold.channels import PIXELS, OrientedGradients

MARKER = "<!-- measured by benchmarks/mnist.py -->"


def main() -> None:
    parser = pages.parser(__doc__)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    images, target = load("mnist")
    begin = time.perf_counter()
    OrientedGradients().transform(images)
    seconds = time.perf_counter() - begin
    same: dict[str, Any] = {"random_state": 0, "device": options.device}
    models: dict[str, Any] = {
        "AutoTSNMF": AutoTSNMF(
            10, estimator=TSNMF(device=options.device), random_state=0
        ),
        "TSNMF, defaults": TSNMF(10, **same),
        "TSNMF, pixels": TSNMF(10, channels=PIXELS, **same),
    }
    lines = ["| one seed | accuracy | NMI | seconds |", "| --- " * 4 + "|"]
    for name, model in models.items():
        begin = time.perf_counter()
        scores = scored(target, model.fit_predict(images))
        took = time.perf_counter() - begin
        cells = f"{scores['accuracy']:.1f} | {scores['NMI']:.1f} | {took:.0f}"
        lines.append(f"| {name} | {cells} |")
    lines.append(f"| gradients alone, on the CPU | | | {seconds:.1f} |")
    pages.publish("\n".join(lines), MARKER, options.into)


if __name__ == "__main__":
    main()
