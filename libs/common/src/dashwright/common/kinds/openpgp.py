"""OpenPGP keys that sign commits, as GnuPG exports them.

The library is Sequoia, because its checks of signatures need no keyring, agent or trust database, unlike GnuPG's.
"""

import re
from collections.abc import Sequence
from typing import Final

from pysequoia import Cert, PySigner, Tsk

#: A public key in ASCII armor.
PUBLIC_KEY_BLOCK: Final = re.compile(r"-----BEGIN PGP PUBLIC KEY BLOCK-----.*?-----END PGP PUBLIC KEY BLOCK-----", re.DOTALL)

_PRIVATE_KEY_MARK: Final = "-----BEGIN PGP PRIVATE KEY BLOCK-----"
_MAX_KEY_LENGTH: Final = 64 * 1024


def is_private_key(text: str) -> bool:
    """Return whether a text is marked as an OpenPGP private key."""
    return _PRIVATE_KEY_MARK in text


def read_certificates(block: str) -> Sequence[Cert]:
    """Return the public keys of a block. Raises ValueError if it cannot be read or holds no key."""
    try:
        certificates = Cert.split_bytes(block.encode())
    except RuntimeError as error:
        raise ValueError(f"the OpenPGP key cannot be read ({first_line(error)}): send the output of gpg --armor --export") from error
    if not certificates:
        raise ValueError("the block holds no OpenPGP key: send the output of gpg --armor --export")
    return certificates


def read_signer(text: str) -> PySigner:
    """Return the signer with a private key. Raises ValueError if the key cannot sign. The message does not contain the key."""
    try:
        return Tsk.from_bytes(text.encode()).signer()
    except RuntimeError as error:
        raise ValueError(
            f"the OpenPGP key cannot sign ({first_line(error)}): send the output of gpg --armor --export-secret-keys for a key "
            "that signs and has no passphrase"
        ) from error


def normalize_private_key(text: str) -> str:
    """Return a private key without surrounding space.

    Raises ValueError if the key is too long or cannot sign. The message does not contain the key.
    """
    if len(text) > _MAX_KEY_LENGTH:
        raise ValueError(f"the OpenPGP key has more than {_MAX_KEY_LENGTH} characters: export one key only")
    read_signer(text)
    return text.strip() + "\n"


def first_line(error: RuntimeError) -> str:
    """Return the first line of an error of the library: the rest is a stack trace."""
    return str(error).partition("\n")[0].rstrip(".")
