"""What a model's server can cost by its answer alone: CPU time to read a megabyte of text, or a stream of
20,000 chunks, made for that.

Goal: under 1 s for any of them, so that no answer blocks a worker; a reader with backtracking would take minutes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from core.policies.tools import parse_response
from tests.support.model.answers import HOSTILE, answered, call, completion

SIZE = 1_000_000
REPEATS = 3
ARGUMENTS = {
    "one long text": '{"actions": "' + "x," * (SIZE // 2) + '"}',
    "lists in lists": "[" * SIZE,
    "objects in objects": '{"a":' * (SIZE // 5),
    "objects in a row": '{"actions": ["do"]}' * (SIZE // 19),
}
FRAGMENTS: dict[str, dict[str, Any]] = {
    "letters": {"tool_calls": [{"index": 0, "function": {"name": "interact", "arguments": "x"}}]},
    "opening braces": {"tool_calls": [{"index": 0, "function": {"name": "interact", "arguments": "{"}}]},
    "parts of content": {"content": [{"type": "text", "text": "x"}]},
}
CHUNKS = 20_000


def main() -> None:
    """A line for each kind, the slowest first."""
    taken = {f"text of {name}": read_text(piece * (SIZE // len(piece))) for name, piece in HOSTILE.items()}
    taken |= {f"arguments of {name}": read_arguments(text) for name, text in ARGUMENTS.items()}
    taken |= {f"stream of {name}": read_stream(delta) for name, delta in FRAGMENTS.items()}
    for name, milliseconds in sorted(taken.items(), key=lambda entry: -entry[1]):
        print(f"{name + ':':<36}{milliseconds:>7.0f} ms")
    print(f"slowest of {len(taken)}: {max(taken.values()):.0f} ms (goal 1,000 ms)")


def read_text(text: str) -> float:
    """Milliseconds of CPU time, with the text as both answer and reasoning."""
    return median(lambda: answered(text, reasoning_content=text))


def read_arguments(text: str) -> float:
    """Milliseconds of CPU time, with the text as a tool call's arguments."""
    body = completion(call(text))
    return median(lambda: parse_response({"status": 200, "headers": {}, "body": body}))


def read_stream(delta: dict[str, Any]) -> float:
    """Milliseconds of CPU time, for a stream that repeats one chunk."""
    stream = [{"choices": [{"index": 0, "delta": delta}]}] * CHUNKS
    return median(lambda: parse_response({"status": 200, "headers": {}, "stream": stream}))


def median(read: Callable[[], object]) -> float:
    """Milliseconds of CPU time."""
    return statistics.median(cpu_ms(read) for _ in range(REPEATS))


def cpu_ms(read: Callable[[], object]) -> float:
    """Of one call."""
    started = time.process_time()
    read()
    return (time.process_time() - started) * 1000


if __name__ == "__main__":
    main()
