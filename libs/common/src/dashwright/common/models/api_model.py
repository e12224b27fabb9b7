"""Base class of the JSON objects that the API reads and writes, and the types of their integers."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Integer64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Integer32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class ApiModel(BaseModel):
    """JSON object of the API. Null counts as missing.

    Unknown fields are dropped on input. A model may forbid them by ``extra``, even those that are null.
    """

    # Compiled at the first use: a process uses a part of the models, and compiling them all would take a sixth of its imports.
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_missing(cls, value: Any) -> Any:
        """Remove members that are null."""
        if not isinstance(value, dict) or None not in value.values():
            return value
        # An unknown key must be kept if the model forbids it: the validation then reports it.
        forbids_unknown = cls.model_config.get("extra") == "forbid"
        droppable_keys = {field.alias for field in cls.model_fields.values()} if forbids_unknown else value.keys()
        return {key: item for key, item in value.items() if item is not None or key not in droppable_keys}

    def to_json(self) -> bytes:
        """Return the JSON of the API: all required fields, and the optional fields that are set."""
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()
