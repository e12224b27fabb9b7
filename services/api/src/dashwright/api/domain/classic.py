"""How the classic API names what the resource API keeps: numbers, slugs and addresses of pages, made from what is stored."""

import re
import unicodedata
import uuid
from typing import Final

_OTHERS: Final = re.compile(r"[^a-z0-9]+")
_LARGEST_EXACT: Final = 2**53 - 1
"""The largest whole number that clients written in JavaScript keep."""


def number_of(uid: uuid.UUID) -> int:
    """The number of an object: the last 53 bits of its uuid, which are random."""
    return uid.int & _LARGEST_EXACT


def slug_of(title: str) -> str:
    """The title in small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")


def dashboard_url(uid: str, title: str) -> str:
    return f"/d/{uid}/{slug_of(title)}"


def folder_url(uid: str, title: str) -> str:
    return f"/dashboards/f/{uid}/{slug_of(title)}"
