"""An object on its way into the store: what admission reads and may change."""

from dataclasses import dataclass, field
from typing import Any

from dashwright.common.errors import Cause


@dataclass(slots=True)
class Draft:
    """``spec`` is plain JSON data; ``old_spec`` that of the stored object when this is an update. Faults collect in ``causes``.

    ``version`` is the one of its kind that the object came in.
    """

    name: str
    namespace: str
    spec: dict[str, Any]
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    old_spec: dict[str, Any] | None = None
    version: str = ""
    causes: list[Cause] = field(default_factory=list)

    def required(self, path: str, message: str) -> None:
        self.causes.append(Cause(path, "FieldValueRequired", f"Required value: {message}"))

    def invalid(self, path: str, value: object, message: str) -> None:
        shown = f'"{value}"' if isinstance(value, str) else str(value)
        self.causes.append(Cause(path, "FieldValueInvalid", f"Invalid value: {shown}: {message}"))

    def unsupported(self, path: str, value: object, supported: tuple[str, ...]) -> None:
        listed = ", ".join(f'"{item}"' for item in supported)
        self.causes.append(Cause(path, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {listed}'))

    def duplicate(self, path: str, value: object) -> None:
        self.causes.append(Cause(path, "FieldValueDuplicate", f'Duplicate value: "{value}": leave it out'))

    def forbidden(self, path: str, message: str) -> None:
        self.causes.append(Cause(path, "FieldValueForbidden", f"Forbidden: {message}"))
