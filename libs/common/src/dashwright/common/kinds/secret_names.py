"""Names of sealed secrets, which responses have in the place of the secrets."""

import hashlib


def secret_name(sealed: str) -> str:
    """Return the unique name of a sealed secret."""
    return f"inline-{hashlib.sha256(sealed.encode()).hexdigest()[:14]}"
