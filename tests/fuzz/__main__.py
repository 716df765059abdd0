"""Read damaged files for a while: ``make fuzz SECONDS=60``."""

import argparse
import sys
import time
from pathlib import Path

from fuzz.campaign import campaign

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--only", nargs="*", default=(), help="targets, by name")
    parser.add_argument("--crashes", type=Path, default=Path("fuzz-crashes"))
    options = parser.parse_args()
    only = ["--only", *options.only] if options.only else []
    arguments = [f"--seed={options.seed}", *only]
    n_failed, n_read = campaign(options.crashes, *arguments, seconds=options.seconds)
    print(f"seed {options.seed}: {n_read} files, {n_failed} failed")
    if n_failed:
        print(f"They are in {options.crashes}; see tests/fuzz/crashes/README.md")
    sys.exit(1 if n_failed else 0)
