"""The base class and common members of the classic API's responses."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

RoleName = Annotated[str, Field(json_schema_extra={"enum": ["None", "Viewer", "Editor", "Admin"]})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class ResponseModel(BaseModel):
    """A JSON object in a response. Members that were not set are left out; None is written as null."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, defer_build=True)

    def members(self) -> dict[str, Any]:
        """Return the JSON object, with the field names of the API. Fields that were not set are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Message(ResponseModel):
    """A response that has only a message."""

    message: str


class Error(ResponseModel):
    """An error of the classic API."""

    message: str
    #: Set together with ``statusCode`` and ``traceID``.
    message_id: str = ""
    status_code: int = 0
    trace_id: str = Field(default="", alias="traceID")
    extra: dict[str, Any] = Field(default_factory=dict, description="Machine-readable details of the error")
    #: Set together with ``title`` for a missing permission.
    access_error_id: str = ""
    title: str = ""
