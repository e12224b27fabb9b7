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
from dashwright.common.kinds.annotations import NUMBER_LABEL

HISTORY_LABEL: Final = "grafana.app/get-history"
TRASH_LABEL: Final = "grafana.app/get-trash"

_TOKEN: Final = re.compile(r"\s*(?:(?P<mark>==|!=|[=!(),])|(?P<word>[^\s=!(),<>]+)|(?P<end>\Z)|(?P<other>.))", re.DOTALL)
_EQUAL: Final = frozenset({"=", "=="})
_LARGEST_NUMBER: Final = 2**63
_TERM: Final = re.compile(r"(?P<path>(?:[^\\,=!]|\\.|!(?!=))*)(?P<operator>==|!=|=)(?P<value>(?:[^\\,=]|\\[\\,=])*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([\\,=])")
_FIELDS: Final = ("metadata.name", "metadata.namespace")


class Operator(StrEnum):
    """The comparison of a label."""

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


class SpecialList(Enum):
    """A list that a label selects instead of objects."""

    #: The generations of one object.
    HISTORY = "history"
    #: Deleted objects.
    TRASH = "trash"


_Value = TypeVar("_Value", int, SpecialList)


class Selection(NamedTuple):
    """Objects that meet every requirement."""

    labels: tuple[Requirement, ...] = ()
    #: The only name; None: any.
    name: str | None = None
    other_names: tuple[str, ...] = ()
    #: The only namespace, for a request over all namespaces.
    namespace: str | None = None
    other_namespaces: tuple[str, ...] = ()
    #: The numeric id of the only object.
    number: int | None = None
    #: The list to return instead of objects.
    special: SpecialList | None = None
    #: The fields exclude each other or the namespace of the request, so no object matches.
    is_empty: bool = False

    @property
    def is_everything(self) -> bool:
        """Return whether every object matches."""
        return self == EVERYTHING


EVERYTHING: Final = Selection()


def parse_selection(label_selector: str, field_selector: str, namespace: str) -> Selection:
    """Return the selection of two selectors. ``namespace`` is that of the path, empty for a request over all namespaces.

    Raises BadRequest with the selector, the position of the fault, counted from 1, and what is allowed there.
    """
    labels, number, special = _split_special(_requirements(label_selector))
    names, other_names = _field(field_selector, "metadata.name")
    namespaces, other_namespaces = _field(field_selector, "metadata.namespace")
    name, only = (found[0] if found else None for found in (names, namespaces))
    is_empty = len(names) > 1 or len(namespaces) > 1 or name in other_names or only in other_namespaces
    if namespace:
        is_empty = is_empty or only not in (None, namespace) or namespace in other_namespaces
        only, other_namespaces = None, ()
    return Selection(labels, name, other_names, only, other_namespaces, number, special, is_empty)


def matches(selection: Selection, labels: Mapping[str, str], name: str) -> bool:
    """Return whether an object is selected. For a selection by number, ``labels`` contain the number."""
    if selection.is_empty or name in selection.other_names or selection.name not in (None, name):
        return False
    if selection.number is not None and labels.get(NUMBER_LABEL) != str(selection.number):
        return False
    return all(_is_met(requirement, labels.get(requirement.key)) for requirement in selection.labels)


def _is_met(requirement: Requirement, value: str | None) -> bool:
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

    #: Empty at the end of the selector.
    text: str
    is_word: bool
    #: Counted in characters from 1.
    position: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        assert found is not None, "any character is a token, and so is the end"
        assert found.lastgroup is not None
        yield _Token(found[found.lastgroup], found.lastgroup == "word", found.start(found.lastgroup) + 1)
        if found.lastgroup == "end":
            return
        at = found.end()


