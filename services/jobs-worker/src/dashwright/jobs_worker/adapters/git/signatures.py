"""Signatures of commits by SSH keys: made and verified by ssh-keygen."""

import asyncio
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Final

import pygit2

from dashwright.common.errors import Conflict, SourceFailed
from dashwright.jobs_worker.adapters.git import command, objects
from dashwright.jobs_worker.adapters.git.command import GitFailed
from dashwright.jobs_worker.adapters.git.mirrors import Commit, mark_damaged
from dashwright.jobs_worker.adapters.git.private_files import private_files

_PROGRAM: Final = "ssh-keygen"
_TIMEOUT_SECONDS: Final = 30.0
_SSH_SIGNATURE: Final = b"-----BEGIN SSH SIGNATURE-----"
_KEY: Final = re.compile(r"with \S+ key (SHA256:\S+)")
_MAX_DETAIL_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Signing:
    """The rules of a repository for signatures of commits."""

    #: Private key in OpenSSH form that signs new commits; empty for unsigned commits.
    private_key: str = field(default="", repr=False)
    #: Keys whose signatures are accepted, in the form of OpenSSH; None if commits need no signature.
    allowed_signers: str | None = None


async def check_signature(commit: Commit, signing: Signing) -> None:
    """Return if a commit has the required signature.

    Raises Conflict, with the commit and the reason, if it does not, and SourceFailed if ssh-keygen is missing.
    """
    if signing.allowed_signers is None:
        return
    signature = await asyncio.to_thread(_signature, commit)
    if not signature:
        raise _refusal(commit, "it has no signature")
    if not signature.startswith(_SSH_SIGNATURE):
        raise _refusal(commit, "its signature is not of an SSH key")
    require_program()
    with private_files({"allowed_signers": signing.allowed_signers}) as directory:
        settings = {
            "gpg.ssh.program": _PROGRAM,
            "gpg.ssh.allowedSignersFile": str(directory / "allowed_signers"),
            # Signatures of other kinds are refused above, so their programs must never run.
            "gpg.program": "false",
            "gpg.x509.program": "false",
        }
        try:
            await command.run(
                ["verify-commit", commit.sha], directory=commit.mirror_path, settings=settings, timeout_seconds=_TIMEOUT_SECONDS
            )
        except GitFailed as failed:
            raise _refusal(commit, _reason(failed.stderr)) from failed


def sign(private_key: str, content: str) -> str:
    """Return the signature of a commit by its content. Raises SourceFailed if ssh-keygen is missing or fails."""
    require_program()
    with private_files({"key": private_key}) as directory:
        try:
            done = subprocess.run(  # noqa: S603 - no part of the command comes from a request
                [_PROGRAM, "-q", "-Y", "sign", "-n", "git", "-f", str(directory / "key")],
                input=content.encode(),
                env=command.bare_environment(),
                capture_output=True,
                check=True,
                timeout=_TIMEOUT_SECONDS,
            )
        except subprocess.SubprocessError as error:
            raise SourceFailed("ssh-keygen cannot sign the commit with the key of secure.signingKey: send another key") from error
    return done.stdout.decode().strip()


def require_program() -> None:
    """Raise SourceFailed if there is no ssh-keygen."""
    if shutil.which(_PROGRAM) is None:
        raise SourceFailed("there is no ssh-keygen program here; install openssh-client where the jobs worker runs")


def _signature(commit: Commit) -> bytes:
    try:
        found = objects.commit_of(pygit2.Repository(str(commit.mirror_path)), commit.sha)
    except pygit2.GitError as error:
        raise mark_damaged(commit.mirror_path, error) from error
    return (found.gpg_signature[0] if found is not None else None) or b""


def _reason(stderr: str) -> str:
    key = _KEY.search(stderr)
    if key is not None and "No principal matched" in stderr:
        return f"allowedSigners does not list its key {key[1]}"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"its signature is not valid ({'; '.join(lines)[:_MAX_DETAIL_CHARACTERS]})"


def _refusal(commit: Commit, reason: str) -> Conflict:
    return Conflict(
        f"commit {commit.sha} is not accepted: {reason}. The stored objects are kept; sign the newest commit with a key of "
        "allowedSigners, or add its key there"
    )
