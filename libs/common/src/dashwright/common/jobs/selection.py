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

    #: Matchers of the successive parts of a path. None is ``**``, which matches any number of parts.
    steps: tuple[Callable[[str], bool] | None, ...]
    matches_only_directories: bool

    @classmethod
    def parse(cls, source: str) -> "Pattern":
        """Return the parsed pattern. Raises BadRequest if it is invalid."""
        _check(source)
        stripped = source.removesuffix("/**").rstrip("/")
        directories_only = stripped != source
        is_anchored = "/" in source.rstrip("/")
        parts = [part for part in stripped.split("/") if part]
        steps = [None if part == _ANY_DEPTH else _part_matcher(part) for part in parts]
        if not is_anchored:
            steps.insert(0, None)
        return cls(tuple(steps), directories_only)

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches a path or one of its directories. The path of a directory ends in a slash."""
        parts = path.rstrip("/").split("/")
        if self.matches_only_directories and not paths.is_directory(path):
            # The pattern cannot match the file itself, but may match a directory above it.
            parts = parts[:-1]
        # A state is the number of steps that have matched so far. Because of ``**``, several states are possible for one path.
        states = self._closure({0})
        for part in parts:
            states = self._advance(states, part)
            if len(self.steps) in states:
                return True
        return False

    def may_match_below(self, directory: str) -> bool:
        """Return whether a path inside a directory can match."""
        states = self._closure({0})
        for part in directory.rstrip("/").split("/"):
            states = self._advance(states, part)
        return bool(states)

    def _advance(self, states: set[int], part: str) -> set[int]:
        """Return the states after one more part of the path."""
        next_states = set()
        for state in states:
            # A complete match has no further step.
            if state == len(self.steps):
                continue
            step = self.steps[state]
            if step is None:
                next_states.add(state)
            elif step(part):
                next_states.add(state + 1)
        return self._closure(next_states)

    def _closure(self, states: set[int]) -> set[int]:
        """Return ``states`` and, for each state before a ``**``, the state after it: ``**`` also matches zero directories."""
        closure = set(states)
        for state in sorted(states):
            next_state = state
            while next_state < len(self.steps) and self.steps[next_state] is None:
                next_state += 1
                closure.add(next_state)
        return closure


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of files: those that match ``include``, or all if it is empty, except those that match ``exclude``."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @classmethod
    def from_patterns(cls, include: Sequence[str] | None, exclude: Sequence[str] | None) -> "Selection":
        """Return the selection of two lists of patterns. Raises BadRequest if a pattern is invalid."""
        return cls(tuple(map(Pattern.parse, include or ())), tuple(map(Pattern.parse, exclude or ())))

    @classmethod
    def of_repository(cls, spec: RepositorySpec) -> "Selection":
        """Return the selection of a validated spec."""
        return cls.from_patterns(spec.selected.include, spec.selected.exclude)

    def includes(self, path: str) -> bool:
        """Return whether a file is selected, or whether a directory can contain selected files."""
        if any(pattern.matches(path) for pattern in self.exclude):
            return False
        if not self.include or any(pattern.matches(path) for pattern in self.include):
            return True
        return paths.is_directory(path) and any(pattern.may_match_below(path) for pattern in self.include)


ALL_FILES: Final = Selection()


def check_selected(selection: Selection, path: str) -> None:
    """Raise BadRequest for a file or directory that is not selected. The path of a directory ends in a slash."""
    if not selection.includes(path):
        raise BadRequest(f"{path} is not selected by include and exclude of the repository's spec; choose another path, or change them")


def _check(source: str) -> None:
    """Raise BadRequest for a pattern that is invalid."""
    if not source.strip("/") or len(source) > MAX_PATTERN_LENGTH:
        raise BadRequest(f"a pattern must name a file or directory, in at most {MAX_PATTERN_LENGTH} characters")
    if source.startswith("!"):
        raise BadRequest("a pattern must not begin with '!': put it into the other list, include or exclude")
    if any(part in (".", "..") for part in source.split("/")) or not source.isprintable():
        raise BadRequest("a pattern must not contain '.' or '..' segments or control characters; it is relative to the repository's root")


def _part_matcher(part: str) -> Callable[[str], bool]:
    """Return the matcher of one name in a path. The part may contain wildcards."""
    if not re.search(r"[*?[]", part):
        return part.__eq__
    # The expressions of fnmatch never backtrack, so each name is matched in linear time.
    match = re.compile(fnmatch.translate(part)).match
    return lambda name: match(name) is not None
