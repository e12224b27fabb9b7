"""Options of variables: read from a list in text, and made from the values of a data source."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.variables.values import Option

#: The maximum number of options of a variable.
MAX_OPTIONS: Final = 1_000
#: The maximum number of values of a data source from which the options are chosen.
MAX_CANDIDATES: Final = 20_000
_ITEM: Final = re.compile(r"(?:\\,|[^,])+")
_LABELLED: Final = re.compile(r"\s*(.+)\s:\s(.+)")
_NUMBER: Final = re.compile(r"\d+")
#: The number of digits of a number that determine its order. Text may have thousands, whose conversion takes long.
_MAX_DIGITS: Final = 18


def listed_options(text: str) -> list[Option]:
    """Return the options in a list such as ``a, b, Label : value``. A comma in an option is written as ``\\,``."""
    options = []
    for match in _ITEM.finditer(text):
        item = match[0].replace("\\,", ",")
        labelled = _LABELLED.fullmatch(item)
        label, value = (labelled[1], labelled[2]) if labelled else (item, item)
        options.append(Option(value.strip(), label.strip()))
    return options


def queried_options(candidates: Sequence[Option], pattern: str, sort: int) -> list[Option]:
    """Return the distinct options of a data source's values, by the variable's regular expression and sort order.

    Raises BadRequest if the regular expression is invalid or takes too long.
    """
    options = list(candidates[:MAX_CANDIDATES])
    if pattern:
        compiled = TextPattern.of(pattern)
        options = [option for candidate in options for option in _matched(candidate, compiled)]
    distinct: dict[str, Option] = {}
    for option in options:
        distinct.setdefault(option.value, option)
    return sorted_options(list(distinct.values()), sort)


def sorted_options(options: Sequence[Option], sort: int) -> list[Option]:
    """Return the options in a sort order of Grafana: 0 keeps the order, odd numbers ascend and even numbers descend."""
    key = _SORT_KEYS.get((sort + 1) // 2)
    ordered = sorted(options, key=key) if key else list(options)
    return ordered[::-1] if key and sort % 2 == 0 else ordered


def _matched(candidate: Option, pattern: TextPattern) -> list[Option]:
    """Return the options in a value: of named groups, of the first group, or the value itself."""
    matches = pattern.matches(candidate.text)
    if not matches:
        return []
    groups: dict[str, str] = {}
    for match in matches:
        for name in ("value", "text"):
            if group := match.groupdict().get(name):
                groups.setdefault(name, group)
    if groups:
        value = groups.get("value") or groups["text"]
        return [Option(value, groups.get("text") or value)]
    if not matches[0].re.groups:
        return [candidate]
    return [Option(match[1] or "", match[1] or "") for match in matches]


def _number(option: Option) -> int:
    """Return the first number in the text; -1 without one."""
    match = _NUMBER.search(option.text)
    return int(match[0][:_MAX_DIGITS]) if match else -1


def _natural(option: Option) -> list[tuple[int, int, str]]:
    """Return a sort key that orders numbers in text by their values, and numbers before other text."""
    parts = re.split(r"(\d+)", option.text.lower())
    return [(1, int(part[:_MAX_DIGITS]), "") if part.isdecimal() else (2, 0, part) for part in parts if part]


#: The sort key of each pair of an ascending and a descending sort order: key 1 of the orders 1 and 2, and so on.
_SORT_KEYS: Final[Mapping[int, Callable[[Option], Any]]] = {
    1: lambda option: option.text,
    2: _number,
    3: lambda option: option.text.lower(),
    4: _natural,
}
