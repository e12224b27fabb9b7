"""Which files of a repository are synced: glob patterns to include and to exclude, with the meaning of gitignore.

A pattern with a slash in it (not only at its end) counts from the root, any other at every depth. ``*``, ``?`` and ``[…]`` stay within one
part, ``**`` stands for any number of directories. A pattern that matches a directory covers everything in it; one that ends in a slash, or
in ``/**``, matches directories only.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.models.provisioning import RepositorySpec

MOST_PATTERNS: Final = 100
LONGEST_PATTERN: Final = 500

_ANY_DEPTH: Final = "**"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One glob pattern; ``steps`` match the parts of a path one by one, None stands for any number of them."""

    steps: tuple[Callable[[str], bool] | None, ...]
    only_directories: bool

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """Raise BadRequest for a text that is no pattern."""
        _check(text)
        plain = text.removesuffix("/**").rstrip("/")
        only_directories = plain != text
        anchored = "/" in text.rstrip("/")
        parts = [part for part in plain.split("/") if part]
        steps = [None if part == _ANY_DEPTH else _step(part) for part in parts]
        return cls((*([] if anchored else [None]), *steps), only_directories)

    def covers(self, path: str) -> bool:
        """Return whether a file, or a directory (its path ends in a slash), or one above it is matched."""
        parts = path.rstrip("/").split("/")
        last = len(parts) - (self.only_directories and not paths.is_directory(path))
        states = self._open({0})
        for part in parts[:last]:
            states = self._advance(states, part)
            if len(self.steps) in states:
                return True
        return False

    def may_cover_below(self, directory: str) -> bool:
        """Return whether something in a directory may be matched."""
        states = self._open({0})
        for part in directory.rstrip("/").split("/"):
            states = self._advance(states, part)
        return bool(states)

    def _advance(self, states: set[int], part: str) -> set[int]:
        """Return where in the pattern one more part of the path leads."""
        found = set()
        for state in states:
            if state == len(self.steps):
                continue
            step = self.steps[state]
            if step is None:
                found.add(state)
            elif step(part):
                found.add(state + 1)
        return self._open(found)

    def _open(self, states: set[int]) -> set[int]:
        """Add the states behind ``**``, which may stand for no directory at all."""
        found = set(states)
        for state in sorted(states):
            step = state
            while step < len(self.steps) and self.steps[step] is None:
                step += 1
                found.add(step)
        return found


@dataclass(frozen=True, slots=True)
class Selection:
    """The files that a repository chooses; without ``include`` all of them, less those in ``exclude``."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @classmethod
    def of(cls, include: Sequence[str] | None, exclude: Sequence[str] | None) -> "Selection":
        """Raise BadRequest for a text that is no pattern."""
        return cls(tuple(map(Pattern.parse, include or ())), tuple(map(Pattern.parse, exclude or ())))

    @classmethod
    def of_repository(cls, spec: RepositorySpec) -> "Selection":
        """Return what an admitted spec chooses."""
        return cls.of(spec.selected.include, spec.selected.exclude)

    def takes(self, path: str) -> bool:
        """Return whether a file is chosen; of a directory, whether something in it may be."""
        if any(pattern.covers(path) for pattern in self.exclude):
            return False
        if not self.include or any(pattern.covers(path) for pattern in self.include):
            return True
        return paths.is_directory(path) and any(pattern.may_cover_below(path) for pattern in self.include)


ALL_FILES: Final = Selection()


def check_selected(selection: Selection, path: str) -> None:
    """Raise BadRequest for a file, or a directory (its path ends in a slash), that is left out."""
    if not selection.takes(path):
        raise BadRequest(f"{path} is left out by include or exclude in the repository's spec: choose another path, or change these")


def _check(text: str) -> None:
    if not text.strip("/") or len(text) > LONGEST_PATTERN:
        raise BadRequest(f"a pattern names files or directories, in {LONGEST_PATTERN} characters at most")
    if text.startswith("!"):
        raise BadRequest("a pattern does not begin with '!': put it into the other list, include or exclude")
    if any(part in (".", "..") for part in text.split("/")) or not text.isprintable():
        raise BadRequest("a pattern holds no '.' or '..' as a part and no control character; it counts from the root of the repository")


def _step(part: str) -> Callable[[str], bool]:
    if not re.search(r"[*?[]", part):
        return part.__eq__
    # Its expressions never go back: each name is matched in linear time.
    matching = re.compile(fnmatch.translate(part)).match
    return lambda name: matching(name) is not None
