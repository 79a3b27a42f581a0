"""Page tests and tests that start processes can share a pytest process."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.processes import forks, start


@pytest.fixture(scope="module")
def main_module_is_restored() -> Iterator[None]:
    main = sys.modules["__main__"]
    yield
    assert sys.modules["__main__"] is main, "A page's test left another main module."


def test_a_process_starts_after_a_page_has_replaced_the_main_module(main_module_is_restored: None):
    main = sys.modules["__main__"]
    AppTest.from_function(_page).run()
    assert sys.modules["__main__"] is not main
    receiver, sender = forks.Pipe(duplex=False)
    process = start(sender.send, "started")
    assert receiver.recv() == "started"
    process.join()
    receiver.close()
    sender.close()


def _page() -> None:
    import streamlit  # noqa: PLC0415  AppTest runs this function's source on its own

    streamlit.write("A page")
