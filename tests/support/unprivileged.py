"""File modes mean nothing to root. This lets tests meet them all the same."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Work as a user without rights where root runs the tests."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(_NOBODY, _NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A new folder that every user can reach; pytest's own belong to one user alone."""
    with tempfile.TemporaryDirectory(prefix="craftscope-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            folder.chmod(0o755)
