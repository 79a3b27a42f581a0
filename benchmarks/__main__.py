"""Every benchmark in turn: `python -m benchmarks [name ...]`. Figures are medians or ratios of this one run."""

from __future__ import annotations

import argparse
import subprocess
import sys

NAMES = (
    "engine",
    "exactness",
    "random_table",
    "scripted",
    "rollout",
    "store",
    "rescore",
    "across",
    "hostile",
    "dashboard",
    "service",
    "transfer",
    "batch",
)


def main() -> int:
    """Run the named benchmarks, or all; the number of those that failed is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which ones, of {', '.join(NAMES)}; all when none is given")
    names = parser.parse_args().names or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    failed = 0
    for name in names:
        print(f"\n== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
