"""`python -m core.service`: answer rollout requests over HTTP, or one from a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from core.errors import CraftscopeError, InvalidInput, RolloutError
from core.jobs import launch, wait_until_over
from core.requests import MAX_BYTES, answer, plan_request, read_request
from core.settings import ServiceSettings, Settings, load_service_settings, load_settings
from core.store import TraceStore
from core.text import visible
from core.types import EnvConfig

_HOST: Final = "127.0.0.1"
_PORT: Final = 8001


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: done; 1: the rollout failed; 2: not started, with the reason on standard error."""
    given = _parser().parse_args(arguments)
    try:
        settings, service = load_settings(), load_service_settings()
        with closing(TraceStore.from_settings(settings)) as store:
            if given.command == "rollout":
                return _rollout(store, settings, service, given.file, given.on_error)
            return _serve(store, settings, service, given.host, given.port)
    except RolloutError as error:
        sys.stderr.write(f"{visible(str(error))}\n")
        return 1
    except CraftscopeError as error:
        sys.stderr.write(f"{visible(str(error))}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core.service", description="Rollouts for trainers over HTTP.")
    commands = parser.add_subparsers(dest="command")
    for each in (parser, commands.add_parser("serve", help="answer requests until it is stopped (the default)")):
        each.add_argument("--host", default=_HOST, help=f"the address to listen on, {_HOST} by default")
        each.add_argument("--port", type=int, default=_PORT, help=f"{_PORT} by default")
    text = "Play one request from a file, without a server, and print the answer."
    rollout = commands.add_parser("rollout", help=text, description=text)
    rollout.add_argument("file", type=Path, metavar="REQUEST.json", help="the request; - for standard input")
    rollout.add_argument(
        "--on-error",
        choices=("record", "raise"),
        help="after a failure print what was played, or fail; by default record, in mode rl raise",
    )
    return parser


def _rollout(store: TraceStore, settings: Settings, service: ServiceSettings, file: Path, on_error: str | None) -> int:
    try:
        body = sys.stdin.buffer.read(MAX_BYTES + 1) if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{visible(str(file))} cannot be read ({error.strerror}).") from error
    read = read_request(body)
    planned = plan_request(read, EnvConfig(service.area, length=service.length))
    for warning in planned.warnings:
        sys.stderr.write(f"{visible(warning)}\n")
    launch(store, settings, planned.run)
    wait_until_over(store, settings, planned.run.id)
    raises = on_error == "raise" if on_error else read.request.mode == "rl"
    response = answer(store, planned, read.request, raise_failures=raises)
    sys.stdout.buffer.write(msgspec.json.encode(response) + b"\n")
    return 0


def _serve(store: TraceStore, settings: Settings, service: ServiceSettings, host: str, port: int) -> int:
    try:
        from core.service.server import serve  # noqa: PLC0415  its packages are an addition
    except ImportError as error:
        raise InvalidInput(
            f"The service needs more packages ({error.name} is missing): pip install -r requirements-service.txt"
        ) from error
    return serve(store, settings, service, host, port)


if __name__ == "__main__":
    sys.exit(main())
