"""The parts of a write: the desired object, its context, its preconditions and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dashwright.api.domain.actor import Actor
from dashwright.common.errors import Conflict, PreconditionFailed
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """The object that a request asks for, before admission."""

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
    #: Sent entries. For an apply: the entries after it.
    managed_fields: object = None
    #: None: take it from the spec; if the spec did not change it, keep the stored title.
    title: str | None = None
    #: The numeric id of a new object; None for the next free one.
    number: int | None = None
    #: The generation that ``spec`` was copied from.
    restored_from: int | None = None
    #: ``spec`` is the stored body itself, not its form in ``version``.
    is_body: bool = False
    #: The uid of a deleted object to restore.
    uid: str = ""
    #: The repository stops managing this object.
    releases: bool = False
    #: Returned to the client as Warning headers.
    warnings: tuple[str, ...] = ()
    #: Sent secrets, as JSON data.
    secure: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The caller of a write and how it is done."""

    identity: Identity
    actor: Actor
    #: The name under which the caller owns the fields that are set.
    manager: str = ""
    #: How the caller comes to own them.
    operation: Literal["Update", "Apply"] = "Update"
    #: Check everything and store nothing.
    dry_run: bool = False
    #: The sub-resource that is written through, such as ``status``.
    subresource: str = ""
    #: The event in the audit; None for the kind and the verb.
    event: str | None = None
    #: HTTP status of a creation, for the audit.
    created: int = 201


@dataclass(frozen=True, slots=True)
class Preconditions:
    """The state that the caller expects of the stored object; empty members match every state."""

    uid: str = ""
    resource_version: str = ""
    #: Checked only without a resource version.
    generation: int | None = None

    def check_update(self, stored: StoredObject) -> None:
        """Raise Conflict if the object has changed, or PreconditionFailed if its generation differs."""
        if self.uid and self.uid != str(stored.uid):
            raise conflict_error(stored.kind, stored.name, _mismatch_text("UID", self.uid, str(stored.uid)))
        if self.resource_version and self.resource_version != str(stored.resource_version):
            raise conflict_error(stored.kind, stored.name, MODIFIED)
        if not self.resource_version and self.generation not in (None, stored.generation):
            raise PreconditionFailed(f"The {stored.kind.singular} has been changed by someone else")

    def check_delete(self, stored: StoredObject | StoredJob) -> None:
        """Raise Conflict if the object has changed."""
        if self.uid and self.uid != str(stored.uid):
            raise conflict_error(stored.kind, stored.name, _mismatch_text("UID", self.uid, str(stored.uid)))
        if self.resource_version and self.resource_version != str(stored.resource_version):
            raise conflict_error(
                stored.kind, stored.name, _mismatch_text("ResourceVersion", self.resource_version, str(stored.resource_version))
            )


NO_PRECONDITIONS: Final = Preconditions()


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The stored object after a write."""

    stored: StoredObject
    #: The write made a difference.
    is_changed: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """The last state of a deleted object."""

    stored: StoredObject
    #: False if the object waits for finalizers.
    is_gone: bool


def conflict_error(kind: Kind, name: str, why: str) -> Conflict:
    """Return the error for an object that changed since it was read."""
    return Conflict(f'Operation cannot be fulfilled on {kind.key} "{name}": {why}', details=kind.details(name))


def _mismatch_text(what: str, desired: str, found: str) -> str:
    return f"Precondition failed: {what} in precondition: {desired[:80]}, {what} in object meta: {found}"
