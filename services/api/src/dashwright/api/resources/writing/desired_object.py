"""What a write is about: the object that is wanted, who wants it, what they take the old one to be, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dashwright.api.domain.actor import Actor
from dashwright.common.errors import Conflict, PreconditionFailed
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import StoredObject

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """An object as it is to be.

    ``spec`` is plain JSON data in ``version``, not admitted yet; ``is_body``: it is the body to store, not what the version shows of it.
    ``managed_fields`` are those that were sent, and of an apply those that it leaves; ``title`` None takes the one in the spec, or where
    that is as it was the one that is stored. ``number`` is given to a new object, ``uid`` is that of what was deleted, where it is to be
    the same again. ``releases``: no repository is to manage it any more. ``restored_from`` is the generation that the spec was taken from.
    ``warnings`` are returned to the client. ``secure`` are the secrets that were sent, as JSON data.
    """

    kind: Kind
    name: str
    version: str
    spec: dict[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: Sequence[str] = ()
    owner_references: Sequence[Mapping[str, Any]] = ()
    managed_fields: object = None
    title: str | None = None
    number: int | None = None
    restored_from: int | None = None
    is_body: bool = False
    uid: str = ""
    releases: bool = False
    warnings: tuple[str, ...] = ()
    secure: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Who writes, and how.

    ``manager`` is the name under which they own the fields they set, ``operation`` how they came to own them. ``dry_run``: everything
    is checked and nothing kept. ``event`` is what the audit calls it, by default the kind and the verb; ``created`` is the status that
    a creation answers.
    """

    identity: Identity
    actor: Actor
    manager: str = ""
    operation: Literal["Update", "Apply"] = "Update"
    dry_run: bool = False
    subresource: str = ""
    event: str | None = None
    created: int = 201


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What the caller takes the stored object to be; empty stands for anything. A ``generation`` counts without a version only."""

    uid: str = ""
    resource_version: str = ""
    generation: int | None = None

    def check_update(self, stored: StoredObject) -> None:
        """Raises Conflict, or PreconditionFailed for another generation, where the object is another by now."""
        if self.uid and self.uid != str(stored.uid):
            raise conflict_error(stored.kind, stored.name, _mismatch_text("UID", self.uid, str(stored.uid)))
        if self.resource_version and self.resource_version != str(stored.resource_version):
            raise conflict_error(stored.kind, stored.name, MODIFIED)
        if not self.resource_version and self.generation not in (None, stored.generation):
            raise PreconditionFailed(f"The {stored.kind.singular} has been changed by someone else")

    def check_delete(self, stored: StoredObject | StoredJob) -> None:
        """Raises Conflict where the object is another by now."""
        if self.uid and self.uid != str(stored.uid):
            raise conflict_error(stored.kind, stored.name, _mismatch_text("UID", self.uid, str(stored.uid)))
        if self.resource_version and self.resource_version != str(stored.resource_version):
            raise conflict_error(
                stored.kind, stored.name, _mismatch_text("ResourceVersion", self.resource_version, str(stored.resource_version))
            )


NO_PRECONDITIONS: Final = Preconditions()


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What stands now, and whether the write made a difference."""

    stored: StoredObject
    is_changed: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """The last state. ``is_gone`` is false where finalizers are left: then the object waits for them."""

    stored: StoredObject
    is_gone: bool


def conflict_error(kind: Kind, name: str, why: str) -> Conflict:
    return Conflict(f'Operation cannot be fulfilled on {kind.key} "{name}": {why}', details=kind.details(name))


def _mismatch_text(what: str, wanted: str, found: str) -> str:
    return f"Precondition failed: {what} in precondition: {wanted[:80]}, {what} in object meta: {found}"
