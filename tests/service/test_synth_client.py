"""synth-ai's own client against the service. `make synth-client` installs it and runs this."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.service import KEY, RunningService

pytestmark = pytest.mark.synth_client

SCRIPT = Path(__file__).parents[1] / "support" / "synth_client.py"


def test_the_clients_own_types_accept_every_answer(service: RunningService):
    python = os.environ["SYNTH_PYTHON"]
    done = subprocess.run([python, "-P", str(SCRIPT), service.url, KEY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