class _Reader:
    """Recursive descent parser of a label selector."""

    def __init__(self, text: str) -> None:
        self._tokens = tuple(_tokens(text))
        self._at = 0

    def all(self) -> Iterator[Requirement]:
        """Yield the requirements."""
        if self._is_at(""):
            return
        yield self._requirement()
        while not self._is_at(""):
            self._take(",", "a comma or the end")
            yield self._requirement()

    def _requirement(self) -> Requirement:
        if self._is_at("!"):
            self._at += 1
            return Requirement(self._word("a label after '!'"), Operator.ABSENT)
        key = self._word("a label")
        if self._is_at("", ","):
            return Requirement(key, Operator.EXISTS)
        operator = self._here
        self._at += 1
        if operator.text in _EQUAL:
            return Requirement(key, Operator.IN, (self._value(),))
        if operator.text == "!=":
            return Requirement(key, Operator.NOT_IN, (self._value(),))
        # "in" and "notin" are ordinary words, so they are labels wherever a label is expected.
        if operator.text in (Operator.IN, Operator.NOT_IN):
            return Requirement(key, Operator(operator.text), self._values())
        raise _fault("labelSelector", operator, "=, ==, !=, in, notin, a comma or the end")

    def _values(self) -> tuple[str, ...]:
        self._take("(", "'('")
        if self._is_at(")"):
            raise _fault("labelSelector", self._here, "a value")
        values = [self._value()]
        while self._is_at(","):
            self._at += 1
            values.append(self._value())
        self._take(")", "a comma or ')'")
        return tuple(dict.fromkeys(values))

    def _value(self) -> str:
        """Return one value, which may be empty."""
        return self._word("a value") if self._here.is_word else ""

    def _word(self, expected: str) -> str:
        if not self._here.is_word:
            raise _fault("labelSelector", self._here, expected)
        self._at += 1
        return self._tokens[self._at - 1].text

    def _take(self, mark: str, expected: str) -> None:
        if not self._is_at(mark):
            raise _fault("labelSelector", self._here, expected)
        self._at += 1

    def _is_at(self, *marks: str) -> bool:
        return not self._here.is_word and self._here.text in marks

    @property
    def _here(self) -> _Token:
        return self._tokens[self._at]


def _requirements(text: str) -> tuple[Requirement, ...]:
    return tuple(_Reader(text).all())


def _fault(selector: str, found: _Token, expected: str) -> BadRequest:
    what = f"{found.text[:80]!r}" if found.text else "the end"
    return BadRequest(f"unable to parse the {selector}: found {what} at character {found.position}, expected {expected}")


def _split_special(requirements: tuple[Requirement, ...]) -> tuple[tuple[Requirement, ...], int | None, SpecialList | None]:
    """Return requirements on labels of objects, the number, and the special list. The labels of the last two exist on no object."""
    # Grafana's clients select the numeric id, the history and the trash by labels, since field selectors have fixed fields.
    labels, number, special = [], None, None
    for requirement in requirements:
        if requirement.key == NUMBER_LABEL:
            number = _only(requirement, number, _number_of(requirement))
        elif requirement.key in (HISTORY_LABEL, TRASH_LABEL):
            if requirement[1:] != (Operator.IN, ("true",)):
                raise BadRequest(f"the labelSelector supports only {requirement.key}=true")
            special = _only(requirement, special, SpecialList.HISTORY if requirement.key == HISTORY_LABEL else SpecialList.TRASH)
        else:
            labels.append(requirement)
    return tuple(labels), number, special


def _number_of(requirement: Requirement) -> int:
    if requirement.operator is Operator.IN and len(requirement.values) == 1:
        text = requirement.values[0]
        if text.isascii() and text.isdigit() and len(text) < 20 and int(text) < _LARGEST_NUMBER:
            return int(text)
    raise BadRequest(f"the labelSelector supports only {NUMBER_LABEL}=N with a whole number N")


def _only(requirement: Requirement, before: _Value | None, found: _Value) -> _Value:
    if before not in (None, found):
        raise BadRequest(f"the labelSelector has several values of {requirement.key}; send one request for each")
    return found


def _terms(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield path, equality and value of each term."""
    at = 0
    while at < len(text):
        if text[at] == ",":
            at += 1
            continue
        found = _TERM.match(text, at)
        end = len(text) if found is None else found.end()
        if found is None or (end < len(text) and text[end] != ","):
            place = at if found is None else end
            raise _fault(
                "fieldSelector", _Token(text[place:], True, place + 1), "FIELD=VALUE, FIELD==VALUE or FIELD!=VALUE, between commas"
            )
        path = found["path"].strip()
        if path not in _FIELDS:
            raise _fault("fieldSelector", _Token(path, True, at + 1), f"one of the fields that can be selected by: {', '.join(_FIELDS)}")
        yield path, found["operator"] in _EQUAL, _ESCAPED.sub(r"\1", found["value"])
        at = end


def _field(text: str, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values that a field must have and those it must not have, without duplicates."""
    terms = [(is_equal, value) for found, is_equal, value in _terms(text) if found == path]
    equal, unequal = (tuple(dict.fromkeys(value for is_equal, value in terms if is_equal is expected)) for expected in (True, False))
    return equal, unequal
