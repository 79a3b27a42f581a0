"""A base URL is normalised, an invalid one is refused, and a key is sent to its own server only."""

from __future__ import annotations

import pytest

from core.errors import InvalidConfig
from core.policies.llm.endpoint import endpoint_of, key_to_send, keys_for
from core.settings import PROVIDER_KEYS

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
def test_a_base_url_is_normalised(url: str, base_url: str):
    assert endpoint_of(url).base_url == base_url


def test_a_query_is_kept():
    endpoint = endpoint_of("https://host/v1/chat/completions?cid=trace_7&empty=")
    assert endpoint.base_url == "https://host/v1"
    assert endpoint.query == {"cid": "trace_7", "empty": ""}


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "   ",
            "ftp://host/v1",
            "http://",
            "http://ho st/v1",
            "http://host:x",
            "//",
            "http:/host",
            "https:host/v1",
        ),
        *("http://\u200bexample.com/v1", "http://exa\u202emple.com/v1", f"http://{'a' * 64}.com", "http://host:0/v1"),
        *("http://user:pw@host/v1", "http://host/v1?api_key=sk-1", "http://host/v1?Token=abc"),
    ],
)
def test_an_invalid_base_url_or_one_with_a_key_is_refused(url: str):
    with pytest.raises(InvalidConfig, match="base URL"):
        endpoint_of(url)


def test_only_hosts_on_the_list_are_allowed():
    allowed = ("api.openai.com", "127.0.0.1:8080")
    assert endpoint_of("https://API.openai.com/v1", allowed_hosts=allowed).host == "api.openai.com"
    assert endpoint_of("http://127.0.0.1:8080", allowed_hosts=allowed).host == "127.0.0.1:8080"
    for url in ("http://127.0.0.1:9090", "https://evil.example/v1", "https://api.openai.com.evil.example"):
        with pytest.raises(InvalidConfig, match="not on the list of allowed"):
            endpoint_of(url, allowed_hosts=allowed)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("api.openai.com", "https://api.openai.com"),
        ("https://API.openai.com.:443/v1?cid=1", "https://api.openai.com"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://host:80", "http://host"),
        ("https://host:80", "https://host:80"),
        ("http://[0:0:0:0:0:0:0:1]:9/v1", "http://[::1]:9"),
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_a_server_is_named_by_scheme_host_and_port(url: str, server: str):
    assert endpoint_of(url).server == server


# --------------------------------------------------------------------------------------- which key may go where


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "CRAFTSCOPE_KEYS",
        "LAB_KEY=models.lab.example:8000, HOME_KEY=[::1]:9, HOME_KEY=b\u00fccher.example, NOT_SET_KEY=api.x.ai",
    )
    for name in PROVIDER_KEYS:
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "LAB_KEY", "HOME_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("api.openai.com", ("OPENAI_API_KEY",)),
        ("https://API.openai.com.:443/v1/chat/completions?cid=1", ("OPENAI_API_KEY",)),
        ("http://models.lab.example:8000", ("LAB_KEY",)),
        ("https://models.lab.example:8000/v2", ("LAB_KEY",)),
        ("http://[0:0:0:0:0:0:0:1]:9", ("HOME_KEY",)),
        ("https://xn--bcher-kva.example", ("HOME_KEY",)),
        ("http://api.openai.com", ()),
        ("https://api.openai.com:8443", ()),
        ("https://api.openai.com.evil.example", ()),
        ("https://api.openai.com@evil.example", ()),
        ("https://evil.example/api.openai.com", ()),
        ("https://evil.example#@api.openai.com", ()),
        ("https://evil.example\\@api.openai.com", ()),
        ("https://api.openai.com%2eevil.example", ()),
        ("https://openai.com", ()),
        ("models.lab.example", ()),
        ("http://models.lab.example:80", ()),
        ("http://[::2]:9", ()),
        ("http://127.0.0.1:9", ()),
        ("https://bucher.example", ()),
        ("not a url", ()),
        ("", ()),
    ],
)
def test_only_the_keys_paired_with_a_server_are_offered(pairs: None, url: str, names: tuple[str, ...]):
    assert tuple(keys_for(url)) == names


def test_keys_that_are_not_set_are_marked(pairs: None):
    assert keys_for("https://api.x.ai") == {"NOT_SET_KEY": False, "XAI_API_KEY": False}


@pytest.mark.parametrize(
    ("name", "url", "reason"),
    [
        ("OPENAI_API_KEY", "https://evil.example", "may be sent to api.openai.com only"),
        ("OPENAI_API_KEY", "http://api.openai.com", "the base URL leads to http://api.openai.com"),
        ("LAB_KEY", "https://api.openai.com", "CRAFTSCOPE_KEYS=LAB_KEY=api.openai.com"),
        ("AWS_SECRET_ACCESS_KEY", "https://evil.example", "The key AWS_SECRET_ACCESS_KEY is paired with no host"),
        ("CRAFTSCOPE_DB_URL", "https://evil.example", "never read"),
        ("PATH", "https://evil.example", "never read"),
    ],
)
def test_no_other_variable_is_read_and_no_key_goes_to_another_server(
    pairs: None, monkeypatch: pytest.MonkeyPatch, name: str, url: str, reason: str
):
    monkeypatch.setenv(name, KEY)
    with pytest.raises(InvalidConfig, match=reason) as caught:
        key_to_send(name, endpoint_of(url))
    assert "Choose a key of this server, or none" in str(caught.value) and KEY not in str(caught.value)


def test_a_key_entered_instead_of_its_name_is_not_shown(pairs: None):
    with pytest.raises(InvalidConfig) as caught:
        key_to_send(KEY, endpoint_of("https://api.openai.com"))
    assert KEY not in str(caught.value)


def test_a_name_in_craftscope_keys_replaces_its_built_in_pair(pairs: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "OPENAI_API_KEY=https://proxy.lab.example/openai")
    assert keys_for("https://proxy.lab.example/v1") == {"OPENAI_API_KEY": True}
    assert keys_for("https://api.openai.com") == {}


def test_a_pair_whose_host_cannot_exist_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRAFTSCOPE_KEYS", "LAB_KEY=user@lab")
    with pytest.raises(InvalidConfig, match="CRAFTSCOPE_KEYS pairs LAB_KEY with 'user@lab', which is not a host"):
        keys_for("https://lab")


def test_an_endpoint_does_not_show_its_key():
    assert KEY not in repr(endpoint_of("http://host", KEY))


def test_the_host_that_is_looked_up_is_compared_with_the_list():
    """Case folding would turn a sharp s into ss, which is another domain."""
    with pytest.raises(InvalidConfig, match="not on the list of allowed"):
        endpoint_of("https://mi\u00dfi\u00dfippi.ai/v1", allowed_hosts=["mississippi.ai"])
    assert endpoint_of("https://MISSISSIPPI.ai./v1", allowed_hosts=["mississippi.ai"]).host == "mississippi.ai."
