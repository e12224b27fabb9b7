"""How the classic API names what the resource API keeps: slugs and addresses of pages, made from what is stored."""

import hashlib
import re
import unicodedata
from typing import Final

_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def slug_of(title: str) -> str:
    """The title in small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")


def dashboard_url(uid: str, title: str) -> str:
    return f"/d/{uid}/{slug_of(title)}"


def folder_url(uid: str, title: str) -> str:
    return f"/dashboards/f/{uid}/{slug_of(title)}"


_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")


def avatar_url(email: str, name: str = "") -> str:
    """``/avatar/`` and the MD5 of the e-mail in small letters; without one, of an address made of the name's letters and digits."""
    address = email.strip() or f"{_NOT_ALPHANUMERIC.sub('', name)}@localhost"
    return f"/avatar/{hashlib.md5(address.lower().encode(), usedforsecurity=False).hexdigest()}"
