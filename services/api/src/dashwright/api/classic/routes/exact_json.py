"""Parsing of bodies that contain JSON to be stored. Numbers in that JSON are kept as they were sent."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from dashwright.api.http.call import parse_integer
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.json_documents import ExactNumber, read_shallow_json

Model = TypeVar("Model", bound=BaseModel)


def _as_integer(value: Any) -> Any:
    integer = parse_integer(str(value)) if isinstance(value, ExactNumber) else None
    return value if integer is None else integer


Int64 = Annotated[int, BeforeValidator(_as_integer), Field(ge=-(2**63), lt=2**63)]
"""A signed 64-bit integer in a body that ``parse_exact`` parses."""


def parse_exact(body: bytes, model: type[Model]) -> Model:
    """Return the body as an object of ``model``. Nested JSON keeps its numbers as they were sent. Raises BadRequest."""
    try:
        document = read_shallow_json(body.decode())
        return model.model_validate(document)
    except (UnicodeDecodeError, Invalid, ValidationError) as error:
        raise BadRequest("bad request data") from error
