"""Bodies of the classic API: their parsing, the folders that they name, and the desired objects that they describe."""

import secrets
from typing import Annotated, Any, Final, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from dashwright.api.http.call import parse_integer
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.stores import titles
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Invalid, NotFound, PreconditionFailed
from dashwright.common.identity import namespace_of
from dashwright.common.json_documents import ExactNumber, read_shallow_json
from dashwright.common.kinds.annotations import FOLDER_KEY, MESSAGE
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

Model = TypeVar("Model", bound=BaseModel)

FIELD_MANAGER: Final = "classic-api"
"""The field manager of writes through this API."""

CLASSIC_VERSION: Final = "v0alpha1"
"""The API version under which bodies in the format of the classic API are stored."""

ROOT_NAMES: Final = frozenset({"", "general"})
"""Names of the root folder in requests."""


class VersionMismatch(PreconditionFailed):
    """The stored object has another generation than the one to replace."""


def _as_integer(value: Any) -> Any:
    """Return an exact number as an integer. Other values are returned unchanged, for pydantic to check."""
    integer = parse_integer(str(value)) if isinstance(value, ExactNumber) else None
    return value if integer is None else integer


Int64 = Annotated[int, BeforeValidator(_as_integer), Field(ge=-(2**63), lt=2**63)]
"""A signed 64-bit integer in a body that ``parse_exact`` parses."""


def parse_exact(body: bytes, model: type[Model]) -> Model:
    """Return the body as an object of ``model``. Nested JSON keeps its numbers as they were sent. Raises BadRequest."""
    try:
        document = read_shallow_json(body.decode())
        return model.model_validate(document)
    except ValidationError as error:
        raise _bad_body(sentence(causes_of(error) or ())) from error
    except UnicodeDecodeError as error:
        raise _bad_body("the body is not UTF-8") from error
    except Invalid as error:
        raise _bad_body(error.message) from error


def _bad_body(reason: str) -> BadRequest:
    return BadRequest("bad request data", extra={"error": reason})


async def find_folder(connection: Connection, org_id: int, uid: str | None, folder_id: int | None) -> str | None:
    """Return the name of the folder with ``uid``, or with ``folder_id`` if the uid is missing. The root's name is empty.

    Returns None if both are missing. Raises NotFound for an unknown folder.
    """
    if uid is None and folder_id is None:
        return None
    if uid in ROOT_NAMES or (uid is None and folder_id == 0):
        return ""
    name = uid if uid is not None else await titles.name_by_numeric_id(connection, FOLDER, org_id, folder_id or 0)
    if name is None or not await resources.get_many(connection, FOLDER, namespace_of(org_id), [name]):
        raise NotFound("folder not found")
    return name


def new_object(
    kind: Kind, name: str, api_version: str, spec: dict[str, Any], *, folder: str, message: str = "", **fields: Any
) -> DesiredObject:
    """Return the desired object for a new object. ``folder`` is empty at the root. ``fields`` are further fields of DesiredObject."""
    return DesiredObject(kind, name, api_version, spec, annotations=_annotations({}, folder, message), is_stored_body=True, **fields)


def replacement(
    current: StoredObject, api_version: str, spec: dict[str, Any], *, folder: str, message: str = "", **fields: Any
) -> DesiredObject:
    """Return the desired object that replaces spec and folder of the stored object ``current``. Labels and other metadata are kept.

    ``fields`` are further fields of DesiredObject.
    """
    metadata = orjson.loads(current.metadata)
    return DesiredObject(
        current.kind,
        current.name,
        api_version,
        spec,
        labels=metadata.get("labels") or {},
        annotations=_annotations(metadata.get("annotations") or {}, folder, message),
        finalizers=metadata.get("finalizers") or (),
        owner_references=metadata.get("ownerReferences") or (),
        is_stored_body=True,
        **fields,
    )


def new_uid() -> str:
    """Return a random uid of 14 hexadecimal digits."""
    return secrets.token_hex(7)


def _annotations(current_annotations: dict[str, str], folder: str, message: str) -> dict[str, str]:
    """Return the annotations with the folder and the message of the change. Empty ones are left out."""
    new_annotations = {FOLDER_KEY: folder, MESSAGE: message}
    annotations = {key: value for key, value in current_annotations.items() if key not in new_annotations}
    return annotations | {key: value for key, value in new_annotations.items() if value}
