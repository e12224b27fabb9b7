"""Checks of JSON values, from which the schema of a version is built. Null counts as missing."""

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from dashwright.common.conversion.parts import MAX_NUMBER
from dashwright.common.errors import Cause
from dashwright.common.models.causes import MAX_CAUSES

#: Path to a value: the path of its parent, and its name or index in the parent. The path of the document is empty.
Path = tuple[Any, ...]

#: Maximum number of characters of a name or value in a fault. Clients choose them, and responses contain them.
_MAX_NAME_LENGTH: Final = 100


class TooManyFaults(Exception):
    """Document with so many faults that the rest is not checked."""


class Findings:
    """Faults and unknown members found so far in one document."""

    def __init__(self) -> None:
        self.faults: list[Cause] = []  #: Wrong types, missing members, and everything else that is never allowed.
        self.unknown: list[Cause] = []  #: Members that the schema does not define.
        self.references: list[tuple[Path, str]] = []  #: Names of elements to which the layout refers.
        self.layout_depth = 0  #: Number of layouts around the current one.

    def required(self, path: Path, label: str) -> None:
        """Add a fault for a missing value, which must be ``label``: for example ``set``."""
        self._add(path, "FieldValueRequired", f"Required value: must be {label}")

    def invalid(self, path: Path, value: Any, message: str) -> None:
        """Add a fault for an invalid value."""
        self._add(path, "FieldValueInvalid", f"Invalid value: {_excerpt(value)}: {message}")

    def unsupported(self, path: Path, value: Any, supported: Collection[str]) -> None:
        """Add a fault for a value outside a fixed set."""
        values = ", ".join(f'"{item}"' for item in supported)
        self._add(path, "FieldValueNotSupported", f"Unsupported value: {_excerpt(value)}: supported values: {values}")

    def duplicate(self, path: Path, value: str) -> None:
        """Add a fault for a name that occurs twice."""
        self._add(path, "FieldValueDuplicate", f"Duplicate value: {_excerpt(value)}: choose another name")

    def not_found(self, path: Path, value: str, message: str) -> None:
        """Add a fault for the name of something that does not exist."""
        self._add(path, "FieldValueNotFound", f"Not found: {_excerpt(value)}: {message}")

    def unknown_member(self, path: Path, name: str, known: Collection[str]) -> None:
        """Add a member that the schema does not define."""
        if len(self.unknown) < MAX_CAUSES:
            similar = difflib.get_close_matches(name, known, n=1)
            advice = f'did you mean "{similar[0]}"?' if similar else "leave it out"
            self.unknown.append(Cause(_path_text((path, name)), "FieldValueForbidden", f"Forbidden: unknown field; {advice}"))

    def _add(self, path: Path, reason: str, message: str) -> None:
        self.faults.append(Cause(_path_text(path), reason, message))
        # A response lists no more faults, so the search for them ends.
        if len(self.faults) == MAX_CAUSES:
            raise TooManyFaults


#: Check of one value, which adds its faults to the findings.
Check = Callable[[Any, Path, Findings], None]


def text(value: Any, path: Path, findings: Findings) -> None:
    """Accept a string."""
    if not isinstance(value, str):
        findings.invalid(path, value, "must be a string")


def flag(value: Any, path: Path, findings: Findings) -> None:
    """Accept true or false."""
    if not isinstance(value, bool):
        findings.invalid(path, value, "must be true or false")


def number(value: Any, path: Path, findings: Findings) -> None:
    """Accept a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        findings.invalid(path, value, "must be a number")


def moderate_number(value: Any, path: Path, findings: Findings) -> None:
    """Accept a number that conversions can calculate with."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not -MAX_NUMBER <= value <= MAX_NUMBER:
        findings.invalid(path, value, f"must be a number between -{MAX_NUMBER} and {MAX_NUMBER}")


