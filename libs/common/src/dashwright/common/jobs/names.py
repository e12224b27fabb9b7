"""Names that are derived for jobs, and for the folders and objects that files describe.

Names are deterministic, so that every sync of a path yields the same object. A name has a readable part, a hyphen, and
as much of a SHA-256 over repository and path as fits into 40 characters. This is Grafana's format, which must not change.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from functools import lru_cache

from dashwright.common.jobs.paths import clean

MAX_JOB_NAME_LENGTH = 63
MAX_NAME_LENGTH = 40
MIN_HASH_LENGTH = 8

_DISALLOWED = re.compile(r"[^a-z0-9.-]")
_HYPHENS = re.compile(r"-{2,}")


def job_name(repository: str, action: str, suffix: str) -> str:
    """Return ``{repository}-{action}-{suffix}``, at most 63 characters.

    A long repository name is truncated, so ``suffix`` must make the name unique.
    """
    tail = f"-{action}-{suffix}"
    return repository[: MAX_JOB_NAME_LENGTH - len(tail)].rstrip("-.") + tail


@lru_cache(maxsize=256)  # A sync needs the name for each file of a directory.
def folder_name(repository: str, directory: str, *, incarnation: str = "") -> str:
    """Return the name of the folder for a directory, which is unique across repositories.

    ``incarnation`` distinguishes a recreated directory from an earlier one whose folder was moved and kept its name.
    """
    path = clean(directory)
    title = sanitise(path.rpartition("/")[2])
    return _without_dots(name_with_hash(repository, f"{path}#{incarnation}" if incarnation else path, title))


def object_name(repository: str, path: str) -> str:
    """Return the name of an object whose file contains no name. The extension of the file is ignored."""
    stem = re.sub(r"\.[^./]*$", "", clean(path))
    return _without_dots(name_with_hash(repository, stem, stem.rpartition("/")[2]))


def sanitise(value: str) -> str:
    """Return ``value`` reduced to lower case letters, digits, hyphens and dots, without leading or trailing hyphens and dots."""
    lowered = value.lower().replace("/", "-").replace("_", "-")
    return _HYPHENS.sub("-", _DISALLOWED.sub("", lowered)).strip("-.")


def name_with_hash(repository: str, key: str, title: str) -> str:
    """Return ``title`` followed by an alphanumeric hash over repository, ``key`` and ``title``.

    The result has at most 40 characters, of which at least 8 are the hash.
    """
    digest = hashlib.sha256(f"{repository}/{key}{title}".encode()).digest()
    readable = title.encode()[: MAX_NAME_LENGTH - MIN_HASH_LENGTH - 1]
    suffix = sanitise(urlsafe_b64encode(digest).decode())[: MAX_NAME_LENGTH - 1 - len(readable)]
    # The last character may have lost some of its bytes.
    return sanitise(f"{readable.decode(errors='ignore')}-{suffix}")


def _without_dots(name: str) -> str:
    """Return a name with hyphens instead of dots, which names of dashboards and folders cannot contain."""
    return name.replace(".", "-")
