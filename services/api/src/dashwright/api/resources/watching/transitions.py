"""Events of changes for a watcher who sees only some states of objects."""

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
        """The resource version and type, which identify the event in its change stream."""
        return (self.change.resource_version, self.type)

    @property
    def body_key(self) -> tuple[UUID, int]:
        """The uid and generation of the body that the event shows."""
        return (self.change.uid, self.state.generation)

    def item(self, kind: Kind, spec: str) -> StoredObject:
        """Return the state as a stored object of the kind, with ``spec`` as its body."""
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


def transition_of(change: Change, is_visible_state: Callable[[ObjectState], bool]) -> Transition | None:
    """Return the event of a change for a watcher who sees only the states that ``is_visible_state`` accepts, or None.

    An object that becomes visible is ADDED. An object that becomes invisible is DELETED, with its last visible state.
    """
    # A job has no old state: its visibility does not change, so that of the new state is the same.
    old_state = None if change.type == "ADDED" else change.old or change.state
    is_visible = change.type != "DELETED" and is_visible_state(change.state)
    was_visible = old_state is not None and is_visible_state(old_state)
    if is_visible:
        return Transition("MODIFIED" if was_visible else "ADDED", change, change.state)
    # DELETED has the old state, because the watcher must not see the new state.
    if was_visible and old_state is not None:
        return Transition("DELETED", change, old_state)
    return None
