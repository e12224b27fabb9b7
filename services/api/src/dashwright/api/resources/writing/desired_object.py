"""The parts of a write: the desired object, its context, its preconditions and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from dashwright.api.domain.actor import Actor
from dashwright.api.stores.dead_letters import StoredDeadLetter
from dashwright.common.errors import Conflict, PreconditionFailed
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject

MODIFIED_MESSAGE: Final = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """The object that a request should store, before admission."""

    kind: Kind
    #: The name within the namespace.
    name: str
    #: The version of the kind that ``spec`` is written in.
    version: str
    #: Plain JSON in ``version``; not validated yet.
    spec: dict[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: Sequence[str] = ()
    owner_references: Sequence[Mapping[str, Any]] = ()
    #: ``managedFields`` as sent. For an apply: the entries after the apply.
    managed_fields: object = None
    #: None: take the title from the spec, or keep the stored title if the title in the spec is unchanged.
    title: str | None = None
    #: The numeric id of a new object; None for the next free one.
    numeric_id: int | None = None
    #: The generation that ``spec`` was copied from.
    restored_from: int | None = None
    #: ``spec`` is in the stored form, not in the form of ``version``.
    is_stored_body: bool = False
    #: The uid of a deleted object that the write restores; empty otherwise.
    uid: str = ""
    #: The repository stops managing this object.
    releases_manager: bool = False
    #: Returned to the client as Warning headers.
    warnings: tuple[str, ...] = ()
    #: Sent secrets, as JSON data.
    secure: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The caller of a write, and the options of the write."""

    identity: Identity
    actor: Actor
    #: The name under which the caller owns the fields that are set.
    field_manager: str = ""
    #: The operation in the field manager's entry of ``managedFields``.
    operation: Literal["Update", "Apply"] = "Update"
    #: Check everything and store nothing.
    dry_run: bool = False
    #: The subresource by which the object is written, such as ``status``; empty for the object itself.
    subresource: str = ""
    #: The action of the audit event; None for the default action of kind and verb.
    event: str | None = None
    #: HTTP status of a creation in the audit event.
    created_status: int = 201
    #: The write applies a file of ``PROVISIONING_DIR``.
    applies_file: bool = False


@dataclass(frozen=True, slots=True)
class Preconditions:
    """The state of the stored object that the caller expects; empty fields match every state."""

    uid: str = ""
    resource_version: str = ""
    #: Checked only without a resource version.
    generation: int | None = None

    def check_update(self, current: StoredObject) -> None:
        """Raise Conflict if uid or resource version of the object differ, or PreconditionFailed if the generation differs."""
        if self.uid and self.uid != str(current.uid):
            raise conflict_error(current.kind, current.name, _mismatch_message("UID", self.uid, str(current.uid)))
        if self.resource_version and self.resource_version != str(current.resource_version):
            raise conflict_error(current.kind, current.name, MODIFIED_MESSAGE)
        if not self.resource_version and self.generation not in (None, current.generation):
            raise PreconditionFailed(f"The {current.kind.singular} has been changed by someone else")

    def check_delete(self, current: StoredObject | StoredJob | StoredDeadLetter) -> None:
        """Raise Conflict if uid or resource version of the object differ."""
        if self.uid and self.uid != str(current.uid):
            raise conflict_error(current.kind, current.name, _mismatch_message("UID", self.uid, str(current.uid)))
        if self.resource_version and self.resource_version != str(current.resource_version):
            raise conflict_error(
                current.kind, current.name, _mismatch_message("ResourceVersion", self.resource_version, str(current.resource_version))
            )


NO_PRECONDITIONS: Final = Preconditions()


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The result of an update."""

    stored_object: StoredObject
    #: False if the write changed nothing.
    is_changed: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """The result of a delete, with the last state of the object."""

    stored_object: StoredObject
    #: False if the object waits for finalizers.
    is_deleted: bool


def delete_result(before_delete: StoredObject, waiting_object: StoredObject | None, *, dry_run: bool) -> DeleteResult:
    """Return the result of a delete. ``waiting_object`` is the object after the delete if it waits for finalizers, else None.

    A dry run rolls back its resource version, so its result has the version before the delete.
    """
    if waiting_object is None:
        return DeleteResult(before_delete, True)
    if dry_run:
        waiting_object = replace(waiting_object, resource_version=before_delete.resource_version)
    return DeleteResult(waiting_object, False)


def conflict_error(kind: Kind, name: str, reason: str) -> Conflict:
    """Return the error for an object that changed since it was read."""
    return Conflict(f'Operation cannot be fulfilled on {kind.key} "{name}": {reason}', details=kind.details(name))


def _mismatch_message(field_name: str, expected: str, actual: str) -> str:
    return f"Precondition failed: {field_name} in precondition: {expected[:80]}, {field_name} in object meta: {actual}"
