"""Page tests and tests that start processes can share a pytest process."""

from __future__ import annotations

import sys

from streamlit.testing.v1 import AppTest

from tests.support.processes import forks, start

_main = sys.modules["__main__"]


def test_a_process_starts_after_a_page_has_replaced_the_main_module():
    AppTest.from_function(_page).run()
    assert sys.modules["__main__"] is not _main
    receiver, sender = forks.Pipe(duplex=False)
    process = start(sender.send, "started")
    assert receiver.recv() == "started"
    process.join()
    receiver.close()
    sender.close()


def test_the_main_module_is_restored_after_a_page_test():
    assert sys.modules["__main__"] is _main


def _page() -> None:
    import streamlit  # noqa: PLC0415  AppTest runs this function's source on its own

    streamlit.write("A page")
