"""A test that needs what is not installed is skipped, which the end of a run explains, and fails under CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

NEEDS_A_BROWSER = "tests/browser/test_launch_reload.py"


def run_without_programs(tmp_path: Path, *, ci: bool) -> subprocess.CompletedProcess[str]:
    """pytest on a browser test, where no program is on the PATH."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"PATH": str(tmp_path)}
    in_a_worker = [] if ci else ["-n", "1", "--dist", "loadfile"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", NEEDS_A_BROWSER, "-p", "no:cacheprovider", *in_a_worker],
        cwd=ROOT,
        env=environment | ({"CI": "true"} if ci else {}),
        capture_output=True,
        text=True,
    )


def test_the_end_of_a_run_names_what_was_skipped_and_how_to_enable_it(tmp_path: Path):
    run = run_without_programs(tmp_path, ci=False)
    assert run.returncode == 0, run.stdout
    end = run.stdout[run.stdout.index("what was not run") :]
    assert "apt-get install chromium (1 skipped)" in end
    assert "make real-model" in end


def test_a_skipped_test_fails_under_ci(tmp_path: Path):
    run = run_without_programs(tmp_path, ci=True)
    assert run.returncode == 1, run.stdout
    assert "Skipped, which counts as failed under CI" in run.stdout
    assert "apt-get install chromium" in run.stdout
