"""Names that are derived, not chosen: of jobs, and of the folders and objects that files stand for.

Deterministic, so that every sync of a path means the same object. The recipe (as observed in existing products, whose names stay the
same here): a readable part, a hyphen, and as much of a SHA-256 over repository and path as fits into 40 characters.
"""

import hashlib
import re
from base64 import urlsafe_b64encode

from dashwright.common.jobs.paths import clean

LONGEST_JOB_NAME = 63
LONGEST_NAME = 40
SHORTEST_HASH = 8

_DROPPED = re.compile(r"[^a-z0-9.-]")
_HYPHENS = re.compile(r"-{2,}")


def job_name(repository: str, action: str, suffix: str) -> str:
    """``{repository}-{action}-{suffix}``, at most 63 characters: a long repository name is cut, so ``suffix`` must make it unique."""
    tail = f"-{action}-{suffix}"
    return repository[: LONGEST_JOB_NAME - len(tail)].rstrip("-.") + tail


def folder_name(repository: str, directory: str, *, turn: str = "") -> str:
    """The name of the folder that stands for a directory; two repositories never share one.

    ``turn``: of a directory that comes again after its folder has gone elsewhere, and kept the name.
    """
    path = clean(directory)
    title = sanitise(path.rpartition("/")[2])
    return _undotted(hashed(repository, f"{path}#{turn}" if turn else path, title))


def object_name(repository: str, path: str) -> str:
    """The name of the object in a file that names none itself. The suffix of the file does not count."""
    stem = re.sub(r"\.[^./]*$", "", clean(path))
    return _undotted(hashed(repository, stem, stem.rpartition("/")[2]))


def sanitise(text: str) -> str:
    """Lower case letters, digits, hyphens and dots only, neither of the last two at an end."""
    lowered = text.lower().replace("/", "-").replace("_", "-")
    return _HYPHENS.sub("-", _DROPPED.sub("", lowered)).strip("-.")


def hashed(repository: str, key: str, text: str) -> str:
    """``text`` with a hash over repository, ``key`` and ``text`` behind it, made readable: at most 40 characters, 8 of hash at least."""
    digest = hashlib.sha256(f"{repository}/{key}{text}".encode()).digest()
    readable = text.encode()[: LONGEST_NAME - SHORTEST_HASH - 1]
    suffix = sanitise(urlsafe_b64encode(digest).decode())[: LONGEST_NAME - 1 - len(readable)]
    return sanitise(f"{readable.decode(errors='ignore')}-{suffix}")


def _undotted(name: str) -> str:
    """Dots may stand in the name of a file but not in that of a dashboard or folder."""
    return name.replace(".", "-")
