"""The keys whose signatures of commits a repository accepts: OpenSSH's allowed signers, and OpenPGP public keys."""

from dataclasses import dataclass
from typing import Final, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from dashwright.common.kinds import openpgp

MAX_ALLOWED_SIGNERS_LENGTH: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class AllowedSigners:
    """The keys of a text, by kind."""

    ssh: str  #: Lines of OpenSSH's allowed signers, with the line numbers of the text.
    openpgp: tuple[str, ...]  #: Public keys in ASCII armor.

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the keys of a text, which are not checked."""
        blocks = openpgp.PUBLIC_KEY_BLOCK.findall(text)
        # Empty lines replace the blocks, which keeps the numbers of the other lines.
        return cls(openpgp.PUBLIC_KEY_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text), tuple(blocks))


def check_allowed_signers(text: str) -> None:
    """Raise ValueError, with the number of the line, if a text is not a list of allowed signers with at least one key."""
    if len(text) > MAX_ALLOWED_SIGNERS_LENGTH:
        raise ValueError(f"it has {len(text)} characters, and at most {MAX_ALLOWED_SIGNERS_LENGTH} are allowed: list fewer keys")
    if openpgp.is_private_key(text):
        raise ValueError(
            "it has a private OpenPGP key: list public keys only, and replace the private one, which was sent over the network"
        )
    signers = AllowedSigners.parse(text)
    entries = [(number, line.split()) for number, line in enumerate(signers.ssh.splitlines(), start=1) if line.strip()]
    keys = [(number, fields) for number, fields in entries if not fields[0].startswith("#")]
    if not keys and not signers.openpgp:
        raise ValueError("it lists no key, so no commit could be accepted: add lines such as 'anna@example.com ssh-ed25519 AAAA…'")
    for number, fields in keys:
        # Options may precede the key, so its position is not known.
        if not any(_is_key(fields[index : index + 2]) for index in range(1, len(fields) - 1)):
            raise ValueError(f"line {number} is not a signer with a public key, such as 'anna@example.com ssh-ed25519 AAAA…'")
    for number, block in enumerate(signers.openpgp, start=1):
        try:
            openpgp.read_certificates(block)
        except ValueError as error:
            raise ValueError(f"block {number}: {error}") from error


def _is_key(fields: list[str]) -> bool:
    """Return whether two fields of a line are the type and the base64 of an SSH key."""
    try:
        load_ssh_public_key(" ".join(fields).encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    return True
