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

MOST_COMMITS: Final = 5000
"""Commits of a walk. A file that none of them changed has an unknown last change."""

_SECONDS: Final = 10.0
_MOST_KEPT: Final = 100_000
"""Files of all walks that are cached together; about 200 bytes each."""

_LATEST: Final = 253_402_300_799
"""The last second of the year 9999: a commit may contain any time."""

_LONGEST_NAME: Final = 200
_HEAD: Final = re.compile(rb"\x01(\d{1,19})\x02(.*)", re.DOTALL)


class LastChanges:
    """Last changes by commit. A failure of git is logged, and the changes are unknown then: callers wait only once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, str], Mapping[bytes, LastChange]] = OrderedDict()

    async def of(self, commit: Commit, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return the last changes of files, as far as they are known. Paths are those of the whole repository.

        A single file is looked up through the whole history; for many, the newest 5,000 commits are examined.
        """
        known = self._kept.get((commit.place, commit.sha))
        if len(paths) == 1 and not (known or {}).keys() & {os.fsencode(path) for path in paths}:
            known = await self._walked(commit, next(iter(paths)))
        elif known is None:
            known = await self._walked(commit)
            self._keep(commit, known)
        return {path: change for path in paths if (change := known.get(os.fsencode(path))) is not None}

    async def _walked(self, commit: Commit, path: str = "") -> Mapping[bytes, LastChange]:
        # Combined diffs: a merge counts as a change of a file only if it differs from every parent.
        options = ["--no-renames", "--diff-merges=combined", "--name-only", "-z", "--format=%x01%ct%x02%an"]
        which = ["--max-count=1", commit.sha, "--", f":(literal){path}"] if path else [f"--max-count={MOST_COMMITS}", commit.sha, "--"]
        try:
            output = await command.run(["log", *options, *which], folder=commit.place, settings={}, seconds=_SECONDS)
        except (GitFailed, SourceFailed) as error:
            log.warning("last_changes_unknown", commit=commit.sha, error=str(error))
            return {}
        return _read(output)

    def _keep(self, commit: Commit, found: Mapping[bytes, LastChange]) -> None:
        """Cache a walk. The newest is kept whatever its size."""
        self._kept[commit.place, commit.sha] = found
        while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _MOST_KEPT:
            self._kept.popitem(last=False)


def _read(output: bytes) -> dict[bytes, LastChange]:
    """Return the first change of each path: the log begins with the newest."""
    found: dict[bytes, LastChange] = {}
    change = LastChange(0)
    is_first = False
    for part in output.split(b"\0"):
        head = _HEAD.fullmatch(part)
        if head is not None:
            change = LastChange(min(int(head[1]), _LATEST) * 1000, head[2].decode(errors="replace")[:_LONGEST_NAME])
        elif path := part.removeprefix(b"\n") if is_first else part:
            found.setdefault(path, change)
        is_first = head is not None
    return found
