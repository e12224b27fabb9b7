"""What the classic API's answers have in common."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

RoleName = Annotated[str, Field(json_schema_extra={"enum": ["None", "Viewer", "Editor", "Admin"]})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class ResponseModel(BaseModel):
    """A JSON object that is answered. What was not set is left out; what was set to None is shown as null."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)

    def members(self) -> dict[str, Any]:
        """The object by its names on the wire."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Message(ResponseModel):
    """What is answered where there is nothing to return."""

    message: str


class Error(ResponseModel):
    """An error of the classic API.

    ``messageId``, ``statusCode`` and ``traceID`` come together; ``accessErrorId`` and ``title`` come with a permission that is lacking.
    """

    message: str
    message_id: str = ""
    status_code: int = 0
    trace_id: str = Field(default="", alias="traceID")
    extra: dict[str, Any] = Field(default_factory=dict, description="What a program may want to know of the error")
    access_error_id: str = ""
    title: str = ""
