"""Value mappings of texts and booleans: the text and the colour that a panel's configuration gives them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.theme import colour_of
from dashwright.expressions.variables.patterns import Pattern

#: Further mappings of a field are ignored.
_MAX_MAPPINGS: Final = 500
#: Regular expressions of a field. Further ones are ignored, because each may take a second.
_MAX_PATTERNS: Final = 20
_MAX_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class MappedValue:
    """A value as a panel shows it."""

    text: str
    colour: str | None  #: None if no mapping has a colour.


class TextMappings:
    """The mappings of a field for texts and booleans. An invalid regular expression, or one that takes too long, matches nothing."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._mappings = objects_of(style.config.get("mappings"))[:_MAX_MAPPINGS]
        self._patterns: dict[int, Pattern | None] = {}

    def mapped(self, value: str | bool | None) -> MappedValue:
        """Return the value as text, with the result of the first mapping that matches."""
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else value[:_MAX_LENGTH]
        for mapping_text, result in self._results(value, text):
            return MappedValue((mapping_text or text)[:_MAX_LENGTH], colour_of(result.get("color"), self._style.theme))
        return MappedValue(text or string_of(self._style.config.get("noValue"))[:_MAX_LENGTH], None)

    def _results(self, value: str | bool | None, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the text and the result of each mapping that matches; the text is empty if only the colour changes."""
        for index, mapping in enumerate(self._mappings):
            kind, options = mapping.get("type"), object_of(mapping.get("options"))
            result = object_of(options.get("result"))
            if kind == "value" and value is not None and isinstance(options.get(text), dict):
                yield string_of(options[text].get("text")), options[text]
            elif kind == "special" and _is_special(value, options.get("match")):
                yield string_of(result.get("text")), result
            elif kind == "regex" and isinstance(value, str) and (replaced := self._replaced(index, options, text)) is not None:
                yield replaced, result

    def _replaced(self, index: int, options: Mapping[str, Any], text: str) -> str | None:
        """Return the text of a mapping by pattern, in which ``$1`` is the first group; None if the pattern does not match."""
        if index not in self._patterns:
            self._patterns[index] = self._pattern(string_of(options.get("pattern")))
        pattern = self._patterns[index]
        try:
            matches = pattern.matches(text) if pattern else ()
        except BadRequest:
            self._patterns = dict.fromkeys(range(len(self._mappings)))
            return None
        if not matches:
            return None
        match = matches[0]
        new_text = string_of(object_of(options.get("result")).get("text"))
        for group, content in enumerate(match.groups()[:9], 1):
            new_text = new_text.replace(f"${group}", content or "")
        return text[: match.start()] + new_text + text[match.end() :] if new_text else ""

    def _pattern(self, source: str) -> Pattern | None:
        if len(self._patterns) >= _MAX_PATTERNS:
            return None
        try:
            return Pattern(source)
        except BadRequest:
            return None


def _is_special(value: str | bool | None, match: Any) -> bool:
    if value is None:
        return match in ("null", "null+nan")
    return (match == "true" and value is True) or (match == "false" and value is False) or (match == "empty" and value == "")
