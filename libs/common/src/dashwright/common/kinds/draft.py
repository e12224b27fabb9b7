"""Object under admission, which admission rules read and may change."""

from dataclasses import dataclass, field
from typing import Any

from dashwright.common.errors import Cause


@dataclass(slots=True)
class Draft:
    """Object under admission. Admission functions may change its fields, and add causes for its faults.

    Methods that add a cause have the names of the errors in Kubernetes' package ``field``, such as ``required``.
    """

    name: str
    namespace: str
    spec: dict[str, Any]  #: Plain JSON data, which admission may normalize.
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    old_spec: dict[str, Any] | None = None  #: Spec of the stored object, or None for a new object.
    version: str = ""  #: API version in which the object was sent.
    causes: list[Cause] = field(default_factory=list)  #: Faults found so far.

    def required(self, path: str, message: str) -> None:
        """Add a cause for a missing value."""
        self.causes.append(Cause(path, "FieldValueRequired", f"Required value: {message}"))

    def invalid(self, path: str, value: object, message: str) -> None:
        """Add a cause for an invalid value."""
        quoted = f'"{value}"' if isinstance(value, str) else str(value)
        self.causes.append(Cause(path, "FieldValueInvalid", f"Invalid value: {quoted}: {message}"))

    def unsupported(self, path: str, value: object, supported: tuple[str, ...]) -> None:
        """Add a cause for a value outside a fixed set."""
        supported_values = ", ".join(f'"{item}"' for item in supported)
        self.causes.append(Cause(path, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {supported_values}'))

    def duplicate(self, path: str, value: object) -> None:
        """Add a cause for a value that occurs twice."""
        self.causes.append(Cause(path, "FieldValueDuplicate", f'Duplicate value: "{value}": leave it out'))

    def forbidden(self, path: str, message: str) -> None:
        """Add a cause for a change that is not allowed."""
        self.causes.append(Cause(path, "FieldValueForbidden", f"Forbidden: {message}"))
