"""Fields that no object of a kind has: what a client is told of them, and which they are."""

import types
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind

_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_NAMING: Final = frozenset({"name", "generateName", "namespace", "selfLink", "uid"})
_LIFE: Final = frozenset({"resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"})
_METADATA: Final = _NAMING | _LIFE | {"labels", "annotations", "ownerReferences", "finalizers", "managedFields"}
_MOST: Final = 20
"""Fields named in one answer."""

_LONGEST: Final = 4096
"""Characters of all warnings of one answer."""


class Validation(Enum):
    """What becomes of unknown fields: they are dropped, told, or refused."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"

    def judge(self, fields: Iterator[str]) -> tuple[str, ...]:
        """The warnings for unknown fields. Raises BadRequest where they are refused."""
        if self is Validation.IGNORE:
            return ()
        found = tuple(f'unknown field "{field}"' for field, _ in zip(fields, range(_MOST), strict=False))
        if found and self is Validation.STRICT:
            raise BadRequest(f"strict decoding error: {', '.join(found)}")
        return found


def unknown_fields(tree: Mapping[str, Any], kind: Kind) -> Iterator[str]:
    """The paths of fields that are neither of the envelope, nor of metadata, nor of the kind's models."""
    yield from sorted(tree.keys() - _ENVELOPE)
    metadata = tree.get("metadata")
    if isinstance(metadata, dict):
        yield from (f"metadata.{key}" for key in sorted(metadata.keys() - _METADATA))
    for part, model in (("spec", kind.spec or kind.shown_spec), ("status", kind.status)):
        if model is not None:
            yield from _unknown(model, tree.get(part), part)


def headers_of(warnings: Sequence[str]) -> Mapping[str, str]:
    """Warnings as Kubernetes' clients print them; those that do not fit are left out."""
    texts: list[str] = []
    for warning in warnings:
        escaped = warning.encode("ascii", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
        texts.append(f'299 - "{"".join(character for character in escaped if character.isprintable())}"')
    while sum(map(len, texts)) > _LONGEST:
        texts.pop()
    return {"Warning": ", ".join(texts)} if texts else {}


def _unknown(annotation: Any, value: Any, path: str) -> Iterator[str]:
    """Walks a value along the type that it is to have."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _unknown(arguments[0], value, path)
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _unknown(argument, value, path)
    elif isinstance(value, list) and isinstance(origin, type) and issubclass(origin, Sequence) and arguments:
        for index, item in enumerate(value):
            yield from _unknown(arguments[0], item, f"{path}[{index}]")
    elif isinstance(value, dict) and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _unknown_of(annotation, value, path)


def _unknown_of(model: type[BaseModel], value: Mapping[str, Any], path: str) -> Iterator[str]:
    known = {name: field.annotation for field_name, field in model.model_fields.items() for name in (field_name, *_aliases(field))}
    for key, item in value.items():
        if key in known:
            yield from _unknown(known[key], item, f"{path}.{key}")
        elif model.model_config.get("extra") != "allow":
            yield f"{path}.{key}"


def _aliases(field: Any) -> Iterator[str]:
    for alias in (field.alias, field.validation_alias):
        if isinstance(alias, str):
            yield alias
        elif isinstance(alias, AliasChoices):
            yield from (choice for choice in alias.choices if isinstance(choice, str))
