"""Signatures of commits by OpenPGP keys.

A signature is accepted if the key was valid when the signature was made, and has not been revoked as compromised. MD5 and SHA-1
signatures are not accepted.
"""

from collections.abc import Sequence

from pysequoia import Sig, SignatureMode, verify
from pysequoia import sign as sign_bytes

from dashwright.common.errors import SourceFailed
from dashwright.common.kinds import openpgp


def fault_of(signature: bytes, payload: bytes, blocks: Sequence[str]) -> str:
    """Return why a signature is not accepted; empty if it is. ``blocks`` are the accepted public keys in ASCII armor."""
    certificates = [certificate for block in blocks for certificate in openpgp.read_certificates(block)]
    try:
        parsed = Sig.from_bytes(signature)
    except RuntimeError as error:
        return f"its signature cannot be read ({openpgp.first_line(error)})"
    try:
        verify(bytes=payload, store=lambda _: certificates, signature=parsed)
    except RuntimeError:
        key = (parsed.issuer_fingerprint or parsed.issuer_key_id or "?").upper()
        return f"its signature with the OpenPGP key {key} is not valid, or allowedSigners does not list this key"
    return ""


def sign(private_key: str, content: str) -> str:
    """Return the signature of a commit by its content. Raises SourceFailed if the key cannot sign."""
    try:
        signature = sign_bytes(openpgp.read_signer(private_key), content.encode(), mode=SignatureMode.DETACHED)
    except (ValueError, RuntimeError) as error:
        raise SourceFailed("the OpenPGP key of secure.signingKey cannot sign the commit: send another key") from error
    return signature.decode().strip()
