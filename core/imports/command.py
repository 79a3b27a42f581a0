"""`python -m core.imports FILE...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from core.errors import CraftscopeError
from core.imports.reports import UNNAMED_POLICY, Report, import_file
from core.settings import load_settings
from core.store import TraceStore
from core.text import visible


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: all came in or were there already; 1: something could not be read; 2: nothing could be stored."""
    parser = argparse.ArgumentParser(
        prog="python -m core.imports",
        description="Import exported episodes (JSON, JSONL, or a zip file of them), Minari datasets of "
        "Craftscope/Crafter-v1 (a folder, or a zip file of it), what crafter.Recorder writes (.npz, stats.jsonl), "
        "and databases of synth-ai's tracing (version 3). Importing twice changes nothing.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--policy", default=UNNAMED_POLICY, metavar="NAME", help="of recordings that do not name theirs"
    )
    given = parser.parse_args(arguments)
    report = Report()
    try:
        with closing(TraceStore.from_settings(load_settings())) as store:
            for path in given.files:
                with tqdm(desc=visible(path.name), unit=" episodes", disable=None) as bar:
                    import_file(store, path, report, policy=given.policy, looked_at=bar.update)
                sys.stderr.write(f"{visible(path.name)}: {report.sentence}\n")
    except CraftscopeError as error:
        sys.stderr.write(f"{visible(str(error))}\n")
        return 2
    for problem in report.problems:
        sys.stderr.write(f"{problem}\n")
    print(report.sentence)
    return 1 if report.failed else 0
