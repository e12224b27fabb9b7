"""Signatures of commits, by SSH keys or OpenPGP keys."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

import pygit2

from dashwright.common.errors import Conflict
from dashwright.common.kinds import openpgp
from dashwright.common.kinds.allowed_signers import AllowedSigners
from dashwright.jobs_worker.adapters.git import objects, openpgp_signatures, ssh_signatures
from dashwright.jobs_worker.adapters.git.damage import mark_damaged
from dashwright.jobs_worker.adapters.git.mirrors import Commit

_SSH_SIGNATURE: Final = b"-----BEGIN SSH SIGNATURE-----"
_OPENPGP_SIGNATURE: Final = b"-----BEGIN PGP SIGNATURE-----"


@dataclass(frozen=True, slots=True)
class Signing:
    """The rules of a repository for signatures of commits."""

    #: Private key that signs new commits, in the form of OpenSSH or OpenPGP; empty for unsigned commits.
    private_key: str = field(default="", repr=False)
    #: Keys whose signatures are accepted; None if commits need no signature.
    allowed_signers: str | None = None


async def check_signature(commit: Commit, signing: Signing) -> None:
    """Check that a commit has the required signature.

    Raises Conflict, with the commit and the reason, if it does not, and SourceFailed if ssh-keygen is missing.
    """
    if signing.allowed_signers is None:
        return
    signers = AllowedSigners.parse(signing.allowed_signers)
    signature, payload = await asyncio.to_thread(_signed_parts, commit)
    if signature.startswith(_SSH_SIGNATURE):
        fault = await ssh_signatures.fault_of(commit, signers.ssh)
    elif signature.startswith(_OPENPGP_SIGNATURE):
        fault = await asyncio.to_thread(openpgp_signatures.fault_of, signature, payload, signers.openpgp)
    else:
        fault = "its signature is not of an SSH or OpenPGP key" if signature else "it has no signature"
    if fault:
        raise Conflict(
            f"commit {commit.sha} is not accepted: {fault}. The stored objects are kept; sign the newest commit with a key of "
            "allowedSigners, or add its key there"
        )


def sign(private_key: str, content: str) -> str:
    """Return the signature of a commit by its content. Raises SourceFailed if the key cannot sign, or ssh-keygen is missing."""
    if openpgp.is_private_key(private_key):
        return openpgp_signatures.sign(private_key, content)
    return ssh_signatures.sign(private_key, content)


def _signed_parts(commit: Commit) -> tuple[bytes, bytes]:
    """Return the signature of a commit, and the signed content. Both are empty for an unsigned commit."""
    try:
        stored_commit = objects.commit_of(pygit2.Repository(str(commit.mirror_path)), commit.sha)
    except pygit2.GitError as error:
        raise mark_damaged(commit.mirror_path, error) from error
    signature, payload = stored_commit.gpg_signature if stored_commit is not None else (None, None)
    return signature or b"", payload or b""
