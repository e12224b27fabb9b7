"""Checks of relative paths, so that no redirect leaves this server."""

import re
from typing import Final
from urllib.parse import quote

from dashwright.common.errors import BadRequest

MAX_LENGTH: Final = 2048
"""Limit on the characters of a percent-encoded path."""

# Browsers remove tabs and line breaks, and treat a backslash like a slash: "/\t/host" and "/\host" would be other hosts.
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENCODED_SAFE: Final = "%/?#[]@!$&'()*+,;=:~-._"
"""The characters of RFC 3986 that have a meaning in a URL, or need no encoding."""


def checked_relative_path(path: str) -> str:
    """Return the path in percent-encoding. Raises BadRequest unless it is relative to the root of this server.

    The path may have a query and a fragment. ``/`` and the path together are an address of this server in every browser.
    """
    if not path or path.startswith("/") or _SCHEME.match(path) or _UNSAFE.search(path):
        raise BadRequest("path must be relative to the address of this server, such as d/abc?from=now-1h, and without blanks")
    if ".." in re.split(r"[/?#]", path):
        raise BadRequest("path must not contain the segment '..'")
    encoded_path = quote(path, safe=_ENCODED_SAFE, errors="replace")
    if len(encoded_path) > MAX_LENGTH:
        raise BadRequest(f"path has more than {MAX_LENGTH} characters in percent-encoding; make it shorter")
    return encoded_path
