"""Exports and imports: decisions a second, and the memory of a process that handles a million decisions.

Ten scripted episodes are recorded and exported again and again until as many decisions as asked for are written, each
format in a process of its own; importing reads one file of them under new ids. Goals: imports 2,000 decisions a
second, memory below 300 MB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from benchmarks.store import record
from core.env.rules import ENGINE_VERSION
from core.exports import FOLDERS, LINES, episode_json, folder_writer
from core.imports import Report, import_file
from core.rollout import NoRecorder, run_rollout
from core.store import EpisodeSummary, TraceStore
from core.types import EpisodeSpec, Limits, PolicySpec

EPISODES = 10
LENGTH = 500
IMPORTED = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=1_000_000, help="to export in each format")
    parser.add_argument("--formats", nargs="*", default=[*LINES, *FOLDERS])
    parser.add_argument("--child", nargs=3, metavar=("FORMAT", "URL", "OUT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        name, url, out = given.child
        transfer(name, url, out, given.decisions)
        return
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
        with TraceStore(url) as store:
            fill(store)
        for name in given.formats:
            out = os.devnull if name in LINES else str(Path(folder) / "out" / f"{name}-v0")
            in_child(name, url, out, given.decisions)
        path = Path(folder) / "episodes.jsonl"
        with TraceStore(url) as store:
            write_copies(store, path)
        in_child("import", f"sqlite:///{Path(folder) / 'other.db'}", str(path), IMPORTED)


def fill(store: TraceStore) -> None:
    for seed in range(EPISODES):
        limits = Limits(max_steps=LENGTH, max_decisions=LENGTH)
        spec = EpisodeSpec(seed, PolicySpec("scripted"), 0, limits=limits, engine_version=ENGINE_VERSION)
        (episode,) = run_rollout(spec, episode_id="source", run_id="source", recorder_for=lambda queued: NoRecorder())
        record(store, episode, f"run{seed}", f"episode{seed}")


def write_copies(store: TraceStore, path: Path) -> None:
    """A file of `IMPORTED` decisions or more, under new ids."""
    written = 0
    rows = store.episodes.page().rows
    with path.open("wb") as file:
        for number, row in enumerate(cycle(rows)):
            if written >= IMPORTED:
                return
            document = episode_json(store, row.id)
            file.write(document.replace(row.id.encode(), f"copy{number}".encode()) + b"\n")
            written += row.n_decisions


def in_child(*arguments: object) -> None:
    name, url, out, decisions = arguments
    command = [sys.executable, "-m", "benchmarks.transfer", "--decisions", str(decisions)]
    subprocess.run([*command, "--child", str(name), str(url), str(out)], check=True)


def transfer(name: str, url: str, out: str, wanted: int) -> None:
    """In a process of its own, so that its memory is that of this format alone."""
    with TraceStore(url) as store:
        began = time.perf_counter()
        if name == "import":
            report = Report()
            import_file(store, Path(out), report)
            decisions, goal = report.decisions, ", goal 2,000"
        else:
            counted = Repeated(store.episodes.page().rows, wanted)
            if name in FOLDERS:
                folder_writer(name)(store, counted, Path(out))
            else:
                with Path(out).open("wb") as file:
                    file.writelines(LINES[name](store, counted))
            decisions, goal = counted.decisions, ""
        seconds = time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    speed = f"{decisions:>9,} decisions, {decisions / seconds:>6,.0f} a second{goal}"
    print(f"{name:<8} {speed}; {peak_mb:.0f} MB (goal: 300)")


class Repeated:
    """The same episodes again and again."""

    def __init__(self, rows: tuple[EpisodeSummary, ...], wanted: int) -> None:
        self.decisions = 0
        self._rows = rows
        self._wanted = wanted

    def __iter__(self) -> Iterator[EpisodeSummary]:
        for row in cycle(self._rows):
            if self.decisions >= self._wanted:
                return
            self.decisions += row.n_decisions
            yield replace(row)


if __name__ == "__main__":
    main()
