"""Label and field selectors as Kubernetes writes them, for lists, watches and deletes of collections.

::

    labels:  requirement {"," requirement}
             requirement: key | "!" key | key ("=" | "==" | "!=") [value] | key ("in" | "notin") "(" [value] {"," [value]} ")"
    fields:  term {"," term}
             term: path ("=" | "==" | "!=") [value], where "\\\\", "\\," and "\\=" are the characters themselves
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from typing import Final, NamedTuple, TypeVar

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.annotations import CLASSIC_ID_LABEL

HISTORY_LABEL: Final = "grafana.app/get-history"
"""Label by which a selector requests the generations of one object. No object has it."""
TRASH_LABEL: Final = "grafana.app/get-trash"
"""Label by which a selector requests deleted objects. No object has it."""

_TOKEN: Final = re.compile(r"\s*(?:(?P<mark>==|!=|[=!(),])|(?P<word>[^\s=!(),<>]+)|(?P<end>\Z)|(?P<other>.))", re.DOTALL)
"""A token of a label selector, after blanks. ``other`` is a character that no token may contain."""
_END: Final = ""
"""The value of the token at the end of a selector."""
_EQUAL_OPERATORS: Final = frozenset({"=", "=="})
_ID_LIMIT: Final = 2**63
"""Numeric ids are less than this number."""
_MAX_ID_DIGITS: Final = 19
"""Number of digits of the largest numeric id."""
_TERM: Final = re.compile(r"(?P<path>(?:[^\\,=!]|\\.|!(?!=))*)(?P<operator>==|!=|=)(?P<value>(?:[^\\,=]|\\[\\,=])*)", re.DOTALL)
"""A term of a field selector, as the grammar of this module describes it."""
_ESCAPED: Final = re.compile(r"\\([\\,=])")
"""An escaped character in the value of a term."""
_SELECTABLE_FIELDS: Final = ("metadata.name", "metadata.namespace")


class Operator(StrEnum):
    """The condition of a requirement on a label."""

    IN = "in"
    #: Also matches objects without the label, as in Kubernetes.
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "absent"


class Requirement(NamedTuple):
    """A condition on one label."""

    key: str
    operator: Operator
    #: The values of IN and NOT_IN.
    values: tuple[str, ...] = ()


class VersionList(Enum):
    """A list of stored versions that a label selector requests instead of the current objects."""

    #: The generations of one object.
    HISTORY = "history"
    #: Deleted objects.
    TRASH = "trash"


_Value = TypeVar("_Value", int, VersionList)


class Selection(NamedTuple):
    """A filter of objects: an object is selected if it matches every field."""

    labels: tuple[Requirement, ...] = ()
    #: The name of the object; None: any name.
    name: str | None = None
    #: Names that are not selected.
    excluded_names: tuple[str, ...] = ()
    #: The namespace of the object, for a request over all namespaces; None: any namespace.
    namespace: str | None = None
    #: Namespaces that are not selected.
    excluded_namespaces: tuple[str, ...] = ()
    #: The numeric id of the object; None: any id.
    numeric_id: int | None = None
    #: The list of stored versions to return instead of the current objects; None: the current objects.
    version_list: VersionList | None = None
    #: The field selector contradicts itself or the namespace of the request, so no object matches.
    is_empty: bool = False

    @property
    def is_everything(self) -> bool:
        """True if every object matches."""
        return self == NO_FILTER


NO_FILTER: Final = Selection()
"""The selection of every object."""


def parse_selection(label_selector: str, field_selector: str, namespace: str) -> Selection:
    """Return the selection of a label selector and a field selector.

    ``namespace`` is the namespace in the path, or empty for a request over all namespaces.

    Raises BadRequest for an invalid selector. The message names the selector, the position of the fault, counted from 1, and what is
    expected there.
    """
    labels, numeric_id, version_list = _extract_special_labels(_parse_label_selector(label_selector))
    names, excluded_names = _field_values(field_selector, "metadata.name")
    namespaces, excluded_namespaces = _field_values(field_selector, "metadata.namespace")
    name = names[0] if names else None
    selected_namespace = namespaces[0] if namespaces else None
    # An object has one name and one namespace, so two different required values select nothing.
    has_two_values = len(names) > 1 or len(namespaces) > 1
    is_empty = has_two_values or name in excluded_names or selected_namespace in excluded_namespaces
    if namespace:
        # All objects of the request have this namespace, so the conditions on it are decided here.
        is_empty = is_empty or selected_namespace not in (None, namespace) or namespace in excluded_namespaces
        selected_namespace, excluded_namespaces = None, ()
    return Selection(
        labels=labels,
        name=name,
        excluded_names=excluded_names,
        namespace=selected_namespace,
        excluded_namespaces=excluded_namespaces,
        numeric_id=numeric_id,
        version_list=version_list,
        is_empty=is_empty,
    )


def matches(selection: Selection, labels: Mapping[str, str], name: str) -> bool:
    """Return whether an object is selected. ``labels`` must include the label of the numeric id if the selection has one."""
    if selection.is_empty or name in selection.excluded_names or selection.name not in (None, name):
        return False
    if selection.numeric_id is not None and labels.get(CLASSIC_ID_LABEL) != str(selection.numeric_id):
        return False
    return all(_is_met(requirement, labels.get(requirement.key)) for requirement in selection.labels)


def _is_met(requirement: Requirement, value: str | None) -> bool:
    """Return whether the value of a label meets a requirement. The value of a missing label is None."""
    match requirement.operator:
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            return value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.ABSENT:
            return value is None


class _Token(NamedTuple):
    """A token of a selector."""

    #: ``_END`` at the end of the selector.
    value: str
    is_word: bool
    #: Index of the first character, counted from 1.
    position: int


def _tokens(selector: str) -> Iterator[_Token]:
    """Yield the tokens of a label selector, the last of which is its end."""
    position = 0
    while True:
        match = _TOKEN.match(selector, position)
        assert match is not None, "any character is a token, and so is the end"
        assert match.lastgroup is not None
        yield _Token(match[match.lastgroup], match.lastgroup == "word", match.start(match.lastgroup) + 1)
        if match.lastgroup == "end":
            return
        position = match.end()


class _LabelSelectorParser:
    """Recursive descent parser of a label selector."""

    def __init__(self, selector: str) -> None:
        self._tokens = tuple(_tokens(selector))
        self._index = 0

    def requirements(self) -> Iterator[Requirement]:
        """Yield the requirements. Raises BadRequest for a syntax error."""
        if self._is_current(_END):
            return
        yield self._requirement()
        while not self._is_current(_END):
            self._expect(",", "a comma or the end")
            yield self._requirement()

    def _requirement(self) -> Requirement:
        """Read one requirement, and return it."""
        if self._is_current("!"):
            self._index += 1
            return Requirement(self._word("a label after '!'"), Operator.ABSENT)
        key = self._word("a label")
        if self._is_current(_END, ","):
            return Requirement(key, Operator.EXISTS)
        operator = self._current_token
        self._index += 1
        if operator.value in _EQUAL_OPERATORS:
            return Requirement(key, Operator.IN, (self._value(),))
        if operator.value == "!=":
            return Requirement(key, Operator.NOT_IN, (self._value(),))
        # "in" and "notin" are ordinary words, so they are labels wherever a label is expected.
        if operator.value in (Operator.IN, Operator.NOT_IN):
            return Requirement(key, Operator(operator.value), self._values())
        raise _parse_error("labelSelector", operator, "=, ==, !=, in, notin, a comma or the end")

    def _values(self) -> tuple[str, ...]:
        """Read a list of values in parentheses, and return them without duplicates."""
        self._expect("(", "'('")
        if self._is_current(")"):
            raise _parse_error("labelSelector", self._current_token, "a value")
        values = [self._value()]
        while self._is_current(","):
            self._index += 1
            values.append(self._value())
        self._expect(")", "a comma or ')'")
        return tuple(dict.fromkeys(values))

    def _value(self) -> str:
        """Read one value, which may be empty, and return it."""
        return self._word("a value") if self._current_token.is_word else ""

    def _word(self, expected: str) -> str:
        """Read a word, and return it. For another token, raise BadRequest with the description of what is ``expected``."""
        if not self._current_token.is_word:
            raise _parse_error("labelSelector", self._current_token, expected)
        self._index += 1
        return self._tokens[self._index - 1].value

    def _expect(self, mark: str, expected: str) -> None:
        """Read a mark. For another token, raise BadRequest with the description of what is ``expected``."""
        if not self._is_current(mark):
            raise _parse_error("labelSelector", self._current_token, expected)
        self._index += 1

    def _is_current(self, *marks: str) -> bool:
        """Return whether the current token is one of these marks, of which ``_END`` is one."""
        return not self._current_token.is_word and self._current_token.value in marks

    @property
    def _current_token(self) -> _Token:
        return self._tokens[self._index]


def _parse_label_selector(selector: str) -> tuple[Requirement, ...]:
    return tuple(_LabelSelectorParser(selector).requirements())


def _parse_error(selector: str, token: _Token, expected: str) -> BadRequest:
    """Return the error for a token of ``labelSelector`` or ``fieldSelector`` (``selector``)."""
    description = f"{token.value[:80]!r}" if token.value else "the end"
    return BadRequest(f"unable to parse the {selector}: found {description} at character {token.position}, expected {expected}")


def _extract_special_labels(requirements: tuple[Requirement, ...]) -> tuple[tuple[Requirement, ...], int | None, VersionList | None]:
    """Return the requirements on stored labels, the numeric id, and the version list. None for a part that is not requested."""
    # Grafana's clients select the numeric id, the history and the trash by labels that no object stores.
    labels = []
    numeric_id = None
    version_list = None
    for requirement in requirements:
        if requirement.key == CLASSIC_ID_LABEL:
            numeric_id = _consistent_value(requirement, numeric_id, _numeric_id_of(requirement))
        elif requirement.key in (HISTORY_LABEL, TRASH_LABEL):
            if (requirement.operator, requirement.values) != (Operator.IN, ("true",)):
                raise BadRequest(f"the labelSelector supports only {requirement.key}=true")
            version_list = _consistent_value(
                requirement, version_list, VersionList.HISTORY if requirement.key == HISTORY_LABEL else VersionList.TRASH
            )
        else:
            labels.append(requirement)
    return tuple(labels), numeric_id, version_list


def _numeric_id_of(requirement: Requirement) -> int:
    """Return the numeric id that a requirement selects. Raises BadRequest for any other condition."""
    if requirement.operator is Operator.IN and len(requirement.values) == 1:
        value = requirement.values[0]
        is_number = value.isascii() and value.isdigit() and len(value) <= _MAX_ID_DIGITS
        if is_number and int(value) < _ID_LIMIT:
            return int(value)
    raise BadRequest(f"the labelSelector supports only {CLASSIC_ID_LABEL}=N with a whole number N")


def _consistent_value(requirement: Requirement, previous: _Value | None, value: _Value) -> _Value:
    """Return ``value``. Raises BadRequest if an earlier requirement on the same label has another value."""
    if previous not in (None, value):
        raise BadRequest(f"the labelSelector has several values of {requirement.key}; send one request for each")
    return value


def _field_terms(selector: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the path of each term, whether the field must be equal to the value, and the value."""
    position = 0
    while position < len(selector):
        # As in Kubernetes, empty terms are ignored.
        if selector[position] == ",":
            position += 1
            continue
        match = _TERM.match(selector, position)
        end = len(selector) if match is None else match.end()
        if match is None or (end < len(selector) and selector[end] != ","):
            fault_position = position if match is None else end
            fault_token = _Token(selector[fault_position:], is_word=True, position=fault_position + 1)
            raise _parse_error("fieldSelector", fault_token, "FIELD=VALUE, FIELD==VALUE or FIELD!=VALUE, between commas")
        path = match["path"].strip()
        if path not in _SELECTABLE_FIELDS:
            expected = f"one of the fields that can be selected by: {', '.join(_SELECTABLE_FIELDS)}"
            raise _parse_error("fieldSelector", _Token(path, is_word=True, position=position + 1), expected)
        yield path, match["operator"] in _EQUAL_OPERATORS, _ESCAPED.sub(r"\1", match["value"])
        position = end


def _field_values(selector: str, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values that a field must have and the values that it must not have, without duplicates."""
    terms = [(is_equal, value) for term_path, is_equal, value in _field_terms(selector) if term_path == path]
    required_values = dict.fromkeys(value for is_equal, value in terms if is_equal)
    excluded_values = dict.fromkeys(value for is_equal, value in terms if not is_equal)
    return tuple(required_values), tuple(excluded_values)
