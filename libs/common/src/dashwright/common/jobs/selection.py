"""Selection of the files of a repository to sync: glob patterns to include and to exclude, as in gitignore.

A pattern with a slash in it (not only at its end) is matched from the root, any other at every depth. ``*``, ``?`` and
``[…]`` never match a slash; ``**`` matches any number of directories. A pattern that matches a directory covers
everything in it; one that ends in a slash, or in ``/**``, matches directories only.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.models.provisioning import RepositorySpec

MAX_PATTERNS: Final = 100
MAX_PATTERN_LENGTH: Final = 500

_ANY_DEPTH: Final = "**"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Glob pattern."""

    #: Matchers of the parts of a path, one by one; None matches any number of parts.
    steps: tuple[Callable[[str], bool] | None, ...]
    only_directories: bool

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """Return the pattern in a text. Raises BadRequest if it is invalid."""
        _check(text)
        plain = text.removesuffix("/**").rstrip("/")
        only_directories = plain != text
        anchored = "/" in text.rstrip("/")
        parts = [part for part in plain.split("/") if part]
        steps = [None if part == _ANY_DEPTH else _step(part) for part in parts]
        return cls((*([] if anchored else [None]), *steps), only_directories)

    def covers(self, path: str) -> bool:
        """Return whether the pattern matches a path or a directory above it. The path of a directory ends in a slash."""
        parts = path.rstrip("/").split("/")
        last = len(parts) - (self.only_directories and not paths.is_directory(path))
        states = self._closure({0})
        for part in parts[:last]:
            states = self._advance(states, part)
            if len(self.steps) in states:
                return True
        return False

    def may_cover_below(self, directory: str) -> bool:
        """Return whether something in a directory may match."""
        states = self._closure({0})
        for part in directory.rstrip("/").split("/"):
            states = self._advance(states, part)
        return bool(states)

    def _advance(self, states: set[int], part: str) -> set[int]:
        """Return the states of the pattern after one more part of the path."""
        found = set()
        for state in states:
            if state == len(self.steps):
                continue
            step = self.steps[state]
            if step is None:
                found.add(state)
            elif step(part):
                found.add(state + 1)
        return self._closure(found)

    def _closure(self, states: set[int]) -> set[int]:
        """Add the states after ``**``, which also matches zero directories."""
        found = set(states)
        for state in sorted(states):
            step = state
            while step < len(self.steps) and self.steps[step] is None:
                step += 1
                found.add(step)
        return found


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of files: those in ``include``, or all if it is empty, except those in ``exclude``."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @classmethod
    def of(cls, include: Sequence[str] | None, exclude: Sequence[str] | None) -> "Selection":
        """Return the selection for two lists of patterns. Raises BadRequest if a pattern is invalid."""
        return cls(tuple(map(Pattern.parse, include or ())), tuple(map(Pattern.parse, exclude or ())))

    @classmethod
    def of_repository(cls, spec: RepositorySpec) -> "Selection":
        """Return the selection of a validated spec."""
        return cls.of(spec.selected.include, spec.selected.exclude)

    def takes(self, path: str) -> bool:
        """Return whether a file is selected, or whether something in a directory may be."""
        if any(pattern.covers(path) for pattern in self.exclude):
            return False
        if not self.include or any(pattern.covers(path) for pattern in self.include):
            return True
        return paths.is_directory(path) and any(pattern.may_cover_below(path) for pattern in self.include)


ALL_FILES: Final = Selection()


def check_selected(selection: Selection, path: str) -> None:
    """Raise BadRequest for a file or directory that is not selected. The path of a directory ends in a slash."""
    if not selection.takes(path):
        raise BadRequest(f"{path} is not selected by include and exclude of the repository's spec; choose another path, or change them")


def _check(text: str) -> None:
    if not text.strip("/") or len(text) > MAX_PATTERN_LENGTH:
        raise BadRequest(f"a pattern must name a file or directory, in at most {MAX_PATTERN_LENGTH} characters")
    if text.startswith("!"):
        raise BadRequest("a pattern must not begin with '!': put it into the other list, include or exclude")
    if any(part in (".", "..") for part in text.split("/")) or not text.isprintable():
        raise BadRequest("a pattern must not contain '.' or '..' segments or control characters; it is relative to the repository's root")


def _step(part: str) -> Callable[[str], bool]:
    if not re.search(r"[*?[]", part):
        return part.__eq__
    # fnmatch's expressions never backtrack, so each name is matched in linear time.
    matching = re.compile(fnmatch.translate(part)).match
    return lambda name: matching(name) is not None
