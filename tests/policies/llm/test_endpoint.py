"""An address is understood however it is written, and no piece of a key stays in a text."""

from __future__ import annotations

import pytest

from core.errors import InvalidConfig
from core.policies.llm.endpoint import checked_key_name, endpoint_of, without_key

KEY = "sk-test-9f8e7d6c5b4a3210"


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("api.openai.com", "https://api.openai.com/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
        ("https://api.groq.com/openai/v1/chat/completions", "https://api.groq.com/openai/v1"),
        ("https://api.groq.com/openai/v1/", "https://api.groq.com/openai/v1"),
        (" http://[::1]:9/v1 ", "http://[::1]:9/v1"),
    ],
)
def test_an_address_is_understood_however_it_is_written(url: str, base_url: str) -> None:
    assert endpoint_of(url).base_url == base_url


def test_a_query_is_kept() -> None:
    endpoint = endpoint_of("https://host/v1/chat/completions?cid=trace_7&empty=")
    assert endpoint.base_url == "https://host/v1"
    assert endpoint.query == {"cid": "trace_7", "empty": ""}


@pytest.mark.parametrize(
    "url", ["", "   ", "ftp://host/v1", "http://", "http://user:pw@host/v1", "http://ho st/v1", "http://host:x", "//"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidConfig, match="base URL"):
        endpoint_of(url)


def test_only_hosts_on_the_list_may_be_asked() -> None:
    allowed = ("api.openai.com", "127.0.0.1:8080")
    assert endpoint_of("https://API.openai.com/v1", allowed_hosts=allowed).host == "api.openai.com"
    assert endpoint_of("http://127.0.0.1:8080", allowed_hosts=allowed).host == "127.0.0.1:8080"
    for url in ("http://127.0.0.1:9090", "https://evil.example/v1", "https://api.openai.com.evil.example"):
        with pytest.raises(InvalidConfig, match="not on the list"):
            endpoint_of(url, allowed_hosts=allowed)


@pytest.mark.parametrize("name", ["sk-test-9f8e7d6c", "two words", "1ST", "CRAFTSCOPE_DB_URL", "x" * 65, "a\nb"])
def test_a_key_or_a_setting_is_no_name_of_a_key(name: str) -> None:
    with pytest.raises(InvalidConfig):
        checked_key_name(name)


def test_an_endpoint_does_not_show_its_key() -> None:
    assert KEY not in repr(endpoint_of("http://host", KEY))


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Incorrect API key provided: {KEY[:10]}*****{KEY[-7:]}",
        f"{KEY}{KEY}",
        f"x{KEY[3:9]}y",
        "nothing of it",
    ],
)
def test_no_six_characters_of_a_key_stay_in_a_text(text: str) -> None:
    cleaned = without_key(text, KEY)
    assert not any(KEY[at : at + 6] in cleaned for at in range(len(KEY) - 5))
    assert cleaned == text or "[key removed]" in cleaned


def test_what_is_around_a_key_stays() -> None:
    assert without_key(f"before {KEY} after", KEY) == "before [key removed] after"
