"""Processes that a test starts and may kill."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from types import ModuleType
from typing import Any

forks = multiprocessing.get_context("forkserver")
forks.set_forkserver_preload(["core.store", "core.worker", "tests.support.records"])


def start(target: Callable[..., None], *args: Any) -> ForkServerProcess:
    """Run `target(*args)` in a process of its own.

    multiprocessing makes a child run its parent's main module first. Streamlit's AppTest puts a script of its own in
    that place, so the child gets an empty module instead.
    """
    process = forks.Process(target=target, args=args)
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process
