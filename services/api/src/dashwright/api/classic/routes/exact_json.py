"""Bodies of the classic API with JSON to be stored: numbers in them are kept as they were sent."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from dashwright.api.http.call import parse_integer
from dashwright.common.document import ExactNumber, read_shallow
from dashwright.common.errors import BadRequest, Invalid

Model = TypeVar("Model", bound=BaseModel)


def _as_integer(value: Any) -> Any:
    number = parse_integer(str(value)) if isinstance(value, ExactNumber) else None
    return value if number is None else number


Number = Annotated[int, BeforeValidator(_as_integer), Field(ge=-(2**63), lt=2**63)]
"""A whole number of 64 bits in such a body."""


def parse_exact(body: bytes, model: type[Model]) -> Model:
    """Return the body as an object of ``model``, with the numbers in its trees as they were sent. Raises BadRequest."""
    try:
        tree = read_shallow(body.decode())
        return model.model_validate(tree)
    except (UnicodeDecodeError, Invalid, ValidationError) as error:
        raise BadRequest("bad request data") from error
