"""Paths to which a short URL may redirect."""

import re
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.relative_paths import MAX_LENGTH, checked_relative_path
from dashwright.common.errors import BadRequest

SERVER = "https://dashboards.example.com"
# Parts from which paths to other servers could be made.
PARTS = st.sampled_from(
    ["/", "\\", "//", "..", ".", ":", "@", "evil.example", "http", "https:", "javascript:", "\t", "\n", "%2f", "%5c", "?", "#", "ä"]
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("d/abc", "d/abc"),
        ("d/abc/a-title?orgId=1&from=now-1h&to=now#panel", "d/abc/a-title?orgId=1&from=now-1h&to=now#panel"),
        ("explore?left=%7B%22a%22:1%7D", "explore?left=%7B%22a%22:1%7D"),
        ("d/ä", "d/%C3%A4"),
        ("d/a?time=12:30", "d/a?time=12:30"),
        ("?a=b", "?a=b"),
    ],
)
def test_relative_paths_are_percent_encoded(path: str, expected: str) -> None:
    """Percent-encoded and ASCII characters of a relative path are unchanged, and other characters are encoded."""
    assert checked_relative_path(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        # Absolute paths, and addresses of other servers.
        *("", "/d/abc", "//evil.example", "\\evil.example", "\t/evil.example", "\n//evil.example", " /evil.example"),
        *("http://evil.example", "https:evil.example", "javascript:alert(1)", "JavaScript:alert(1)"),
        # Parent directories.
        *("../admin", "d/../../x", "..", "d\\..\\x"),
        # White space and control characters.
        *("d/a\nb", "d/a b", "d/\0"),
        # The limit applies to the encoded path.
        *("a" * (MAX_LENGTH + 1), "ä" * MAX_LENGTH),
    ],
)
def test_other_paths_are_refused(path: str) -> None:
    """Empty paths, absolute paths, addresses of other servers, paths with ``..`` or white space, and too long paths are refused."""
    with pytest.raises(BadRequest, match="path"):
        checked_relative_path(path)


@given(st.one_of(st.lists(PARTS, max_size=6).map("".join), st.text(max_size=12)))
def test_no_path_leaves_the_server(path: str) -> None:
    """Browsers read each accepted path, after a slash, as an address of this server."""
    try:
        location = f"/{checked_relative_path(path)}"
    except BadRequest:
        return
    # Browsers remove tabs and line breaks, and read a backslash as a slash.
    as_browsers_read_it = re.sub(r"[\t\r\n]", "", location).replace("\\", "/")
    address = urlsplit(urljoin(f"{SERVER}/goto/x", as_browsers_read_it))
    assert f"{address.scheme}://{address.netloc}" == SERVER
    assert location.isascii()
    assert not set(location) & set("\t\r\n \\")
