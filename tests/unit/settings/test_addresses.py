"""Settings of addresses: the server's own, and those of git hosts' APIs."""

from typing import Any

import pytest

from dashwright.common.settings import Settings


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, "http://127.0.0.1:3000"),
        ({"http_host": "::1", "http_port": 8443, "tls": "self-signed"}, "https://[::1]:8443"),
        ({"public_url": "https://boards.example.com/"}, "https://boards.example.com"),
        ({"public_url": "https://example.com/boards/"}, "https://example.com/boards"),
    ],
)
def test_the_public_address_is_that_of_the_setting_or_the_listener(value: dict[str, Any], expected: str) -> None:
    """The public address is that of the setting or of the listener, without a trailing slash."""
    assert Settings(**value).public_address == expected


@pytest.mark.parametrize("value", ["boards.example.com", "ftp://example.com", "https://", "https://a?b=c", "https://u:p@a", "https://a:0"])
def test_invalid_addresses_are_rejected(value: str) -> None:
    """A public address has the scheme HTTP or HTTPS, a host and a valid port, and neither a query nor credentials."""
    with pytest.raises(ValueError, match="is not an address"):
        Settings(public_url=value)


def test_apis_are_named_by_their_hosts() -> None:
    """The setting maps the host of a repository to the address of its API. An empty address means that the host has no API."""
    assert Settings(git_host_apis="git.example.com=https://api.example.com/,Other:8443=").git_host_apis == {
        "git.example.com": "https://api.example.com",
        "other:8443": "",
    }


def test_an_api_may_have_a_kind() -> None:
    """The setting may give the kind of a host alone, or its kind and the address of its API."""
    assert Settings(git_host_apis="a.example.com=gitlab,b.example.com=gitea+https://b.example.com/git/api/v1/").git_host_apis == {
        "a.example.com": "gitlab",
        "b.example.com": "gitea+https://b.example.com/git/api/v1",
    }


@pytest.mark.parametrize(
    "value", ["git.example.com", "=https://a", "a=b", "a=gitlab+", "a=gitlab+x", "a=other+https://a", "a=Gitlab", "a=+https://a"]
)
def test_an_api_without_host_or_address_is_refused(value: str) -> None:
    """An entry without a host, with an unknown kind or with an invalid address is an error that shows the correct form."""
    with pytest.raises(ValueError, match="host=https://address"):
        Settings(git_host_apis=value)
