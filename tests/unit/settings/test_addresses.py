"""Settings that name addresses: our own, and those of git hosts' APIs."""

from typing import Any

import pytest

from dashwright.common.settings import Settings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "http://127.0.0.1:3000"),
        ({"http_host": "::1", "http_port": 8443, "tls": "self-signed"}, "https://[::1]:8443"),
        ({"public_url": "https://boards.example.com/"}, "https://boards.example.com"),
        ({"public_url": "https://example.com/boards/"}, "https://example.com/boards"),
    ],
)
def test_we_are_found_where_the_setting_says_or_where_we_listen(given: dict[str, Any], expected: str) -> None:
    """Without a slash at the end."""
    assert Settings(**given).public_address == expected


@pytest.mark.parametrize("given", ["boards.example.com", "ftp://example.com", "https://", "https://a?b=c", "https://u:p@a", "https://a:0"])
def test_what_is_no_address_of_ours_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Settings(public_url=given)


def test_apis_are_named_by_their_hosts() -> None:
    """An empty address means no address."""
    assert Settings(git_host_apis="git.example.com=https://api.example.com/,Other:8443=").git_host_apis == {
        "git.example.com": "https://api.example.com",
        "other:8443": "",
    }


@pytest.mark.parametrize("given", ["git.example.com", "=https://a", "a=b"])
def test_an_api_without_host_or_address_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="host=https://address"):
        Settings(git_host_apis=given)