def integer(value: Any, path: Path, findings: Findings) -> None:
    """Accept an integer that conversions can calculate with. It may have the form 1.0."""
    moderate_number(value, path, findings)
    # Only one fault: ``moderate_number`` has added that of a number outside the limits.
    if isinstance(value, float) and not value.is_integer() and -MAX_NUMBER <= value <= MAX_NUMBER:
        findings.invalid(path, value, "must be an integer")


def tree(value: Any, path: Path, findings: Findings) -> None:
    """Accept an object with any members."""
    if not isinstance(value, dict):
        findings.invalid(path, value, "must be an object")


def items(value: Any, path: Path, findings: Findings) -> None:
    """Accept a list with any items."""
    if not isinstance(value, list):
        findings.invalid(path, value, "must be a list")


def anything(value: Any, path: Path, findings: Findings) -> None:
    """Accept each value."""


def texts(value: Any, path: Path, findings: Findings) -> None:
    """Accept a string or a list of strings."""
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        findings.invalid(path, value, "must be a string or a list of strings")


def one_of(*values: str) -> Check:
    """Return a check for one of some strings."""

    def check(value: Any, path: Path, findings: Findings) -> None:
        if value not in values:
            findings.unsupported(path, value, values)

    return check


def one_of_or_empty(*values: str) -> Check:
    """Return a check for one of some strings, or the empty string, which Grafana writes where nothing was chosen."""
    return one_of(*values, "")


def list_of(item: Check) -> Check:
    """Return a check for a list. An item may not be null."""

    def check(value: Any, path: Path, findings: Findings) -> None:
        if not isinstance(value, list):
            findings.invalid(path, value, "must be a list")
            return
        for index, member in enumerate(value):
            item(member, (path, index), findings)

    return check


def map_of(item: Check) -> Check:
    """Return a check for an object whose members have any name."""

    def check(value: Any, path: Path, findings: Findings) -> None:
        if not isinstance(value, dict):
            findings.invalid(path, value, "must be an object")
            return
        for name, member in value.items():
            item(member, (path, name), findings)

    return check


def record(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check for an object with known members."""
    checks = {**required, **(optional or {})}

    def check(value: Any, path: Path, findings: Findings) -> None:
        if not isinstance(value, dict):
            findings.invalid(path, value, "must be an object")
            return
        for name, member in value.items():
            if (member_check := checks.get(name)) is None:
                findings.unknown_member(path, name, checks)
            elif member is not None:
                member_check(member, (path, name), findings)
        for name in required:
            if value.get(name) is None:
                findings.required((path, name), "set")

    return check


def kinded(spec: Check) -> Check:
    """Return a check for an object with a kind and a spec. As in Grafana, the kind may be any string if only one kind is possible."""
    return record({"kind": text, "spec": spec})


def any_of(member: str, checks: Mapping[str, Check]) -> Check:
    """Return a check for an object of one of several kinds, whose name is in ``member``."""

    def check(value: Any, path: Path, findings: Findings) -> None:
        if not isinstance(value, dict):
            findings.invalid(path, value, "must be an object")
            return
        kind = value.get(member)
        if kind is None:
            findings.required((path, member), f"one of {', '.join(checks)}")
        elif not isinstance(kind, str) or kind not in checks:
            findings.unsupported((path, member), kind, checks)
        else:
            checks[kind](value, path, findings)

    return check


def _path_text(path: Path) -> str:
    """Return a path as clients read it, such as ``spec.variables[0].name``."""
    steps: list[str] = []
    while path:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:_MAX_NAME_LENGTH]}")
    return f"spec{''.join(reversed(steps))}"


def _excerpt(value: Any) -> str:
    """Return an invalid value as JSON, shortened for an error message."""
    match value:
        case dict() | list():
            return "{…}" if isinstance(value, dict) else "[…]"
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case str():
            return f'"{value[:_MAX_NAME_LENGTH]}"'
    return str(value)[:_MAX_NAME_LENGTH]
