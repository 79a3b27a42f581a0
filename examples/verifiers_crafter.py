"""Crafter as the openenv taskset of verifiers: an evaluation of a model over two seeds.

    make serve                                                        # in another terminal
    python -m venv .venv-verifiers && .venv-verifiers/bin/pip install -r examples/requirements-verifiers.txt
    .venv-verifiers/bin/python examples/verifiers_crafter.py --model-url http://127.0.0.1:8000/v1 --model my-model

Without --model-url a stand-in answers, which always does the same. The rewards are those of the service's step rewards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CONFIG = """
model = {model}
push = false
output_dir = {out}

[client]
base_url = {model_url}
api_key_var = "MODEL_KEY"

[env.taskset]
id = "openenv"
base_url = {openenv}
resets = [{{ seed = 1 }}, {{ seed = 2 }}]

[env.player]
max_turns = {turns}
harness = {{ id = "null" }}
runtime = {{ type = "subprocess" }}
"""
ANSWER = '{"actions": ["do", "move_left"]}'


class StandIn(BaseHTTPRequestHandler):
    """A model that always answers the same, as a stream."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.send({"role": "assistant", "content": ANSWER}, None)
        self.send({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def send(self, delta: dict[str, str], finish_reason: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service", default="http://127.0.0.1:8001", help="where `make serve` listens")
    parser.add_argument("--model-url", help="a chat-completions server; its key is read from MODEL_KEY")
    parser.add_argument("--model", default="stand-in")
    parser.add_argument("--turns", type=int, default=5, help="decisions of an episode")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        nullcontext() if given.model_url else ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server,
    ):
        url = given.model_url
        if server is not None:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/v1"
        values = {
            "model": given.model,
            "model_url": url,
            "openenv": f"{given.service}/openenv",
            "out": f"{folder}/out",
            "turns": given.turns,
        }
        config = Path(folder) / "crafter.toml"
        config.write_text(CONFIG.format(**{name: json.dumps(value) for name, value in values.items()}), "utf-8")
        program = Path(sys.executable).with_name("vf-eval")
        environment = {"MODEL_KEY": "none", **os.environ}
        subprocess.run([program, "@", config], cwd=folder, env=environment, check=True)
        for path in Path(folder).rglob("traces.jsonl"):
            for line in path.read_text("utf-8").splitlines():
                episode = json.loads(line)
                seed = episode["task"]["data"]["reset"]["seed"]
                print({"seed": seed, "ok": episode["ok"], "rewards": [t.get("rewards") for t in episode["traces"]]})
        if server is not None:
            server.shutdown()


if __name__ == "__main__":
    main()
