"""Addresses in the classic API: slugs, pages of dashboards and folders, and avatars."""

import hashlib
import re
import unicodedata
from typing import Final

_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def slug_of(title: str) -> str:
    """Return the title in lower case letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")


def dashboard_url(uid: str, title: str) -> str:
    """Return the address of a dashboard's page."""
    return f"/d/{uid}/{slug_of(title)}"


def folder_url(uid: str, title: str) -> str:
    """Return the address of a folder's page."""
    return f"/dashboards/f/{uid}/{slug_of(title)}"


_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")


def avatar_url(email: str, name: str = "") -> str:
    """Return ``/avatar/`` and the MD5 of the lower case e-mail address.

    Without an address, it is that of the letters and digits of the name at ``localhost``.
    """
    address = email.strip() or f"{_NOT_ALPHANUMERIC.sub('', name)}@localhost"
    return f"/avatar/{hashlib.md5(address.lower().encode(), usedforsecurity=False).hexdigest()}"
