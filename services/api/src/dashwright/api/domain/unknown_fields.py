"""Unknown fields of a request: fields that the schema of the kind does not define."""

import difflib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel

from dashwright.common.errors import Cause
from dashwright.common.kinds.kind import Kind, Storage
from dashwright.common.models.causes import MAX_CAUSES

_ENVELOPE_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_IDENTITY_FIELDS: Final = frozenset({"name", "generateName", "namespace", "selfLink", "uid"})
_LIFECYCLE_FIELDS: Final = frozenset(
    {"resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}
)
_JOB_METADATA_FIELDS: Final = _IDENTITY_FIELDS | _LIFECYCLE_FIELDS | {"labels", "annotations", "managedFields"}
_METADATA_FIELDS: Final[Mapping[Storage, frozenset[str]]] = {
    Storage.JOBS: _JOB_METADATA_FIELDS,
    Storage.DEAD_LETTERS: _JOB_METADATA_FIELDS,
    Storage.RECORDS: _JOB_METADATA_FIELDS,
    Storage.RESOURCES: _JOB_METADATA_FIELDS | {"ownerReferences", "finalizers"},
}
"""Known members of the metadata, by the storage of the kind."""
_DEFAULT_ADVICE: Final = "leave it out"
_MAX_NAME_LENGTH: Final = 100
"""Limit on the characters of an unknown name in a path: clients choose the names, and responses contain them."""

_MAX_SUGGESTED_NAMES: Final = 12
"""Limit on the allowed names that the suggestion for one field lists."""


class UnknownField(NamedTuple):
    """An unknown field."""

    #: The path to the field, such as ``spec.targets[0].refid``.
    path: str
    #: The known fields of the object that contains the unknown field.
    allowed_names: Sequence[str]

    @property
    def advice(self) -> str:
        """The suggested correction: use a similar name, use one of the allowed names, or leave the field out."""
        name = self.path.rpartition(".")[2]
        # A single letter is the beginning of too many names.
        completions = [allowed_name for allowed_name in self.allowed_names if len(name) > 1 and allowed_name.startswith(name)]
        similar_names = completions or difflib.get_close_matches(name, self.allowed_names, n=1)
        if similar_names:
            return f'did you mean "{similar_names[0]}"?'
        if len(self.allowed_names) > _MAX_SUGGESTED_NAMES:
            return _DEFAULT_ADVICE
        return f"{_DEFAULT_ADVICE}; known: {', '.join(self.allowed_names)}"


def metadata_fields(kind: Kind) -> frozenset[str]:
    """Return the known members of the metadata of a kind."""
    return _METADATA_FIELDS[kind.storage]


def find_in_object(tree: Mapping[str, Any], kind: Kind) -> Iterator[UnknownField]:
    """Yield the unknown fields of a complete object: in its top level, its metadata, and every other member that has a model."""
    yield from _find_keys(tree, _ENVELOPE_FIELDS if kind.secure is None else _ENVELOPE_FIELDS | {"secure"}, "")
    metadata = tree.get("metadata")
    if isinstance(metadata, dict):
        yield from _find_keys(metadata, metadata_fields(kind), "metadata")
    # ``rendered_spec`` is the spec as clients see it, if it differs from the stored one.
    for member, model in (("spec", kind.spec or kind.rendered_spec), ("secure", kind.secure), ("status", kind.status)):
        if model is not None:
            yield from find_in_value(model, tree.get(member), member)


def find_in_value(annotation: Any, value: Any, path: str) -> Iterator[UnknownField]:
    """Yield the unknown fields of ``value`` at any depth, given its type annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from find_in_value(arguments[0], value, path)
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from find_in_value(argument, value, path)
    elif isinstance(value, list) and isinstance(origin, type) and issubclass(origin, Sequence) and arguments:
        for index, item in enumerate(value):
            yield from find_in_value(arguments[0], item, f"{path}[{index}]")
    elif isinstance(value, dict) and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _find_in_model(annotation, value, path)


def causes(fields: Iterable[UnknownField]) -> list[Cause]:
    """Return a cause for each field.

    Only the causes that a response includes get a suggestion of their own, which is slow to find. The others say to leave the field out.
    """
    return [
        Cause(field.path, "FieldValueForbidden", f"Forbidden: unknown field; {field.advice if index < MAX_CAUSES else _DEFAULT_ADVICE}")
        for index, field in enumerate(fields)
    ]


def _find_in_model(model: type[BaseModel], value: Mapping[str, Any], path: str) -> Iterator[UnknownField]:
    """Yield the unknown fields of an object that has a model, at any depth."""
    type_by_name, allowed_names = _known_fields(model)
    for key, item in value.items():
        if key in type_by_name:
            yield from find_in_value(type_by_name[key], item, _child_path(path, key))
        elif model.model_config.get("extra") != "allow":
            yield UnknownField(_child_path(path, key), allowed_names)


@cache
def _known_fields(model: type[BaseModel]) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return the type of each field of a model by each of its names, and the names by which the fields are described."""
    type_by_name = {name: field.annotation for field_name, field in model.model_fields.items() for name in (*_aliases(field), field_name)}
    return type_by_name, [next(_aliases(field), field_name) for field_name, field in model.model_fields.items()]


def _find_keys(tree: Mapping[str, Any], allowed_keys: frozenset[str], path: str) -> Iterator[UnknownField]:
    """Yield the members of an object that are not allowed, without a search below them."""
    allowed_names = sorted(allowed_keys)
    yield from (UnknownField(_child_path(path, key), allowed_names) for key in sorted(tree.keys() - allowed_keys))


def _child_path(path: str, key: str) -> str:
    """Return the path to a member of the object at ``path``."""
    return f"{path}.{key[:_MAX_NAME_LENGTH]}" if path else key[:_MAX_NAME_LENGTH]


def _aliases(field: Any) -> Iterator[str]:
    """Yield the names that requests may use for a field of a model, the preferred one first."""
    for alias in (field.validation_alias, field.alias):
        if isinstance(alias, str):
            yield alias
        elif isinstance(alias, AliasChoices):
            yield from (choice for choice in alias.choices if isinstance(choice, str))
