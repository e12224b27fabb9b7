"""Regular expressions that users write, in JavaScript's notation, with a limit of time for all matches of one pattern."""

from functools import partial
from time import monotonic
from typing import Final

import regex

from dashwright.common.errors import BadRequest
from dashwright.expressions.javascript.pattern_syntax import translate
from dashwright.expressions.javascript.values import UNDEFINED, Undefined

#: Seconds that one pattern may take for all texts.
_SECONDS: Final = 1.0
#: The timeout of a search after that time, since 0 would be no timeout.
_MIN_SECONDS: Final = 1e-3
#: The maximum number of characters of a pattern.
_MAX_LENGTH: Final = 1_000
#: The number of characters of a text that are searched.
_MAX_TEXT_LENGTH: Final = 100_000
#: The maximum number of characters of a pattern that an error quotes.
_MAX_QUOTED: Final = 80
_MAX_MATCHES: Final = 10_000
_SLASHED: Final = regex.compile(r"/(.*?)/(g?i?m?y?s?)", regex.DOTALL)
_REFERENCE: Final = regex.compile(r"\$(\$|&|`|'|\d{1,2}|<[^>]*>)")


class TextPattern:
    """A regular expression that searches text."""

    def __init__(self, source: str, flags: str = "") -> None:
        """Compile a regular expression without slashes. Raises BadRequest if it is invalid or too long."""
        self._source = source
        self._is_global = "g" in flags
        self._seconds = _SECONDS
        if len(source) > _MAX_LENGTH:
            raise BadRequest(f"the regular expression has {len(source)} characters; shorten it to {_MAX_LENGTH}")
        try:
            self._pattern = regex.compile(translate(source, flags), regex.IGNORECASE if "i" in flags else 0)
        except (regex.error, OverflowError, RecursionError) as error:
            # The library's position is that in the translated pattern.
            problem = str(error).partition(" at position ")[0]
            raise BadRequest(f"the regular expression {source[:_MAX_QUOTED]!r} is invalid: {problem}") from error

    @staticmethod
    def of(text: str) -> "TextPattern":
        """Return the pattern of an option: ``/pattern/flags``, or a pattern that must match as a whole.

        Raises BadRequest if it is invalid.
        """
        if not text.startswith("/"):
            return TextPattern(f"^{text}$")
        match = _SLASHED.fullmatch(text) if len(text) <= _MAX_LENGTH else None
        if match is None:
            raise BadRequest(f"{text[:_MAX_QUOTED]!r} is not a regular expression; write it as /pattern/flags")
        return TextPattern(match[1], match[2])

    def search(self, text: str) -> "regex.Match[str] | None":
        """Return the first match in a text. Raises BadRequest if the matches of this pattern take too long."""
        return next(iter(self._matches(text, 1)), None)

    def matches(self, text: str) -> "list[regex.Match[str]]":
        """Return the first match, or with the flag ``g`` all that are not empty. Raises BadRequest if they take too long."""
        if self._is_global:
            return [match for match in self._matches(text, _MAX_MATCHES) if match[0]]
        return self._matches(text, 1)

    def named_groups(self, text: str) -> "dict[str, str | Undefined] | None":
        """Return the named groups of the first match, undefined for a group that did not match.

        The result is None without a match, or if the pattern has no named groups.

        Raises BadRequest if the matches of this pattern take too long.
        """
        match, names = self.search(text), self._pattern.groupindex
        if match is None or not names:
            return None
        return {name: UNDEFINED if match[name] is None else match[name] for name in sorted(names, key=names.__getitem__)}

    def replaced(self, text: str, replacement: str) -> str:
        """Return the text with the first match replaced, or all matches with the flag ``g``.

        References such as ``$1``, ``$&`` and ``$<name>`` in the replacement are those of JavaScript. Raises BadRequest if the
        matches of this pattern take too long.
        """
        parts, end = [], 0
        for match in self._matches(text, _MAX_MATCHES if self._is_global else 1):
            parts += [text[end : match.start()], _REFERENCE.sub(partial(_reference, match), replacement)]
            end = match.end()
        return "".join(parts) + text[end:]

    def split(self, text: str) -> list[str]:
        """Return the parts of a text between the matches. Raises BadRequest if the matches of this pattern take too long."""
        parts, end = [], 0
        for match in self._matches(text, _MAX_MATCHES):
            parts.append(text[end : match.start()])
            end = match.end()
        return [*parts, text[end:]]

    def _matches(self, text: str, limit: int) -> "list[regex.Match[str]]":
        """Return the first matches, one after the other. After an empty match, the next one starts a character later."""
        matches: list[regex.Match[str]] = []
        text, position, start = text[:_MAX_TEXT_LENGTH], 0, monotonic()
        try:
            while len(matches) < limit and position <= len(text):
                seconds = max(self._seconds - (monotonic() - start), _MIN_SECONDS)
                # ``concurrent`` releases the interpreter lock, so that other threads run during a slow search.
                match = self._pattern.search(text, position, timeout=seconds, concurrent=True)
                if match is None:
                    break
                matches.append(match)
                position = match.end() + (not match[0])
        except TimeoutError as error:
            problem = f"the regular expression {self._source[:_MAX_QUOTED]!r} takes longer than {_SECONDS:g} s; simplify it"
            raise BadRequest(problem) from error
        finally:
            self._seconds -= monotonic() - start
        return matches


def _reference(match: "regex.Match[str]", reference: "regex.Match[str]") -> str:
    """Return the text of a reference such as ``$1`` or ``$&`` in a replacement; references to unknown groups are unchanged."""
    name, count = reference[1], match.re.groups
    if name.startswith("<"):
        groups = match.groupdict()
        return (groups.get(name[1:-1]) or "") if groups else f"${name}"
    if not name.isdecimal():
        return {"$": "$", "&": match[0], "`": match.string[: match.start()], "'": match.string[match.end() :]}[name]
    if 1 <= int(name) <= count:
        return match[int(name)] or ""
    if len(name) == 2 and 1 <= int(name[0]) <= count:
        return (match[int(name[0])] or "") + name[1]
    return f"${name}"
