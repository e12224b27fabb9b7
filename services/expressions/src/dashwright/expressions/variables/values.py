"""Values of variables, and the options from which they are chosen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: The stored value and the text of the choice *All*.
ALL: Final = "$__all"
ALL_TEXT: Final = "All"
_MAX_INTEGER: Final = 10**18
#: The maximum number of characters of a value that a message quotes.
_MAX_QUOTED: Final = 60


@dataclass(frozen=True, slots=True)
class Option:
    """A value that a variable may have, with the text that users see."""

    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a variable. If *All* is selected, ``values`` are those of all options."""

    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    is_list: bool = False  #: True if the value is a list, even of one value.
    is_selection: bool = False  #: True if the variable may have several values, so that data sources quote them.
    is_all: bool = False
    custom_all: str | None = None  #: The text that replaces *All*, with its variables interpolated.
    custom_all_template: str = ""  #: The same text as stored.
    document: Any = None  #: The JSON value in which ``${name.path}`` looks up a path.
    source_uid: str = ""  #: The data source that the value ``default`` means; otherwise empty.
    in_url: bool = True  #: True if ``$__all_variables`` contains the variable.

    @staticmethod
    def of(value: Any, text: Any = None) -> "Value":
        """Return the value of a variable for a JSON value; a list becomes several values.

        ``text`` has the texts that users see, by default the values.
        """
        values = _texts_in(value)
        texts = values if text is None else _texts_in(text)
        return Value(values, texts, is_list=isinstance(value, list), document=value)

    @property
    def first(self) -> str:
        """The first value, or an empty string."""
        return self.values[0] if self.values else ""

    @property
    def description(self) -> str:
        """The value as messages quote it."""
        if len(self.values) == 1:
            return repr(self.first[:_MAX_QUOTED])
        return f"one of {len(self.values)} values" if self.values else "no value"

    @property
    def _json_value(self) -> Any:
        if self.document is not None:
            return self.document
        return list(self.values) if self.is_list else self.first

    def at(self, path: str) -> "Value":
        """Return the part of the value at a path, such as ``0`` or ``labels.job``; empty if the value has no such part."""
        part = self._json_value
        for step in path.split("."):
            if isinstance(part, Mapping):
                part = part.get(step)
            elif isinstance(part, list) and step.isdecimal() and int(step) < len(part):
                part = part[int(step)]
            else:
                return Value(("",), ("",))
        return Value.of(part)


def _texts_in(value: Any) -> tuple[str, ...]:
    """Return the texts of the items of a list, or the text of any other JSON value."""
    return tuple(text_of(item) for item in value) if isinstance(value, list) else (text_of(value),)


def text_of(value: Any) -> str:
    """Return a JSON value as JavaScript writes it as a string. Very large integers and objects become an empty string."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str | float) and not (isinstance(value, int) and abs(value) < _MAX_INTEGER):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
