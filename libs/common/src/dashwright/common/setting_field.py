"""Field of one setting: its type, default, meaning, and the programs that read it."""

import ipaddress
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Days = Annotated[int, Field(ge=0, le=36_500)]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def setting(
    default: Any,
    description: str,
    read_by: str,
    *,
    displayed_default: str | None = None,
    default_factory: Callable[[], Any] | None = None,
    **constraints: Any,
) -> Any:
    """Return the pydantic field of a setting.

    ``read_by`` lists the services and commands that read the setting, separated by commas. ``displayed_default`` replaces
    ``default`` in the documentation.
    """
    extra: dict[str, Any] = {"read_by": read_by, "displayed_default": displayed_default}
    if default_factory is not None:
        return Field(default_factory=default_factory, description=description, json_schema_extra=extra, **constraints)
    return Field(default=default, description=description, json_schema_extra=extra, **constraints)
