"""Deploy keys and known hosts of repositories with an SSH address, in the forms of OpenSSH."""

from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

MAX_KNOWN_HOSTS_LENGTH: Final = 64 * 1024

_MAX_KEY_LENGTH: Final = 16 * 1024
_MIN_RSA_BITS: Final = 2048
_FIRST_LINE: Final = "-----BEGIN OPENSSH PRIVATE KEY-----"
_LAST_LINE: Final = "-----END OPENSSH PRIVATE KEY-----"
#: Markers that may be the first field of a line of known hosts.
_MARKERS: Final = ("@cert-authority", "@revoked")
#: Names of the host, type of the key, and key in base64.
_FIELDS_OF_HOST_KEY: Final = 3
#: First line, key and last line.
_MIN_KEY_LINES: Final = 3


def normalize_private_key(text: str) -> str:
    """Return a deploy key with the line ends that ssh requires.

    Raises ValueError, without the key, if the text is not an unencrypted ed25519, ECDSA or RSA key in OpenSSH form.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(text) > _MAX_KEY_LENGTH or len(lines) < _MIN_KEY_LINES or (lines[0], lines[-1]) != (_FIRST_LINE, _LAST_LINE):
        raise ValueError(
            f"it is not a private key in OpenSSH form, which begins with {_FIRST_LINE}: "
            "send the file that ssh-keygen -t ed25519 wrote, without .pub; convert another form with ssh-keygen -p -f FILE"
        )
    normalized = "\n".join(lines) + "\n"
    try:
        key = load_ssh_private_key(normalized.encode(), None)
    except TypeError as error:
        # The library raises it for an encrypted key without a passphrase.
        raise ValueError(
            "the private key has a passphrase, which no user could enter: remove it with ssh-keygen -p -N '' -f FILE, "
            "or create a key without one for this repository"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("the private key cannot be read: it is damaged, or of a type other than ed25519, ECDSA and RSA") from error
    if isinstance(key, RSAPrivateKey) and key.key_size < _MIN_RSA_BITS:
        raise ValueError(f"the RSA key has {key.key_size} bits, and at least {_MIN_RSA_BITS} are needed: create an ed25519 key")
    if not isinstance(key, Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey):
        raise ValueError(  # noqa: TRY004 - a fault of the request
            "the private key has a type other than ed25519, ECDSA and RSA: create a key with ssh-keygen -t ed25519"
        )
    return normalized


def check_known_hosts(text: str) -> None:
    """Raise ValueError, with the number of the line, if a text is not a list of known hosts."""
    if len(text) > MAX_KNOWN_HOSTS_LENGTH:
        raise ValueError(
            f"it has {len(text)} characters, and at most {MAX_KNOWN_HOSTS_LENGTH} are allowed: keep only the host of this repository"
        )
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.strip()
        if entry and not entry.startswith("#"):
            _check_host_key(entry, number)


def _check_host_key(entry: str, number: int) -> None:
    """Raise ValueError if a line of known hosts is not a host with its key: names, type, base64, and perhaps a comment."""
    fields = entry.split()
    if fields[0] in _MARKERS:
        fields = fields[1:]
    try:
        load_ssh_public_key(" ".join(fields[1:_FIELDS_OF_HOST_KEY]).encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError(
            f"line {number} is not a host with its key, such as 'git.example.com ssh-ed25519 AAAA…': "
            "take the lines that the git host publishes, or that ssh-keyscan prints"
        ) from error
