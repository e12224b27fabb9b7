"""Base of all shapes of the interface."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """JSON object of the interface. Unknown fields are dropped on input; null counts as missing."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_missing(cls, value: Any) -> Any:
        if isinstance(value, dict) and None in value.values():
            return {key: item for key, item in value.items() if item is not None}
        return value

    def to_json(self) -> bytes:
        """Return the JSON of the interface: required fields always, optional ones only if set."""
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()
