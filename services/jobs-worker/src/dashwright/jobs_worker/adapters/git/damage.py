"""Damage of mirrors: how it is recognized, and how a mirror is marked so that it is recreated."""

from pathlib import Path
from typing import Final

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.ports import MirrorDamaged

_DAMAGE_MESSAGES: Final = (
    *("not a git repository", "bad object", "object file", "missing blob", "missing tree", "loose object"),
    *("corrupt", "unable to read"),
    # Lock files of git that a killed program left. The caller holds this project's file lock of the mirror, so no git program runs in it.
    *("Another git process", "cannot lock ref", "local refs could not be updated"),
)
_AMBIGUOUS_MESSAGES: Final = ("packfile", "index-pack", "Could not read", "did not send all necessary objects", "inflate")
"""Messages about a damaged mirror, or about a pack that the host did not send to its end."""


class HostFailed(SourceFailed):
    """A failure of a host or of the connection to it."""


def mark_damaged(mirror_path: Path, error: Exception) -> MirrorDamaged:
    """Mark a mirror that libgit2 cannot read, so that the next fetch recreates it, and return the error to raise."""
    (mirror_path / "HEAD").unlink(missing_ok=True)
    return MirrorDamaged(f"the worker's copy of the repository is damaged and will be recreated: {error}")


def is_damaged(error: SourceFailed) -> bool:
    """Return whether an error of git is caused by a damaged mirror."""
    # If the host failed, it is the cause of an incomplete pack.
    messages = _DAMAGE_MESSAGES if isinstance(error, HostFailed) else _DAMAGE_MESSAGES + _AMBIGUOUS_MESSAGES
    return isinstance(error, MirrorDamaged) or any(message in error.message for message in messages)
