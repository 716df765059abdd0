"""Read damaged files in a process of its own, which may die of one of them."""

import argparse
import faulthandler
import hashlib
import itertools
import pkgutil
import random
import resource
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from fuzz.mutation import damaged


def failure_of(target, path, expected, seconds):
    """Read a file; return what went wrong, or None for what may happen."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + target.memory, most))
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        target.read(path)
    except expected as error:
        return f"a message of several lines: {error}" if "\n" in str(error) else None
    except BaseException:
        return traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return None


def keep(folder, name, target, content, reason):
    """Write a file that a reader fails on, and why, to the folder of crashes."""
    stem = f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}{Path(target.file).suffix}"
    path.write_bytes(content)
    path.with_name(f"{path.name}.txt").write_text(reason, encoding="utf-8")
    print(f"failed {path}", flush=True)


def cases(targets, seed, begin, end):
    """Yield cases by number: the name of the target, and the damaged file."""
    seeds = {name: target.seeds() for name, target in targets.items()}
    names = list(targets)
    for i in itertools.count(begin):
        if i == end:
            break
        name = names[i % len(names)]
        rng = random.Random(f"{seed}/{name}/{i}")
        yield i, name, targets[name].finish(damaged(rng, seeds[name]))


def kept_cases(folder, begin):
    """Yield the files of a folder of crashes, whose names begin with their target."""
    files = sorted(p for p in folder.iterdir() if p.suffix not in (".txt", ".md"))
    for i, path in list(enumerate(files))[begin:]:
        yield i, path.name.rpartition("-")[0], path.read_bytes()


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("registry", help="module:name of the targets")
    parser.add_argument("crashes", type=Path, help="folder of the failures")
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--seed", default="0")
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--end", type=int)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seconds-each", type=float, default=30)
    parser.add_argument("--replay", type=Path, help="read the files of a folder")
    return parser.parse_args()


def main():
    options = read_options()
    warnings.simplefilter("ignore")
    registry = pkgutil.resolve_name(options.registry)
    expected = pkgutil.resolve_name(options.registry.partition(":")[0] + ":EXPECTED")
    targets = {k: registry[k] for k in options.only or registry}
    found = cases(targets, options.seed, options.begin, options.end)
    if options.replay:
        found = kept_cases(options.replay, options.begin)
    # A process that dies leaves its file here for the one that started it.
    current = options.crashes / "current"
    current.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds
    for i, name, content in found:
        if time.monotonic() > end:
            break
        (current / "content").write_bytes(content)
        (current / "target").write_text(name)
        print(f"case {i}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / targets[name].file
            path.write_bytes(content)
            reason = failure_of(targets[name], path, expected, options.seconds_each)
        if reason:
            keep(options.crashes, name, targets[name], content, reason)


if __name__ == "__main__":
    main()
