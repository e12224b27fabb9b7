"""How the classic API names what the resource API keeps: slugs and addresses of pages, made from what is stored."""

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
