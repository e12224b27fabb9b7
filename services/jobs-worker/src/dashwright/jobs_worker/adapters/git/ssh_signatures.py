"""Signatures of commits by SSH keys: made and verified by ssh-keygen."""

import re
import shutil
import subprocess
from typing import Final

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git import command
from dashwright.jobs_worker.adapters.git.command import GitFailed
from dashwright.jobs_worker.adapters.git.mirrors import Commit
from dashwright.jobs_worker.adapters.git.private_files import private_files

_PROGRAM: Final = "ssh-keygen"
_TIMEOUT_SECONDS: Final = 30.0
_KEY: Final = re.compile(r"with \S+ key (SHA256:\S+)")
"""The fingerprint of the key in a message of ssh-keygen."""

_MAX_DETAIL_CHARACTERS: Final = 200


async def fault_of(commit: Commit, allowed_signers: str) -> str:
    """Return why the signature of a commit is not accepted; empty if it is. Raises SourceFailed if ssh-keygen is missing.

    ``allowed_signers`` has the form of OpenSSH.
    """
    require_program()
    with private_files({"allowed_signers": allowed_signers}) as directory:
        settings = {
            "gpg.ssh.program": _PROGRAM,
            "gpg.ssh.allowedSignersFile": str(directory / "allowed_signers"),
            # The caller has found an SSH signature, so the programs for other kinds must never run.
            "gpg.program": "false",
            "gpg.x509.program": "false",
        }
        try:
            await command.run(
                ["verify-commit", commit.sha], directory=commit.mirror_path, settings=settings, timeout_seconds=_TIMEOUT_SECONDS
            )
        except GitFailed as failed:
            return _reason(failed.stderr)
    return ""


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
        raise SourceFailed("the ssh-keygen program is missing; install openssh-client where the jobs worker runs")


def _reason(stderr: str) -> str:
    """Return why a signature is not accepted, from the messages of ssh-keygen."""
    key = _KEY.search(stderr)
    if key is not None and "No principal matched" in stderr:
        return f"allowedSigners does not list its key {key[1]}"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"its signature is not valid ({'; '.join(lines)[:_MAX_DETAIL_CHARACTERS]})"
