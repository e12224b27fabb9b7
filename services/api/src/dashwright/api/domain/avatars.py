"""Where the picture of a user, team or service account is said to be."""

import hashlib
import re

_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")


def avatar_url(email: str, name: str = "") -> str:
    """``/avatar/`` and the MD5 of the e-mail in small letters; without one, of an address made of the name's letters and digits."""
    address = email.strip() or f"{_NOT_ALPHANUMERIC.sub('', name)}@localhost"
    return f"/avatar/{hashlib.md5(address.lower().encode(), usedforsecurity=False).hexdigest()}"
