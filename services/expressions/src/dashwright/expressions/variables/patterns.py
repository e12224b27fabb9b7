"""Regular expressions that users write, in JavaScript's notation, with a limit of time for all matches."""

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final

import regex

from dashwright.common.errors import BadRequest

#: Seconds that one pattern may take for all texts of a variable.
_SECONDS: Final = 1.0
_MAX_LENGTH: Final = 1_000
_MAX_QUOTED: Final = 80


class Pattern:
    """A regular expression as users write it: ``/pattern/flags``, or text that must match as a whole."""

    def __init__(self, source: str) -> None:
        """Compile the pattern. Raises BadRequest if it is invalid or too long."""
        self._source = source
        body, _, flags = source[1:].rpartition("/") if source.startswith("/") else (f"^(?:{source})$", "", "")
        if len(source) > _MAX_LENGTH:
            raise BadRequest(f"the regular expression has {len(source)} characters; shorten it to {_MAX_LENGTH}")
        self.is_global = "g" in flags
        try:
            self._pattern = regex.compile(body, (regex.IGNORECASE if "i" in flags else 0) | (regex.DOTALL if "s" in flags else 0))
        except (regex.error, OverflowError, RecursionError) as error:
            raise BadRequest(f"the regular expression {source[:_MAX_QUOTED]!r} is invalid: {error}") from error
        self._end = monotonic() + _SECONDS

    def matches(self, text: str) -> Sequence["regex.Match[str]"]:
        """Return the first match, or all matches if the pattern has the flag ``g``. Raises BadRequest if it takes too long."""
        try:
            return list(self._find(text))
        except TimeoutError as error:
            problem = f"the regular expression {self._source[:_MAX_QUOTED]!r} takes longer than {_SECONDS:g} s; simplify it"
            raise BadRequest(problem) from error

    def _find(self, text: str) -> Iterator["regex.Match[str]"]:
        remaining = self._end - monotonic()
        if remaining <= 0:
            raise TimeoutError
        if self.is_global:
            yield from (match for match in self._pattern.finditer(text, timeout=remaining, concurrent=True) if match[0])
        elif match := self._pattern.search(text, timeout=remaining, concurrent=True):
            yield match
