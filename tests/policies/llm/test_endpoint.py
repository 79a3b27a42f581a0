"""An address is understood however it is written, and one that is none is refused in words."""

from __future__ import annotations

import pytest

from core.errors import InvalidConfig
from core.policies.llm.endpoint import check_key_server, checked_key_name, endpoint_of, server_of

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


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("api.openai.com", "https://api.openai.com"),
        ("https://API.openai.com:443/v1?cid=1", "https://api.openai.com"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://host:80", "http://host"),
        ("https://host:80", "https://host:80"),
        ("http://[::1]:9/v1", "http://[::1]:9"),
        ("http://user:pw@host", ""),
        ("", ""),
    ],
)
def test_a_server_is_named_by_scheme_host_and_port(url: str, server: str) -> None:
    assert server_of(url) == server


@pytest.mark.parametrize("url", ["https://api.openai.com/v2", "api.openai.com", "https://api.openai.com:443"])
def test_a_key_may_go_to_another_path_of_its_server(url: str) -> None:
    check_key_server("A_KEY", "https://api.openai.com/v1", endpoint_of(url))


@pytest.mark.parametrize(
    "url", ["https://api.openai.com.evil.example", "http://api.openai.com", "https://api.openai.com:8443", "10.0.0.1"]
)
def test_a_key_may_not_go_to_another_host_port_or_scheme(url: str) -> None:
    with pytest.raises(InvalidConfig, match="a key is sent only to the server that it was named for"):
        check_key_server("A_KEY", "https://api.openai.com/v1", endpoint_of(url))


@pytest.mark.parametrize(
    "name",
    ["gsk_Zq83hT5vKp21xWmBgsk", "hf_aBcDeFgHiJkLmNoPqRsT1", "AIzaSyA1b2C3d4E5f6G7h8", "deadbeefdeadbeef01234567"],
)
def test_a_key_that_could_be_a_name_is_known_by_its_looks(name: str) -> None:
    with pytest.raises(InvalidConfig, match="not the key itself"):
        checked_key_name(name)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "my_openai_key_2024", "K8S_MODEL_KEY_1", "SOMETHINGLONG1234567"])
def test_a_name_that_people_give_is_none(name: str) -> None:
    assert checked_key_name(name) == name


@pytest.mark.parametrize("name", ["sk-test-9f8e7d6c", "two words", "1ST", "CRAFTSCOPE_DB_URL", "x" * 65, "a\nb"])
def test_a_key_or_a_setting_is_no_name_of_a_key(name: str) -> None:
    with pytest.raises(InvalidConfig):
        checked_key_name(name)


def test_an_endpoint_does_not_show_its_key() -> None:
    assert KEY not in repr(endpoint_of("http://host", KEY))


@pytest.mark.parametrize(
    "url",
    [
        "http://\u200bexample.com/v1",
        "http://exa\u202emple.com/v1",
        f"http://{'a' * 64}.com",
        "http://host:0/v1",
        "http:/host",
        "https:host/v1",
        "http://host/v1?api_key=sk-1",
        "http://host/v1?Token=abc",
    ],
)
def test_an_address_that_cannot_be_asked_or_holds_a_key_is_refused_in_words(url: str) -> None:
    with pytest.raises(InvalidConfig, match="The base URL"):
        endpoint_of(url)


def test_what_is_compared_with_the_list_is_what_is_asked() -> None:
    """Case folding makes ss of a sharp s, which is another domain."""
    with pytest.raises(InvalidConfig, match="not on the list"):
        endpoint_of("https://mi\u00dfi\u00dfippi.ai/v1", allowed_hosts=["mississippi.ai"])
    assert endpoint_of("https://MISSISSIPPI.ai./v1", allowed_hosts=["mississippi.ai"]).host == "mississippi.ai."
