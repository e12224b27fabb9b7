"""The keys whose signatures of commits a repository accepts, in the form of OpenSSH's allowed signers."""

from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

MAX_ALLOWED_SIGNERS_LENGTH: Final = 64 * 1024


def check_allowed_signers(text: str) -> None:
    """Raise ValueError, with the number of the line, if a text is not a list of allowed signers with at least one key."""
    if len(text) > MAX_ALLOWED_SIGNERS_LENGTH:
        raise ValueError(f"at most {MAX_ALLOWED_SIGNERS_LENGTH} of its {len(text)} characters are read: list fewer keys")
    entries = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    keys = [(number, fields) for number, fields in entries if not fields[0].startswith("#")]
    if not keys:
        raise ValueError("it lists no key, so no commit could be accepted: add lines such as 'anna@example.com ssh-ed25519 AAAA…'")
    for number, fields in keys:
        if not any(_is_key(fields[index : index + 2]) for index in range(1, len(fields) - 1)):
            raise ValueError(f"line {number} is not a signer with a public key, such as 'anna@example.com ssh-ed25519 AAAA…'")


def _is_key(fields: list[str]) -> bool:
    try:
        load_ssh_public_key(" ".join(fields).encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    return True
