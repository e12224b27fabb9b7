"""Private keys that sign the commits of a repository: SSH keys or OpenPGP keys."""

from dashwright.common.kinds import openpgp, ssh_access


def normalize_signing_key(text: str) -> str:
    """Return a private key in the form that its program requires. Raises ValueError, without the key, if it cannot sign."""
    if openpgp.is_private_key(text):
        return openpgp.normalize_private_key(text)
    return ssh_access.normalize_private_key(text)
