"""Names of columns and labels that a panel reads from the results of its queries."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of, objects_of, string_of
from dashwright.expressions.transformations.pipeline import Step, read_steps

#: Transformations after which columns have other names, so that names in later steps are not those of queries.
_RESHAPING: Final = frozenset({"reduce", "transpose", "groupingToMatrix", "rowsToFields", "seriesToRows", "timeSeriesTable", "heatmap"})
#: A regular expression that matches only one name, such as ``/^cpu$/``.
_LITERAL_PATTERN: Final = re.compile(r"/?\^?\(?([\w .%°²³äöüß#()/-]+?)\)?\$?/?")
#: A name that a join has numbered, such as ``Value 2``.
_NUMBERED: Final = re.compile(r"(.+) \d+$")
_LABEL: Final = re.compile(r"\{\{\s*([\w.]+)\s*\}\}|\$\{__field\.labels\.(\w+)\}")
#: A name that a group has aggregated, such as ``Value (sum)``.
_AGGREGATED: Final = re.compile(r"(.+) \((\w+)\)$")


@dataclass(frozen=True, slots=True)
class ReadName:
    """A name that a panel reads, with the use of the column."""

    name: str
    use: str  #: ``number``, ``text``, ``time``, or empty if the column may have any type.


def names_read(panel: Mapping[str, Any]) -> list[ReadName]:
    """Return the names of columns that the transformations and options of a panel read and its queries must return."""
    names: dict[str, ReadName] = {}
    new_names: set[str] = set()
    for step in read_steps(panel.get("transformations")):
        for read in _names_of_step(step):
            name = _original_name(read.name)
            if name and name not in new_names and (name not in names or (read.use and not names[name].use)):
                names[name] = ReadName(name, read.use)
        new_names |= _new_names(step)
        if step.id in _RESHAPING:
            return list(names.values())
    for read in _names_of_options(object_of(panel.get("options"))):
        if read.name not in new_names:
            names.setdefault(read.name, read)
    return list(names.values())


def _original_name(name: str) -> str:
    """Return the name of a column before a join numbered it or a group aggregated it."""
    if match := _AGGREGATED.fullmatch(name):
        return match[1]
    match = _NUMBERED.fullmatch(name)
    return match[1] if match and match[1].lower() in ("time", "value") else name


def _names_of_step(step: Step) -> Iterator[ReadName]:
    """Yield the names that a transformation reads."""
    reader = _READERS.get(step.id)
    for name, use in reader(step.options) if reader else ():
        if isinstance(name, str) and name.strip():
            yield ReadName(name.strip(), use)


# Each reader yields the names in the options of one transformation, with the use of the column as in ``ReadName``.


def _organize_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for member in ("indexByName", "renameByName", "includeByName"):
        yield from ((name, "") for name in object_of(options.get(member)))


def _filter_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for name in list_of(object_of(options.get("include")).get("names")):
        yield name, ""
    yield from _literal_names(object_of(options.get("include")).get("pattern"))


def _value_filter_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for filter_ in objects_of(options.get("filters")):
        value = object_of(object_of(filter_.get("config")).get("options")).get("value")
        yield filter_.get("fieldName"), "text" if isinstance(value, str) and not value.replace(".", "").isdigit() else "number"


def _calculation_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for operand in (object_of(options.get("binary")).get("left"), object_of(options.get("binary")).get("right")):
        name = object_of(object_of(operand).get("matcher")).get("options") if isinstance(operand, dict) else operand
        if isinstance(name, str) and not name.replace(".", "").lstrip("-").isdigit():
            yield name, "number"
    for name in list_of(object_of(options.get("reduce")).get("include")):
        yield name, "number"
    yield object_of(options.get("cumulative")).get("field"), "number"
    yield object_of(options.get("window")).get("field"), "number"
    yield object_of(options.get("unary")).get("fieldName"), "number"


def _group_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for name, setting in object_of(options.get("fields")).items():
        operation = object_of(setting).get("operation")
        if operation:
            yield name, "text" if operation == "groupby" else "number"


def _sort_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for rule in objects_of(options.get("sort")):
        yield rule.get("field"), ""


def _conversion_names(options: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    for conversion in objects_of(options.get("conversions")):
        yield conversion.get("targetField"), "time" if conversion.get("destinationType") == "time" else ""


#: The readers by the id of the transformation.
_READERS: Final[Mapping[str, Any]] = {
    "organize": _organize_names,
    "filterFieldsByName": _filter_names,
    "filterByValue": _value_filter_names,
    "calculateField": _calculation_names,
    "groupBy": _group_names,
    "groupToNestedTable": _group_names,
    "sortBy": _sort_names,
    "convertFieldType": _conversion_names,
    "joinByField": lambda options: [(options.get("byField"), "")],
    "seriesToColumns": lambda options: [(options.get("byField"), "")],
    "groupingToMatrix": lambda options: [
        (options.get("columnField"), "text"),
        (options.get("rowField"), "text"),
        (options.get("valueField"), "number"),
    ],
    "extractFields": lambda options: [(options.get("source"), "text")],
    "partitionByValues": lambda options: [(name, "text") for name in list_of(options.get("fields"))],
    "formatTime": lambda options: [(options.get("timeField"), "time")],
    "formatString": lambda options: [(options.get("stringField"), "text")],
    "rowsToFields": lambda options: [(mapping.get("fieldName"), "") for mapping in objects_of(options.get("mappings"))],
    "labelsToFields": lambda options: [(options.get("valueLabel"), "text")],
}


def _new_names(step: Step) -> set[str]:
    """Return the new names of columns after a step."""
    names = {name for name in object_of(step.options.get("renameByName")).values() if isinstance(name, str)}
    if step.id == "calculateField":
        names.add(string_of(step.options.get("alias")) or "Total")
        binary = object_of(step.options.get("binary"))
        names.add(f"{binary.get('left')} {binary.get('operator')} {binary.get('right')}")
    return names - {""}


def _names_of_options(options: Mapping[str, Any]) -> Iterator[ReadName]:
    """Yield the names that the options of a panel read: the x axis, and the columns that a single value is reduced from."""
    if name := string_of(options.get("xField")):
        yield ReadName(name, "" if name.lower() == "time" else "text")
    for name, _ in _literal_names(object_of(options.get("reduceOptions")).get("fields")):
        yield ReadName(name, "")


def _literal_names(pattern: Any) -> Iterator[tuple[str, str]]:
    """Yield the names that a pattern lists, such as ``/^cpu$/``."""
    if isinstance(pattern, str) and pattern not in ("", "/.*/"):
        for part in pattern.split("|"):
            if match := _LITERAL_PATTERN.fullmatch(part):
                yield match[1], ""


def labels_in(texts: Iterable[str]) -> list[str]:
    """Return the labels that legends and display names refer to, such as ``{{instance}}``."""
    return list(dict.fromkeys(first or second for text in texts for first, second in _LABEL.findall(text)))
