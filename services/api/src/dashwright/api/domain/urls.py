"""Addresses in the classic API: slugs, pages of dashboards and folders, and avatars."""

import hashlib
import re
import unicodedata
from typing import Final

_SEPARATORS: Final = re.compile(r"[^a-z0-9]+")
"""The characters of a title that a hyphen replaces in its slug."""


def slug_of(title: str) -> str:
    """Return the title in lower case letters, digits and hyphens."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _SEPARATORS.sub("-", ascii_title).strip("-")


def dashboard_url(uid: str, title: str) -> str:
    """Return the address of a dashboard's page."""
    return f"/d/{uid}/{slug_of(title)}"


def folder_url(uid: str, title: str) -> str:
    """Return the address of a folder's page."""
    return f"/dashboards/f/{uid}/{slug_of(title)}"


_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")


def avatar_url(email: str, name: str = "") -> str:
    """Return ``/avatar/`` and the MD5 of the lower case e-mail address.

    For an account without e-mail, the address is the letters and digits of its name at ``localhost``, as in Grafana.
    """
    address = email.strip() or f"{_NOT_ALPHANUMERIC.sub('', name)}@localhost"
    return f"/avatar/{hashlib.md5(address.lower().encode(), usedforsecurity=False).hexdigest()}"
