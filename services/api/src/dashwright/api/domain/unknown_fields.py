"""Unknown fields of a request: fields that the schema of the kind does not define."""

import difflib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel

from dashwright.common.errors import Cause
from dashwright.common.kinds.kind import Kind, Storage
from dashwright.common.models.causes import MOST_CAUSES

_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_NAMING: Final = frozenset({"name", "generateName", "namespace", "selfLink", "uid"})
_LIFE: Final = frozenset({"resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"})
_OF_JOBS: Final = _NAMING | _LIFE | {"labels", "annotations", "managedFields"}
_METADATA: Final[Mapping[Storage, frozenset[str]]] = {
    Storage.JOBS: _OF_JOBS,
    Storage.RESOURCES: _OF_JOBS | {"ownerReferences", "finalizers"},
}
_ADVICE: Final = "leave it out"
_LONGEST_NAME: Final = 100
"""Limit on the characters of a name in a message."""

_MOST_KNOWN: Final = 12
"""Limit on the known names that the suggestion for one field lists."""


class UnknownField(NamedTuple):
    """An unknown field."""

    #: The path to the field.
    path: str
    #: The names that are allowed in its place.
    known: Sequence[str]

    @property
    def advice(self) -> str:
        """The suggested correction: use a similar name, use one of the known names, or leave the field out."""
        name = self.path.rpartition(".")[2]
        alike = [known for known in self.known if len(name) > 1 and known.startswith(name)] or difflib.get_close_matches(
            name, self.known, n=1
        )
        if alike:
            return f'did you mean "{alike[0]}"?'
        return f"{_ADVICE}; known: {', '.join(self.known)}" if len(self.known) <= _MOST_KNOWN else _ADVICE


def of_object(tree: Mapping[str, Any], kind: Kind) -> Iterator[UnknownField]:
    """Yield the unknown fields of an object of this kind: in its envelope, its metadata and the parts that have a model."""
    yield from _unknown_keys(tree, _ENVELOPE if kind.secure is None else _ENVELOPE | {"secure"}, "")
    metadata = tree.get("metadata")
    if isinstance(metadata, dict):
        yield from _unknown_keys(metadata, _METADATA[kind.storage], "metadata")
    for part, model in (("spec", kind.spec or kind.shown_spec), ("secure", kind.secure), ("status", kind.status)):
        if model is not None:
            yield from of_value(model, tree.get(part), part)


def of_value(annotation: Any, value: Any, path: str) -> Iterator[UnknownField]:
    """Yield the unknown fields of ``value`` at any depth, given its type annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from of_value(arguments[0], value, path)
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from of_value(argument, value, path)
    elif isinstance(value, list) and isinstance(origin, type) and issubclass(origin, Sequence) and arguments:
        for index, item in enumerate(value):
            yield from of_value(arguments[0], item, f"{path}[{index}]")
    elif isinstance(value, dict) and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _of_model(annotation, value, path)


def causes(found: Iterable[UnknownField]) -> list[Cause]:
    """Return a cause for each field.

    Only the causes that a response shows get a specific suggestion; the others say to leave the field out.
    """
    return [
        Cause(field.path, "FieldValueForbidden", f"Forbidden: unknown field; {field.advice if index < MOST_CAUSES else _ADVICE}")
        for index, field in enumerate(found)
    ]


def _of_model(model: type[BaseModel], value: Mapping[str, Any], path: str) -> Iterator[UnknownField]:
    known = {name: field.annotation for field_name, field in model.model_fields.items() for name in (*_aliases(field), field_name)}
    listed = [next(_aliases(field), field_name) for field_name, field in model.model_fields.items()]
    for key, item in value.items():
        if key in known:
            yield from of_value(known[key], item, _join(path, key))
        elif model.model_config.get("extra") != "allow":
            yield UnknownField(_join(path, key), listed)


def _unknown_keys(tree: Mapping[str, Any], known: frozenset[str], path: str) -> Iterator[UnknownField]:
    listed = sorted(known)
    yield from (UnknownField(_join(path, key), listed) for key in sorted(tree.keys() - known))


def _join(path: str, key: str) -> str:
    return f"{path}.{key[:_LONGEST_NAME]}" if path else key[:_LONGEST_NAME]


def _aliases(field: Any) -> Iterator[str]:
    for alias in (field.validation_alias, field.alias):
        if isinstance(alias, str):
            yield alias
        elif isinstance(alias, AliasChoices):
            yield from (choice for choice in alias.choices if isinstance(choice, str))
