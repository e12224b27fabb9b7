"""The last changes of a commit's files: one bounded walk through its history, cached for the newest commits."""

import os
import re
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import structlog

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git import command
from dashwright.jobs_worker.adapters.git.command import GitFailed
from dashwright.jobs_worker.adapters.git.mirrors import Commit
from dashwright.jobs_worker.domain.objects import LastChange

log = structlog.get_logger()

MAX_COMMITS: Final = 5000
"""Limit on the commits that are examined. The last change of a file is unknown if it is in an older commit."""

_TIMEOUT_SECONDS: Final = 10.0
_MAX_CACHED_FILES: Final = 100_000
"""Limit on the files in the cache, which take about 200 bytes each."""

_MAX_TIMESTAMP: Final = 253_402_300_799
"""The last second of the year 9999: a commit may contain any time."""

_MAX_NAME_CHARACTERS: Final = 200
_COMMIT_HEADER: Final = re.compile(rb"\x01(\d{1,19})\x02(.*)", re.DOTALL)
"""The header of a commit in the output of ``git log``: commit time and name of the author, as ``--format`` below demands."""


class LastChanges:
    """Last changes by commit. A failure of git is logged and cached as unknown changes, so that callers wait only once."""

    def __init__(self) -> None:
        #: Last changes by path, by mirror and commit.
        self._cache: OrderedDict[tuple[Path, str], Mapping[bytes, LastChange]] = OrderedDict()

    async def get(self, commit: Commit, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return the last changes of files, as far as they are known. Paths are those of the whole repository.

        A single file is looked up through the whole history; for many, the newest 5,000 commits are examined.
        """
        changes = self._cache.get((commit.mirror_path, commit.sha))
        has_cached_path = any(os.fsencode(path) in (changes or {}) for path in paths)
        if len(paths) == 1 and not has_cached_path:
            changes = await self._walk_history(commit, next(iter(paths)))
        elif changes is None:
            changes = await self._walk_history(commit)
            self._add_to_cache(commit, changes)
        return {path: change for path in paths if (change := changes.get(os.fsencode(path))) is not None}

    async def _walk_history(self, commit: Commit, path: str = "") -> Mapping[bytes, LastChange]:
        """Return the last change of one path, or (if ``path`` is empty) those in the newest 5,000 commits; empty if git fails."""
        # Combined diffs: a merge counts as a change of a file only if it differs from every parent.
        options = ["--no-renames", "--diff-merges=combined", "--name-only", "-z", "--format=%x01%ct%x02%an"]
        scope = ["--max-count=1", commit.sha, "--", f":(literal){path}"] if path else [f"--max-count={MAX_COMMITS}", commit.sha, "--"]
        try:
            output = await command.run(
                ["log", *options, *scope], directory=commit.mirror_path, settings={}, timeout_seconds=_TIMEOUT_SECONDS
            )
        except (GitFailed, SourceFailed) as error:
            log.warning("last_changes_unknown", commit=commit.sha, error=str(error))
            return {}
        return _parse_log(output)

    def _add_to_cache(self, commit: Commit, changes: Mapping[bytes, LastChange]) -> None:
        """Cache the changes of a commit. The newest entry is kept even if it exceeds the limit."""
        self._cache[commit.mirror_path, commit.sha] = changes
        while len(self._cache) > 1 and sum(map(len, self._cache.values())) > _MAX_CACHED_FILES:
            self._cache.popitem(last=False)


def _parse_log(output: bytes) -> dict[bytes, LastChange]:
    """Return the last change of each path. The log begins with the newest commit."""
    changes: dict[bytes, LastChange] = {}
    change = LastChange(0)
    follows_header = False
    for token in output.split(b"\0"):
        header = _COMMIT_HEADER.fullmatch(token)
        if header is not None:
            change = LastChange(min(int(header[1]), _MAX_TIMESTAMP) * 1000, header[2].decode(errors="replace")[:_MAX_NAME_CHARACTERS])
        # Git writes a line feed between the header of a commit and its first path.
        elif path := token.removeprefix(b"\n") if follows_header else token:
            changes.setdefault(path, change)
        follows_header = header is not None
    return changes
