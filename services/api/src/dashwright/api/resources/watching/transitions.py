"""Changes as a watcher sees them who may see only some objects."""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.changes import Change, ObjectState
from dashwright.common.stores.resources import StoredObject


class Transition(NamedTuple):
    """One event of a watch and the state that it shows."""

    #: ``ADDED``, ``MODIFIED`` or ``DELETED``.
    type: str
    change: Change
    #: The state of the object at the version of the change.
    state: ObjectState

    @property
    def key(self) -> tuple[int, str]:
        """The identity of the event in its stream: events with the same key show the same object."""
        return (self.change.resource_version, self.type)

    @property
    def body(self) -> tuple[UUID, int]:
        """The uid and generation of the body that the event shows."""
        return (self.change.uid, self.state.generation)

    def item(self, kind: Kind, spec: str) -> StoredObject:
        """Return the state as a stored object with this body."""
        state, change = self.state, self.change
        return StoredObject(
            kind,
            change.uid,
            change.name,
            change.namespace,
            change.resource_version,
            state.generation,
            state.stored_version or kind.version,
            state.metadata,
            spec,
            state.status,
            title=state.title,
            folder=state.folder,
            layout=state.layout,
            subtype=state.subtype,
        )


def transition_of(change: Change, shows: Callable[[ObjectState], bool]) -> Transition | None:
    """Return the event of a change for a watcher who sees the states that ``shows`` accepts; None if it concerns no such state.

    An object that enters the watcher's view is ADDED. One that leaves it is DELETED, in the last state that the watcher could
    see.
    """
    old = None if change.type == "ADDED" else change.old or change.state
    is_seen = change.type != "DELETED" and shows(change.state)
    was_seen = old is not None and shows(old)
    if is_seen:
        return Transition("MODIFIED" if was_seen else "ADDED", change, change.state)
    # The old state, since the watcher must not see the new one.
    if was_seen and old is not None:
        return Transition("DELETED", change, old)
    return None
