"""The dashboard: `streamlit run app.py`. Streamlit imports this file once to serve it, and runs it for every page."""

from pathlib import Path

import streamlit as st

from core.errors import CraftscopeError
from pages.components.browser.history import one_history_entry_per_page
from pages.components.browser.styles import base_styles
from pages.components.shared.server import starting
from pages.components.shared.state import show_read_only, stop_with

_LOGO = Path(__file__).parent / "pages" / "components" / "logo.svg"


def main() -> None:
    """The router."""
    st.set_page_config(page_title="Craftscope", page_icon=str(_LOGO), layout="wide")
    st.logo(str(_LOGO), size="large")
    base_styles()
    one_history_entry_per_page()

    # The default page's URL is `/`. It would take `/traces` too, and not answer there.
    traces = st.Page("pages/traces.py", title="Traces", url_path="home", default=True)

    def go_to_traces() -> None:
        """For those who type `/traces`."""
        st.switch_page(traces, query_params={name: st.query_params.get_all(name) for name in st.query_params})

    page = st.navigation(
        [
            traces,
            st.Page("pages/launch.py", title="Launch", url_path="launch"),
            st.Page("pages/run.py", title="Runs", url_path="run"),
            st.Page("pages/lab.py", title="Lab", url_path="lab"),
            st.Page("pages/episode.py", title="Episode", url_path="episode"),
            st.Page("pages/present.py", title="Present", url_path="present", visibility="hidden"),
            st.Page(go_to_traces, title="Traces", url_path="traces", visibility="hidden"),
        ],
        position="top",
    )
    try:
        show_read_only()
        page.run()
    except CraftscopeError as error:  # what a page did not expect is still a sentence, not a traceback
        stop_with("This page cannot be shown", error)


if __name__ == "__main__":
    main()
else:
    server = st.App(__file__, lifespan=starting)
