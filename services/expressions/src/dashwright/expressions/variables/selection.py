"""Selection of a variable's value from its options, by Grafana's rules for saved values that are missing or out of date."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from dashwright.expressions.variables.definitions import Definition
from dashwright.expressions.variables.values import ALL, ALL_TEXT, Option, Value, text_of

#: The maximum number of values that are selected, and of characters of each.
MAX_SELECTED: Final = 1_000
MAX_VALUE_LENGTH: Final = 10_000


def select(definition: Definition, options: Sequence[Option], from_url: Sequence[str] | None = None) -> Value:
    """Return the value of a variable: the one in the URL, else the saved one if it is an option, else the default.

    The default is *All* if the variable includes it, else the first option. The text that replaces *All* is not yet set.
    """
    if from_url is not None:
        return _from_url(definition, options, from_url)
    saved = _strings(definition.current.get("value"))
    texts = _strings(definition.current.get("text"))
    if ALL in saved and definition.includes_all:
        return all_of(definition, options)
    if not options and definition.includes_all:
        return _value(definition, [Option(value, value) for value in saved]) if any(saved) else all_of(definition, ())
    chosen = [option for option in map(_option_finder(options), saved) if option]
    if not definition.is_multi:
        # The saved text finds an option whose value has changed.
        chosen = (chosen or [option for option in options if option.text in texts and option.text])[:1]
    if not chosen:
        return all_of(definition, options) if definition.includes_all else _value(definition, options[:1])
    return _value(definition, chosen)


def all_of(definition: Definition, options: Sequence[Option]) -> Value:
    """Return the value *All* of a variable with these options."""
    values = tuple(option.value for option in options[:MAX_SELECTED])
    return Value(values, (ALL_TEXT,), is_list=True, is_selection=True, is_all=True)


def _from_url(definition: Definition, options: Sequence[Option], url_values: Sequence[str]) -> Value:
    """Return the values of a URL, which are kept even if they are not options."""
    if definition.includes_all and any(value in (ALL, ALL_TEXT) or (value and value == definition.all_value) for value in url_values):
        return all_of(definition, options)
    find = _option_finder(options)
    chosen = [find(value) or next((option for option in options if option.text == value), Option(value, value)) for value in url_values]
    return _value(definition, chosen)


def _value(definition: Definition, chosen: Sequence[Option]) -> Value:
    """Return the value with the chosen options, of which a variable for single values has only the first."""
    limited = chosen[:MAX_SELECTED] if definition.is_multi else (chosen[:1] or [Option("", "")])
    return Value(
        tuple(option.value[:MAX_VALUE_LENGTH] for option in limited),
        tuple(option.text[:MAX_VALUE_LENGTH] for option in limited),
        is_list=definition.is_multi,
        is_selection=definition.is_multi or definition.includes_all,
    )


def _option_finder(options: Sequence[Option]) -> Callable[[str], Option | None]:
    """Return a function that returns the first option with a value, or None."""
    by_value: dict[str, Option] = {}
    for option in options:
        by_value.setdefault(option.value, option)
    return by_value.get


def _strings(value: Any) -> list[str]:
    """Return the strings and numbers in a saved value, which is a list or a single value."""
    items = value if isinstance(value, list) else [value]
    return [text_of(item) for item in items[:MAX_SELECTED] if isinstance(item, str | int | float) and not isinstance(item, bool)]
